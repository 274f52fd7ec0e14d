//! What an outcome takes in as its trial goes on: the agent's end, what it left and said, and what graders say.

use std::time::Duration;

use jiff::Zoned;

use crate::trial::grading::Graded;
use crate::trial::judgement::{AgentEnd, failure_reason, grade_of};
use crate::trial::listener::HeardAll;
use crate::trial::outcome_builder::OutcomeBuilder;
use crate::trial::refused::is_refused_at_the_door;
use proctor_agents::reset_moment;
use proctor_model::{
    Cost, Infra, Measures, RUN_BUDGET, Reason, ReasonKind, ShimLogKept, StreamReport, Termination,
    Verdict,
};
use proctor_record::Difference;
use proctor_shims::ShimLog;
use proctor_supervise::{ChildEnding, EndReason, Supervisor};
use proctor_workspace::Captured;

/// One unknown event in so many is a word to the person.
const HARDLY_UNDERSTOOD: u64 = 5;

impl OutcomeBuilder {
    /// Takes in how the agent ended.
    pub(in crate::trial) fn agent_ended(&mut self, end: &AgentEnd, ending: &ChildEnding) {
        let is_the_rest = self.outcome.budget.is_the_rest;
        let outcome = &mut self.outcome;
        outcome.termination = end.termination;
        outcome.infra = end.infra;
        outcome.exit_code = end.exit_code;
        outcome.lingered = end.lingered;
        outcome.paused = ending.paused;
        outcome.peak_memory_kib = ending.max_rss_kib;
        outcome.peak_processes = ending.most_processes;
        outcome.leftovers.clone_from(&ending.leftovers);
        if ending.uncontained {
            outcome.integrity.uncontained = true;
        }
        match (ending.supervisor, end.infra) {
            (Supervisor::Unharmed, _) => {}
            // A person may have done it, too.
            (Supervisor::Stopped, _) => self.suspect(Reason::of(ReasonKind::SupervisorStopped)),
            (Supervisor::Killed, Infra::Oom) => {
                self.suspect(Reason::of(ReasonKind::SupervisorKilled));
            }
            (Supervisor::Killed, _) => self.suspect(Reason::of(ReasonKind::SupervisorTampered)),
        }
        let outcome = &mut self.outcome;
        outcome.wall_time = (end.infra != Infra::Spawn).then_some(ending.wall);
        outcome.failure_reason = failure_reason(end, &[]);
        outcome.success = outcome.failure_reason.is_none();
        if let Some(error) = &ending.spawn_error {
            self.note(error.clone());
        }
        if ending.leak {
            self.note(
                "leak=stdout: a process held the agent's output after it had exited".to_owned(),
            );
        }
        if let Some(error) = &ending.tee_error {
            self.note(error.clone());
        }
        if ending.oversize_lines > 0 {
            self.note(format!("oversize_lines={}", ending.oversize_lines));
            self.hit("line_kib");
        }
        if ending.reason == EndReason::OverBudget {
            let whose = if is_the_rest {
                "max_cost_usd"
            } else {
                "max_trial_cost_usd"
            };
            self.hit(whose);
        }
        if ending.reason == EndReason::OverDisk {
            self.hit("workspace_mib");
        }
        self.no_more_money();
    }

    /// Says that a trial was stopped since nobody knows what its model costs.
    pub(in crate::trial) fn lacked_a_price(&mut self, ending: &ChildEnding, model: Option<&str>) {
        if let Some(model) = model.filter(|_| ending.reason == EndReason::OverBudget) {
            let named = model_in_note(model);
            self.note(format!(
                "stopped, since a limit of cost cannot be kept: {named} has no known price; add it to `prices` of the config, or give the agent `pricing`"
            ));
        }
    }

    /// Says that a trial was stopped by what its tokens would have cost at the price of another model.
    pub(in crate::trial) fn guessed_a_price(&mut self, ending: &ChildEnding, model: Option<&str>) {
        if let Some(model) = model.filter(|_| ending.reason == EndReason::OverBudget) {
            let named = model_in_note(model);
            self.note(format!(
                "stopped by a guess of what it cost: {named} has no known price, so its tokens were counted at the dearest price of this trial's models; add it to `prices` of the config"
            ));
        }
    }

