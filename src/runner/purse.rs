//! What a run may spend, and the schedule that goes by it.

use crate::config::AgentKind;
use crate::plan::Plan;
use crate::runner::ledger::Standing;
use crate::runner::schedule::{AgentLane, Budget, Purse, Rules, Schedule};
use crate::runner::{RunError, RunRequest};

/// The budgets of a request.
pub(super) fn budget(request: &RunRequest) -> Budget {
    Budget {
        run_usd: request.max_cost_usd,
        trial_usd: request.max_trial_cost_usd,
    }
}

/// Refuses a budget that could not be kept: the first trial of an agent whose cost nobody tells would use it up.
///
/// # Errors
/// Which agent, and what to do.
pub(super) fn check(request: &RunRequest) -> Result<(), RunError> {
    if request.max_cost_usd.is_none() || request.max_trial_cost_usd.is_some() {
        return Ok(());
    }
    let mute = |kind| kind == AgentKind::Command;
    let agents = request.suite.agents.iter();
    let mute = agents.filter(|agent| mute(agent.speaks()));
    let mute: Vec<&str> = mute.map(|agent| agent.id.as_str()).collect();
    if mute.is_empty() {
        return Ok(());
    }
    Err(RunError::Budget(mute.join(", ")))
}

/// The schedule of what is missing.
pub(super) fn schedule(request: &RunRequest, missing: Plan, standing: &Standing) -> Schedule {
    let settings = &request.suite.settings;
    let agents = request.suite.agents.iter().map(|agent| AgentLane {
        name: agent.lane.clone(),
        most: agent.max_parallel.unwrap_or(u32::MAX),
        retried: agent.kind != AgentKind::Replay,
    });
    let rules = Rules {
        agents: agents.collect(),
        retries: settings.retries,
        gap: settings.start_gap,
        seed: settings.random_seed,
    };
    let charged = standing.spent_usd.unwrap_or(0.0) + standing.unknown_usd;
    Schedule::new(missing, rules, Purse::new(budget(request), charged))
}
