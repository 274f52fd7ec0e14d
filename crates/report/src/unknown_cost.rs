//! Of which rows nobody knows what they cost, or not all of it.

use proctor_config::AgentKind;
use proctor_model::Termination;
use proctor_record::Row;

/// Whether an agent ran of which nobody knows what it cost. One that was never started took no time; of one that broke off or in
/// which the harness died nobody measured any, and where it was not started, it cost nothing.
#[must_use]
pub fn cost_is_unknown(row: &Row) -> bool {
    let is_cut_off = row.termination.as_deref() == Some(Termination::Interrupted.as_str());
    let is_known_to_cost = row.cost_is_lower_bound == Some(true);
    let ran = row.wall_time_sec.is_some() || is_known_to_cost || (is_cut_off && is_paid(row));
    row.billed_cost_usd.is_none() && ran
}

/// What a budget counts an unknown cost as, in USD, beside what judges took of it: all that the trial might spend. Nothing where the
/// cost is known, or the trial had no limit.
#[must_use]
pub fn unknown_counts_as(row: &Row) -> f64 {
    let judges = row.judges_took().unwrap_or(0.0);
    let most = row.trial_max_cost_usd.filter(|_| cost_is_unknown(row));
    (most.unwrap_or(0.0) - judges).max(0.0)
}

/// Whether its agent is one that can cost anything: a recording costs nothing.
#[must_use]
pub fn is_paid(row: &Row) -> bool {
    row.agent_kind.as_deref() != Some(AgentKind::Replay.as_str())
}

/// Whether more was spent on it than its row tells.
#[must_use]
pub fn cost_is_incomplete(row: &Row) -> bool {
    row.cost_is_lower_bound == Some(true) || cost_is_unknown(row)
}
