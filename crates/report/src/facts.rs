//! What a summary needs of one row.

use crate::layers::LayerCounts;
use crate::number;
use crate::unknown_cost::cost_is_incomplete;
use proctor_model::{
    AgentId, Cell, Infra, RUN_BUDGET, ReasonKind, ScenarioId, TaskId, Termination,
};
use proctor_record::{MCP_NOT_CONNECTED, Row};
use proctor_stats::Sum;

/// One row of the journal, reduced to what is counted.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "five facts that know nothing of each other"
)]
pub struct Facts {
    /// Where it belongs.
    pub cell: Cell,
    /// Whether it is a baseline run.
    pub baseline: bool,
    /// Index of the trial in its cell and the attempt at it; `None` in rows that know no identity.
    pub trial: Option<(u32, u32)>,
    /// `capability`, `regression` or `baseline`.
    pub task_kind: String,
    /// The seed's `success`.
    pub success: bool,
    /// How it came out, in one word for a table: `pass`, `fail`, `hard_timeout`, `infra:rate_limited`.
    pub outcome: String,
    /// What stands between the row and a verdict on the agent.
    pub standing: Standing,
    /// Whether graders came to a verdict.
    pub graded: bool,
    /// Whether its integrity is anything but clean.
    pub flagged: bool,
    /// Whether another agent ran than in the first trial of its arm, or one without what the scenario asks for.
    pub another_agent: bool,
    /// Whether an MCP server of the scenario never started.
    pub lacked_servers: bool,
    /// Whether it passed the visible tests of its task, and the held-out ones; `None` where the task has no two suites, or
    /// one could not judge.
    pub suites: Option<(bool, bool)>,
    /// What the layers found of it.
    pub layers: LayerCounts,
    /// Whether it passed a task that no honest work can pass.
    pub impossible: bool,
    /// Numbers that are measured once per trial.
    pub measured: Measured,
}

/// Whether a row speaks about the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Sound,
    /// Something else than the agent's work decided it.
    Infra,
    /// It was cancelled, the harness died, or the run had no more money for it.
    Interrupted,
}

/// The numbers of one row; what is unknown is absent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Measured {
    /// Agent-only seconds.
    pub time: Option<f64>,
    /// Billed USD.
    pub cost: Option<f64>,
    /// Whether it cost more than `cost`, or nobody knows what.
    pub cost_is_incomplete: bool,
    /// Cold-equivalent USD.
    pub cold_cost: Option<f64>,
    /// Whether more tokens were used than are known.
    pub tokens_are_lower_bound: bool,
    /// What only a mean is asked of.
    pub means: Means<Option<f64>>,
}

