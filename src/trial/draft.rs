//! The outcome in the making: true at every moment, so that a trial may stop anywhere.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::agents::{reset_moment, zone_of};
use crate::config::AgentSpec;
use crate::graders::of_simulator;
use crate::layers::Spent;
use crate::model::{
    Allowance, Cost, DoorUse, Grade, HostLoad, Infra, Integrity, Measures, Network, RUN_BUDGET,
    ShimLogKept, StreamReport, Termination, TrialKey, TrialOutcome,
};
use crate::plan::PlannedTrial;
use crate::record::{Difference, Row, TrialDir, TrialPaths};
use crate::shims::ShimLog;
use crate::supervise::{ChildEnding, EndReason};
use crate::trial::RunContext;
use crate::trial::grading::Graded;
use crate::trial::judgement::{AgentEnd, failure_reason, grade_of};
use crate::workspace::Captured;

/// Why a trial stopped before its end.
#[derive(Debug)]
pub(super) struct Stop {
    infra: Infra,
    reason: &'static str,
    message: String,
}

impl Stop {
    /// The workspace or a setup command failed: the agent was not started and nothing was spent.
    pub(super) fn setup(message: String) -> Self {
        Self {
            infra: Infra::Setup,
            reason: "setup_failed",
            message,
        }
    }

    /// The harness itself could not go on.
    pub(super) fn harness(what: &str, error: impl Into<std::io::Error>) -> Self {
        let error = error.into();
        let full = matches!(
            error.kind(),
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
        );
        Self {
            infra: if full {
                Infra::DiskFull
            } else {
                Infra::HarnessBug
            },
            reason: if full { "disk_full" } else { "harness_error" },
            message: format!("{what}: {error}"),
        }
    }

    /// The disk is full before the agent was started, so nothing was spent.
    pub(super) fn no_room() -> Self {
        Self {
            infra: Infra::DiskFull,
            reason: "disk_full",
            message: "the disk has no room for the trial's folder".to_owned(),
        }
    }

    /// No simulator could be had: the agent was not started and nothing was spent.
    pub(super) fn simulator(message: String) -> Self {
        Self {
            infra: Infra::Simulator,
            reason: "simulator",
            message,
        }
    }

    /// The agent cannot be started as configured.
    pub(super) fn spawn(message: String) -> Self {
        Self {
            infra: Infra::Spawn,
            reason: "spawn",
            message,
        }
    }

    /// The harness itself is broken.
    pub(super) fn defect(message: &str) -> Self {
        Self {
            infra: Infra::HarnessBug,
            reason: "harness_error",
            message: format!("a defect of the harness: {message}"),
        }
    }

    /// What happened, in words.
    pub(super) fn message(&self) -> &str {
        &self.message
    }

    /// A person cancelled the run before the agent was started.
    pub(super) fn cancelled() -> Self {
        Self {
            infra: Infra::None,
            reason: "cancelled",
            message: "cancelled before the agent was started".to_owned(),
        }
    }
}

/// One unknown event in so many is a word to the person.
const HARDLY_UNDERSTOOD: u64 = 5;

/// The outcome in the making.
pub(super) struct Draft {
    outcome: TrialOutcome,
    /// The zone that the config gives the agent, where it is one.
    zone: Option<TimeZone>,
}

impl Draft {
    pub(super) fn new(context: &RunContext, planned: &PlannedTrial) -> Self {
        let agent: &AgentSpec = context.agent(planned);
        let task_kind = context
            .task(planned)
            .map_or("baseline", |task| task.kind.as_str());
        let mut outcome = blank(&planned.key, agent.kind.as_str(), task_kind);
        outcome.workspace = context.suite.settings.workspace;
        outcome.isolation = context.confinement.level;
        outcome.network = context.network(planned);
        outcome.jobs = context.jobs;
        let environments = [
            &context.scenario(planned).env,
            &agent.env,
            &context.suite.settings.env,
        ];
        let zone = zone_of(environments.into_iter());
        Self { outcome, zone }
    }

    /// Takes in what the trial may spend.
    pub(super) fn may_spend(&mut self, allowance: Allowance) {
        self.outcome.budget = allowance;
    }

    /// Takes in what went through the door of its network.
    pub(super) fn used_door(&mut self, door: DoorUse) {
        self.outcome.door = Some(door);
    }

    /// Takes in how busy the machine is as the agent starts.
    pub(super) fn starts_beside(&mut self, host: HostLoad) {
        self.outcome.host = host;
    }