    /// Says what of the end the agent itself could have brought about.
    pub(in crate::trial) fn doubt(
        &mut self,
        end: &AgentEnd,
        (ending, heard): (&ChildEnding, &HeardAll),
    ) {
        if ending.was_held {
            self.suspect(Reason::of(ReasonKind::AgentStopped));
        }
        if let Some(source) = heard.report.final_is_below {
            self.suspect(Reason::about(ReasonKind::LastWordBelow, source.as_str()));
        }
        if end.infra == Infra::KilledByOther {
            self.suspect(Reason::of(ReasonKind::AgentKilled));
        }
        if end.infra.is_by_provider() && heard.fault_beside_command {
            self.suspect(Reason::of(ReasonKind::ProviderFaultBesideCommand));
        }
    }

    /// What the run's budget cut off has a reason of its own: another trial might have gone on.
    fn no_more_money(&mut self) {
        let outcome = &mut self.outcome;
        if outcome
            .limits_hit
            .iter()
            .any(|limit| limit == "max_cost_usd")
        {
            outcome.failure_reason = Some(RUN_BUDGET.to_owned());
        }
    }

    /// Says that the disk had no room for what the agent left: nothing is judged, and the trial is run again.
    pub(in crate::trial) fn lacks_room(&mut self, end: &mut AgentEnd) {
        self.failed_by_machine(Infra::DiskFull, end);
    }

    /// The same of anything that the machine lacked.
    pub(in crate::trial) fn failed_by_machine(&mut self, fault: Infra, end: &mut AgentEnd) {
        end.infra = fault;
        self.outcome.infra = end.infra;
        self.outcome.failure_reason = failure_reason(end, &[]);
        self.outcome.success = false;
    }

    /// Takes in which MCP servers of the scenario never started: what the agent did without them is not what was asked for.
    pub(in crate::trial) fn lacked_servers(&mut self, told: Vec<String>, end: &mut AgentEnd) {
        let is_open = matches!(end.infra, Infra::None | Infra::AgentProtocol);
        let was_stopped = matches!(
            end.termination,
            Termination::Cancelled | Termination::Budget
        );
        if !told.is_empty() && is_open && !was_stopped {
            self.failed_by_machine(Infra::Setup, end);
        }
        self.outcome.notes.extend(told);
    }

    /// Takes in what the graders said.
    pub(in crate::trial) fn graded(&mut self, end: &AgentEnd, graded: Graded) {
        let outcome = &mut self.outcome;
        outcome.grade = grade_of(&graded.verdicts);
        outcome.failure_reason = failure_reason(end, &graded.verdicts);
        outcome.success = outcome.failure_reason.is_none();
        outcome.graded_in = graded.in_fresh_tree.then_some("fresh");
        outcome.changes = graded.facts;
        outcome.suites = graded.suites;
        outcome.layers = graded.layers;
        if outcome.infra == Infra::None && graded.verdicts.iter().any(Verdict::is_of_simulator) {
            outcome.infra = Infra::Simulator;
        }
        self.no_more_money();
        let outcome = &mut self.outcome;
        outcome.verdicts = graded.verdicts;
        outcome.notes.extend(graded.notes);
        outcome.integrity.extend(graded.reasons);
    }

    /// Graders were stopped by a person: they said nothing, and a later start asks them again.
    pub(in crate::trial) fn awaits_grading(&mut self) {
        self.outcome.awaits_grading = true;
        self.outcome.termination = Termination::Cancelled;
        self.outcome.failure_reason = Some("cancelled".to_owned());
    }

    /// The machine kept graders from a tree of their own, or from starting: they said nothing, and a later start asks them again.
    pub(in crate::trial) fn awaits_another_machine(
        &mut self,
        (fault, why): (Infra, Vec<String>),
        end: &mut AgentEnd,
    ) {
        self.failed_by_machine(fault, end);
        self.outcome.awaits_grading = true;
        let why = why.join("; ");
        // The first note is the one that a live view shows.
        let note = format!(
            "nothing is judged, since the machine had not what graders need ({why}): --resume grades what the agent left, without starting it again"
        );
        self.outcome.notes.insert(0, note);
    }