macro_rules! means {
    (|$row:ident| $($(#[$doc:meta])* $name:ident: $value:expr),+ $(,)?) => {
        /// What only a mean is asked of: the values of one row, or the sums over the trials that have them.
        #[derive(Debug, Clone, Copy, PartialEq, Default)]
        pub struct Means<T> { $($(#[$doc])* pub $name: T),+ }

        impl Means<Option<f64>> {
            fn of($row: &Row) -> Self {
                Self { $($name: $value),+ }
            }
        }

        impl Means<Sum> {
            pub(super) fn add(&mut self, values: &Means<Option<f64>>) {
                $(self.$name.add_if(values.$name);)+
            }
        }
    };
}

means! { |row|
    /// USD saved by caches: cold-equivalent less billed.
    cache_savings: row.cache_savings_usd,
    /// Share of input tokens that came from a cache.
    cache_read_rate: row.cache_read_rate,
    /// Uncached input + cached reads + cache writes + output.
    tokens: tokens(row),
    /// Agent calls of `xcodebuild`.
    xcodebuild_calls: float(row.xcodebuild_calls),
    /// Agent calls of `xcrun`.
    xcrun_calls: float(row.xcrun_calls),
    /// Agent calls of `xcrun simctl`.
    simctl_calls: float(row.simctl_calls),
    /// MCP tool calls.
    mcp_tool_calls: float(row.mcp_tool_calls),
    /// Seconds to the first building `xcodebuild`.
    first_xcodebuild: row.time_to_first_xcodebuild_sec,
    /// Seconds to the first MCP build tool.
    first_mcp_build: row.time_to_first_mcp_build_sec,
    /// Calls beyond the first of each signature.
    xcodebuild_repeats: float(row.xcodebuild_repeat_count),
    /// Distinct destinations.
    destinations: float(row.destination_count),
    /// Destinations beyond the first.
    destination_churn: float(row.destination_churn),
    /// Tool errors, one fewer after a session-defaults discovery.
    tool_errors: without_discovery(row, row.tool_error_total),
    /// The same of MCP tools.
    tool_errors_mcp: without_discovery(row, row.tool_error_mcp),
    /// Tool errors of other tools.
    tool_errors_other: float(row.tool_error_non_mcp),
    /// Seconds spent beside the agent.
    overhead: overhead(row),
}

fn float(count: Option<u64>) -> Option<f64> {
    count.map(number::whole)
}

fn without_discovery(row: &Row, errors: Option<u64>) -> Option<f64> {
    let discovery = row.tool_error_discovery.is_some_and(|errors| errors > 0);
    float(errors.map(|errors| errors.saturating_sub(u64::from(discovery))))
}

impl Facts {
    /// What a row says; its tool errors must be known already, discoveries included.
    #[must_use]
    pub fn of(row: &Row) -> Self {
        let standing = standing(
            row.infra.as_deref(),
            row.termination.as_deref(),
            row.failure_reason.as_deref(),
        );
        Self {
            cell: Cell {
                agent: AgentId::recorded(&row.agent_id),
                scenario: ScenarioId::recorded(&row.scenario),
                task: TaskId::recorded(&row.task_id),
            },
            baseline: row.baseline_run,
            trial: identity(row.schema, row.trial_index, row.attempt),
            task_kind: row.task_kind.clone().unwrap_or_default(),
            success: row.success,
            outcome: outcome(row),
            standing,
            graded: standing == Standing::Sound && has_verdict(row.grade.as_deref()),
            flagged: row
                .integrity
                .as_deref()
                .is_some_and(|integrity| integrity != "clean"),
            another_agent: attestation_flags(row).next().is_some(),
            lacked_servers: row.infra.as_deref() == Some(Infra::Setup.as_str())
                && attestation_flags(row).any(|flag| flag == MCP_NOT_CONNECTED),
            suites: suites(row),
            layers: LayerCounts::of(row),
            impossible: row
                .integrity_reasons
                .iter()
                .flatten()
                .any(|reason| reason.reason == ReasonKind::ImpossibleTaskPassed.as_str()),
            measured: Measured::of(row),
        }
    }
}

fn attestation_flags(row: &Row) -> impl Iterator<Item = &String> {
    row.attestation_flags.iter().flatten()
}

/// The held-out tests are asked only after the visible ones passed.
fn suites(row: &Row) -> Option<(bool, bool)> {
    match (row.visible_pass?, row.held_out_pass) {
        (false, _) => Some((false, false)),
        (true, held_out) => Some((true, held_out?)),
    }
}

/// Index and attempt; rows of the older harness know none.
pub(crate) fn identity(
    schema: u32,
    index: Option<u32>,
    attempt: Option<u32>,
) -> Option<(u32, u32)> {
    (schema > 0).then_some((index?, attempt.unwrap_or(0)))
}

/// Whether a row speaks about the agent, by its own words; old rows always do.
pub(crate) fn standing(
    infra: Option<&str>,
    termination: Option<&str>,
    reason: Option<&str>,
) -> Standing {
    let is = |ending: Termination| termination == Some(ending.as_str());
    if is(Termination::Interrupted) || is(Termination::Cancelled) || reason == Some(RUN_BUDGET) {
        Standing::Interrupted
    } else if infra.is_some_and(|infra| infra != "none") {
        Standing::Infra
    } else {
        Standing::Sound
    }
}

/// Old rows hold no grade: what they hold is a verdict.
fn has_verdict(grade: Option<&str>) -> bool {
    matches!(grade, None | Some("pass" | "fail"))
}

/// The outcome in one word: what decided the trial comes before what graders said of it.
fn outcome(row: &Row) -> String {
    let ended = row
        .termination
        .as_deref()
        .filter(|termination| *termination != Termination::Completed.as_str());
    let stem = |reason: &str| reason.split(':').next().unwrap_or(reason).to_owned();
    match (row.infra.as_deref(), ended, row.grade.as_deref()) {
        (Some(infra), _, _) if infra != "none" => format!("infra:{infra}"),
        _ if row.success => "pass".to_owned(),
        (_, Some(ended), _) => ended.to_owned(),
        (_, _, Some("error")) => "grader_error".to_owned(),
        (_, _, Some("timeout")) => "grader_timeout".to_owned(),
        _ => row
            .failure_reason
            .as_deref()
            .map_or_else(|| "fail".to_owned(), stem),
    }
}

impl Measured {
    /// Whether its cost is told, and was more than that.
    pub(super) fn cost_is_lower_bound(&self) -> bool {
        self.cost.is_some() && self.cost_is_incomplete
    }

    fn of(row: &Row) -> Self {
        Self {
            time: row.wall_time_sec,
            cost: row.billed_cost_usd,
            cost_is_incomplete: cost_is_incomplete(row),
            cold_cost: row.cold_equivalent_cost_usd,
            tokens_are_lower_bound: row.usage_is_lower_bound == Some(true) && tokens(row).is_some(),
            means: Means::of(row),
        }
    }
}

/// Tokens of all kinds; unknown where input or output is, since the caches' part alone says nothing.
fn tokens(row: &Row) -> Option<f64> {
    let cached = row
        .cached_read_tokens
        .unwrap_or(0)
        .saturating_add(row.cache_write_tokens.unwrap_or(0));
    Some(
        number::whole(row.uncached_input_tokens?)
            + number::whole(row.output_tokens?)
            + number::whole(cached),
    )
}

/// Seconds beside the agent; old rows tell them by their two timestamps.
fn overhead(row: &Row) -> Option<f64> {
    if row.overhead_sec.is_some() {
        return row.overhead_sec;
    }
    let time = |text: &Option<String>| text.as_deref()?.parse::<jiff::Timestamp>().ok();
    let span = time(&row.ts_end)?.duration_since(time(&row.ts_start)?);
    Some((span.as_secs_f64() - row.wall_time_sec?).max(0.0))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proctor_model::{AgentId, ScenarioId, TaskId};

    /// A sound, graded success with nothing measured.
    pub(crate) fn facts(agent: &str, scenario: &str, task: &str) -> Facts {
        Facts {
            cell: Cell {
                agent: AgentId::recorded(agent),
                scenario: ScenarioId::recorded(scenario),
                task: TaskId::recorded(task),
            },
            baseline: false,
            trial: Some((0, 0)),
            task_kind: "capability".to_owned(),
            success: true,
            outcome: "pass".to_owned(),
            standing: Standing::Sound,
            graded: true,
            flagged: false,
            another_agent: false,
            lacked_servers: false,
            suites: None,
            layers: LayerCounts::default(),
            impossible: false,
            measured: Measured::default(),
        }
    }
}
