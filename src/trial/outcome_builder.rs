//! The outcome in the making: true at every moment, so that a trial may stop anywhere.

mod stop;
mod taken;

use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::plan::PlannedTrial;
use crate::trial::RunContext;
use proctor_agents::zone_of;
use proctor_config::AgentSpec;
use proctor_layers::Spent;
use proctor_model::{
    Allowance, ChangeFacts, Cost, DoorUse, Grade, HostLoad, Infra, Integrity, Measures, Network,
    Reason, StreamReport, Termination, TrialKey, TrialOutcome,
};
use proctor_record::{Row, TrialDir, TrialPaths};

pub(super) use stop::Stop;

/// The outcome in the making.
pub(super) struct OutcomeBuilder {
    outcome: TrialOutcome,
    started: Instant,
    /// How long after the trial its agent was started.
    agent_after: Duration,
    /// The zone that the config gives the agent, where it is one.
    zone: Option<TimeZone>,
}

impl OutcomeBuilder {
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
        Self {
            outcome,
            started: Instant::now(),
            agent_after: Duration::ZERO,
            zone,
        }
    }

    /// Takes in what the trial may spend.
    pub(super) fn may_spend(&mut self, allowance: Allowance) {
        self.outcome.budget = allowance;
    }

    /// Takes in what went through the door of its network.
    pub(super) fn used_door(&mut self, door: DoorUse) {
        self.outcome.door = Some(door);
    }

    /// Takes in that the agent starts now, and how busy the machine is.
    pub(super) fn starts_beside(&mut self, host: HostLoad) {
        self.agent_after = self.started.elapsed();
        self.outcome.host = host;
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

    /// Says that something speaks against the result.
    pub(super) fn suspect(&mut self, reason: Reason) {
        self.outcome.integrity.add(reason);
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

    /// The outcome.
    pub(super) fn finish(mut self) -> TrialOutcome {
        let took = self.started.elapsed();
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
    let mut draft = OutcomeBuilder::new(context, planned);
    draft.stop(Stop::defect(message));
    draft.finish()
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
        integrity: Integrity::default(),
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
        isolation: proctor_model::Isolation::None,
        workspace: proctor_model::WorkspaceKind::Worktree,
        overhead: Duration::ZERO,
        jobs: 1,
        limits_hit: Vec::new(),
        attestation_sha256: None,
        attestation_flags: Vec::new(),
        budget: proctor_model::Allowance::default(),
        retry_at: None,
        graded_in: None,
        changes: ChangeFacts::default(),
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