    /// Takes in how the agent ended.
    pub(super) fn agent_ended(&mut self, end: &AgentEnd, ending: &ChildEnding) {
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
            outcome.integrity = Integrity::Uncontained;
        }
        if ending.unsupervised {
            let why = "supervisor_tampered".to_owned();
            match end.infra {
                Infra::Oom => self.suspect(why),
                _ => self.violate(why),
            }
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
    pub(super) fn lacked_a_price(&mut self, ending: &ChildEnding, model: Option<&str>) {
        if let Some(model) = model.filter(|_| ending.reason == EndReason::OverBudget) {
            let named = model_in_note(model);
            self.note(format!(
                "stopped, since a limit of cost cannot be kept: {named} has no known price; add it to `prices` of the config, or give the agent `pricing`"
            ));
        }
    }

    /// Says that a trial was stopped by what its tokens would have cost at the price of another model.
    pub(super) fn guessed_a_price(&mut self, ending: &ChildEnding, model: Option<&str>) {
        if let Some(model) = model.filter(|_| ending.reason == EndReason::OverBudget) {
            let named = model_in_note(model);
            self.note(format!(
                "stopped by a guess of what it cost: {named} has no known price, so its tokens were counted at the dearest price of this trial's models; add it to `prices` of the config"
            ));
        }
    }

    /// Says what of the end the agent itself could have brought about.
    pub(super) fn doubt(&mut self, end: &AgentEnd, fault_beside_command: bool) {
        if end.infra == Infra::KilledByOther {
            self.suspect("agent_killed".to_owned());
        }
        if end.infra.is_by_provider() && fault_beside_command {
            self.suspect("provider_fault_beside_command".to_owned());
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

    /// Says that a limit of `suite.limits` was reached.
    pub(super) fn hit(&mut self, limit: &str) {
        let hit = &mut self.outcome.limits_hit;
        if !hit.iter().any(|known| known == limit) {
            hit.push(limit.to_owned());
        }
    }

    /// The row as far as it is known.
    pub(super) fn row(&self, trial: &TrialDir) -> Row {
        Row::from_outcome(&self.outcome, &trial.paths())
    }

    /// What the agent spent, and why the trial is no success whatever graders say: as the row will tell it.
    pub(super) fn stands(&self) -> (Spent, Option<String>) {
        let row = Row::from_outcome(&self.outcome, &TrialPaths::default());
        (row.spent(), row.failure_reason)
    }

    /// [`Self::lacks_room`] where that is so.
    pub(super) fn lacks_room_if(&mut self, is_so: bool, end: &mut AgentEnd) {
        if is_so {
            self.lacks_room(end);
        }
    }

    /// Says that the disk had no room for what the agent left: nothing is judged, and the trial is run again.
    pub(super) fn lacks_room(&mut self, end: &mut AgentEnd) {
        end.infra = Infra::DiskFull;
        self.outcome.infra = end.infra;
        self.outcome.failure_reason = failure_reason(end, &[]);
        self.outcome.success = false;
    }

    /// Takes in what the graders said.
    pub(super) fn graded(&mut self, end: &AgentEnd, graded: Graded) {
        let outcome = &mut self.outcome;
        outcome.grade = grade_of(&graded.verdicts);
        outcome.failure_reason = failure_reason(end, &graded.verdicts);
        outcome.success = outcome.failure_reason.is_none();
        outcome.graded_in = graded.tree;
        outcome.suites = graded.suites;
        outcome.layers = graded.layers;
        if outcome.infra == Infra::None && graded.verdicts.iter().any(of_simulator) {
            outcome.infra = Infra::Simulator;
        }
        self.no_more_money();
        let outcome = &mut self.outcome;
        outcome.verdicts = graded.verdicts;
        outcome.notes.extend(graded.notes);
        graded
            .suspicions
            .into_iter()
            .for_each(|why| self.suspect(why));
        graded
            .violations
            .into_iter()
            .for_each(|why| self.violate(why));
    }

    /// Graders were stopped by a person: they said nothing, and a later start asks them again.
    pub(super) fn awaits_grading(&mut self) {
        self.outcome.awaits_grading = true;
        self.outcome.termination = Termination::Cancelled;
        self.outcome.failure_reason = Some("cancelled".to_owned());
    }

    /// Says that a rule was broken; what was only suspect before stands beside it.
    fn violate(&mut self, reason: String) {
        let mut reasons = match std::mem::take(&mut self.outcome.integrity) {
            Integrity::Clean => Vec::new(),
            Integrity::Suspect(reasons) | Integrity::Violated(reasons) => reasons,
            Integrity::Uncontained => {
                self.outcome.integrity = Integrity::Uncontained;
                return self.note(reason);
            }
        };
        reasons.push(reason);
        self.outcome.integrity = Integrity::Violated(reasons);
    }

    /// Takes in what was captured of the agent's tree.
    pub(super) fn captured(&mut self, captured: &Captured) {
        self.outcome.tree_sha256 = Some(captured.tree_sha256.clone());
        for oddity in &captured.oddities {
            self.suspect(oddity.clone());
        }
    }

    /// Takes in which agent it was, and what of it is not as in the first trial of its arm.
    pub(super) fn attested(&mut self, digest: String, differences: Vec<Difference>) {
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
    pub(super) fn measured(&mut self, stream: StreamReport, cost: Cost, measures: Measures) {
        // A renamed event leaves its numbers unknown: the person should hear why.
        if stream.unknown_events * HARDLY_UNDERSTOOD > stream.events {
            self.note(format!(
                "{} of {} events are of unknown kinds: is this version of the agent newer than its adapter?",
                stream.unknown_events, stream.events
            ));
        }
        if stream.broke_off && stream.usage.is_some() {
            self.note(
                "an answer of the model broke off, as far as its client tells: what it took is in no figure, or not all of it, so tokens and cost are a lower bound"
                    .to_owned(),
            );
        }
        self.met_a_fault(&stream);
        self.outcome.stream = stream;
        self.outcome.cost = cost;
        self.outcome.measures = measures;
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
    pub(super) fn heard_shims(&mut self, shims: &ShimLog, cost: Option<Duration>) {
        self.outcome.shim_log = Some(ShimLogKept {
            by_socket: shims.by_socket,
            lost: shims.lost,
            calls: shims.calls.len() as u64,
            cost,
        });
        if shims.bad_lines > 0 {
            self.suspect(format!("cmd_log_bad_lines={}", shims.bad_lines));
        }
        if shims.changed {
            self.suspect("cmd_log_changed".to_owned());
        }
        if shims.forged > 0 {
            let by = shims.strangers.join(",");
            self.suspect(format!("cmd_log_forged={} by {by}", shims.forged));
        }
        if shims.unproven > 0 {
            self.suspect(format!("cmd_log_unproven={}", shims.unproven));
        }
    }

    /// Says that something speaks against the result.
    pub(super) fn suspect(&mut self, reason: String) {
        if self.outcome.integrity == Integrity::Uncontained {
            return self.note(reason);
        }
        self.outcome.integrity.suspect(reason);
    }

    /// Adds such reasons.
    pub(super) fn suspect_all(&mut self, reasons: impl IntoIterator<Item = String>) {
        for reason in reasons {
            self.suspect(reason);
        }
    }

    /// Keeps a word for the person.
    pub(super) fn note(&mut self, note: String) {
        self.outcome.notes.push(note);
    }

    /// Ends the trial early. What was known before stays.
    pub(super) fn stop(&mut self, stop: Stop) {
        let outcome = &mut self.outcome;
        outcome.infra = stop.infra;
        outcome.success = false;
        outcome.failure_reason = Some(stop.reason.to_owned());
        if stop.infra == Infra::None {
            outcome.termination = Termination::Cancelled;
        }
        self.note(stop.message);
    }

    /// Takes in how long a simulator, and builds of graders their turn, were waited for.
    pub(super) fn waited(&mut self, simulator: Duration, builds: Duration) {
        self.outcome.simulator_wait = simulator;
        self.outcome.xcodebuild_wait = builds;
    }

    /// The outcome; `took` is the whole trial, harness included.
    pub(super) fn finish(mut self, took: Duration) -> TrialOutcome {
        let agent = self.outcome.wall_time.unwrap_or_default();
        self.outcome.overhead = took
            .saturating_sub(agent)
            .saturating_sub(self.outcome.paused)
            .saturating_sub(self.outcome.simulator_wait)
            .saturating_sub(self.outcome.xcodebuild_wait);
        self.outcome.ts_end = now();
        self.outcome
    }
}

/// The outcome of a trial whose code panicked: a defect of the harness, and the run goes on.
#[must_use]
pub fn crashed_outcome(
    context: &RunContext,
    planned: &PlannedTrial,
    message: &str,
) -> TrialOutcome {
    let mut draft = Draft::new(context, planned);
    draft.stop(Stop::defect(message));
    draft.finish(Duration::ZERO)
}

/// UTC with microseconds, as rows have it.
pub(super) fn now() -> String {
    let now = Timestamp::now();
    format!("{}", now.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00"))
}

fn blank(key: &TrialKey, agent_kind: &str, task_kind: &str) -> TrialOutcome {
    TrialOutcome {
        key: key.clone(),
        awaits_grading: false,
        task_kind: task_kind.to_owned(),
        agent_kind: agent_kind.to_owned(),
        ts_start: now(),
        ts_end: String::new(),
        termination: Termination::Crashed,
        grade: Grade::NotGraded,
        integrity: Integrity::Clean,
        infra: Infra::HarnessBug,
        success: false,
        failure_reason: Some("harness_error".to_owned()),
        verdicts: Vec::new(),
        exit_code: None,
        wall_time: None,
        paused: Duration::ZERO,
        lingered: false,
        leftovers: Vec::new(),
        peak_memory_kib: None,
        peak_processes: None,
        host: HostLoad::default(),
        stream: StreamReport::default(),
        cost: Cost::default(),
        measures: Measures::default(),
        isolation: crate::model::Isolation::None,
        workspace: crate::model::WorkspaceKind::Worktree,
        overhead: Duration::ZERO,
        jobs: 1,
        limits_hit: Vec::new(),
        attestation_sha256: None,
        attestation_flags: Vec::new(),
        budget: crate::model::Allowance::default(),
        retry_at: None,
        graded_in: None,
        tree_sha256: None,
        shim_log: None,
        notes: Vec::new(),
        network: Network::default(),
        door: None,
        suites: None,
        layers: None,
        simulator_wait: Duration::ZERO,
        xcodebuild_wait: Duration::ZERO,
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