    /// Takes in what was captured of the agent's tree.
    pub(in crate::trial) fn captured(&mut self, captured: &Captured) {
        self.outcome.tree_sha256 = Some(captured.tree_sha256.clone());
        let oddities = captured.oddities.iter().cloned();
        self.outcome.integrity.extend(oddities);
    }

    /// Takes in which agent it was, and what of it is not as in the first trial of its arm.
    pub(in crate::trial) fn attested(&mut self, digest: String, differences: Vec<Difference>) {
        self.outcome.attestation_sha256 = Some(digest);
        for Difference { flag, text } in differences {
            let flags = &mut self.outcome.attestation_flags;
            if flags.iter().all(|known| known != flag) {
                flags.push(flag.to_owned());
            }
            self.note(format!("not the agent that was asked for: {text}"));
        }
    }

    /// Takes in the numbers.
    pub(in crate::trial) fn measured(
        &mut self,
        stream: StreamReport,
        cost: Cost,
        measures: Measures,
    ) {
        // A renamed event leaves its numbers unknown: the person should hear why.
        if stream.unknown_events * HARDLY_UNDERSTOOD > stream.events {
            self.note(format!(
                "{} of {} events are of unknown kinds: is this version of the agent newer than its adapter?",
                stream.unknown_events, stream.events
            ));
        }
        if stream.broke_off {
            let so = match stream.usage {
                Some(_) => "or not all of it, so tokens and cost are a lower bound",
                None => "so tokens and cost are not known",
            };
            self.note(format!(
                "an answer of the model broke off, as far as its client tells: what it took is in no figure, {so}"
            ));
        }
        self.met_a_fault(&stream);
        self.outcome.stream = stream;
        self.outcome.cost = cost;
        self.outcome.measures = measures.began_after(self.agent_after);
        if is_refused_at_the_door(&self.outcome) {
            self.outcome.cost.billed_usd.get_or_insert(0.0);
        }
    }

    /// Keeps what the provider said where it decided the trial, and when it will answer again.
    fn met_a_fault(&mut self, stream: &StreamReport) {
        let by_provider = self.outcome.infra.is_by_provider();
        let Some(fault) = stream.provider_fault.as_ref().filter(|_| by_provider) else {
            return;
        };
        let now = Zoned::now();
        let now = match &self.zone {
            Some(zone) => now.with_time_zone(zone.clone()),
            None => now,
        };
        let moment = fault.reset.as_ref();
        let moment = moment.and_then(|reset| reset_moment(reset, &now));
        self.outcome.retry_at = moment.map(|moment| moment.to_string());
        // The first note is the one that a live view shows.
        let message = format!("the provider: {}", fault.message);
        self.outcome.notes.insert(0, message);
    }

    /// Takes in how calls of watched commands were told, and what speaks against that.
    pub(in crate::trial) fn heard_shims(&mut self, shims: &ShimLog, cost: Option<Duration>) {
        self.outcome.shim_log = Some(ShimLogKept {
            by_socket: shims.by_socket,
            lost: shims.lost,
            calls: shims.calls.len() as u64,
            cost,
        });
        if shims.bad_lines > 0 {
            let lines = shims.bad_lines.to_string();
            self.suspect(Reason::about(ReasonKind::CmdLogBadLines, lines));
        }
        if shims.changed {
            self.suspect(Reason::of(ReasonKind::CmdLogChanged));
        }
        if shims.forged > 0 {
            let by = shims.strangers.join(",");
            let calls = format!("{} by {by}", shims.forged);
            self.suspect(Reason::about(ReasonKind::CmdLogForged, calls));
        }
        if shims.unproven > 0 {
            let calls = shims.unproven.to_string();
            self.suspect(Reason::about(ReasonKind::CmdLogUnproven, calls));
        }
    }
}

/// How a note speaks of a model.
fn model_in_note(model: &str) -> String {
    if model.is_empty() {
        "its model, which it does not name,".to_owned()
    } else {
        format!("the model {model}")
    }
}
