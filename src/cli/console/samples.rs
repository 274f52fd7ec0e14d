//! Steps of a made-up run, for tests of the console.

use std::time::Duration;

use proctor_model::{
    AgentId, Cell, Cost, Grade, Infra, Integrity, Measures, Progress, ScenarioId, StreamReport,
    TaskId, Termination, TrialKey, TrialOutcome, WorkspaceKind,
};

pub(super) fn key(index: u32) -> TrialKey {
    TrialKey {
        cell: Cell {
            agent: AgentId::recorded("claude"),
            scenario: ScenarioId::recorded("shell_primed"),
            task: TaskId::recorded("fix_rounding"),
        },
        baseline: false,
        index,
        attempt: 0,
    }
}

/// The first step of a run of so many trials, two at a time.
pub(super) fn begun(planned: usize) -> Progress {
    Progress::RunStarted {
        planned,
        already_done: 0,
        jobs: 2,
        spent_usd: None,
        spent_is_lower_bound: false,
        max_cost_usd: None,
    }
}

pub(super) fn outcome(index: u32) -> TrialOutcome {
    TrialOutcome {
        key: key(index),
        awaits_grading: false,
        task_kind: "capability".to_owned(),
        agent_kind: "replay".to_owned(),
        ts_start: String::new(),
        ts_end: String::new(),
        termination: Termination::Completed,
        grade: Grade::Pass,
        integrity: Integrity::default(),
        infra: Infra::None,
        success: true,
        failure_reason: None,
        verdicts: Vec::new(),
        exit_code: Some(0),
        wall_time: Some(Duration::from_millis(1_300)),
        paused: Duration::ZERO,
        lingered: false,
        leftovers: Vec::new(),
        peak_memory_kib: None,
        peak_processes: None,
        host: proctor_model::HostLoad::default(),
        stream: StreamReport::default(),
        cost: Cost {
            billed_usd: Some(0.0123),
            ..Cost::default()
        },
        measures: Measures::default(),
        isolation: proctor_model::Isolation::None,
        workspace: WorkspaceKind::Worktree,
        overhead: Duration::ZERO,
        jobs: 1,
        shim_log: None,
        network: proctor_model::Network::Host,
        door: None,
        suites: None,
        layers: None,
        simulator_wait: Duration::ZERO,
        xcodebuild_wait: Duration::ZERO,
        limits_hit: Vec::new(),
        attestation_sha256: None,
        attestation_flags: Vec::new(),
        budget: proctor_model::Allowance::default(),
        retry_at: None,
        graded_in: None,
        changes: proctor_model::ChangeFacts::default(),
        tree_sha256: None,
        notes: Vec::new(),
    }
}

pub(super) fn finished(outcome: TrialOutcome) -> Progress {
    Progress::TrialFinished {
        outcome: Box::new(outcome),
        again: false,
    }
}

pub(super) fn started(index: u32) -> Progress {
    Progress::TrialStarted {
        key: key(index),
        limit: Duration::from_secs(60),
    }
}
