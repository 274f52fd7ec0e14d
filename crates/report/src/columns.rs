//! The columns of a summary: one table that CSV, Markdown and JSON share.

use crate::cell_stats::CellStats;
use crate::layers::Layer;
use proctor_layers::LayerStatus;
use proctor_model::Cell;
use proctor_stats::{pass_at_k, pass_pow_k};

/// What a column holds, which decides how a person sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Names.
    Text,
    /// Whole numbers.
    Count,
    /// Shares of 1, shown in percent.
    Rate,
    /// Seconds.
    Time,
    /// Costs, means, and all else.
    Other,
}

/// What stands in a cell of the table.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A name.
    Text(String),
    /// A whole number.
    Count(usize),
    /// A float, or nothing where it is unknown.
    Float(Option<f64>),
}

/// One column of a summary.
#[derive(Debug)]
pub struct Column {
    /// Its name in every format.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Its value in a row.
    pub value: fn(&Cell, &CellStats) -> Value,
}

/// How many of [`columns`] the contract fixes; new ones follow.
pub const CONTRACT_COLUMNS: usize = 40;

macro_rules! text {
    ($name:literal, |$cell:pat_param, $stats:pat_param| $text:expr) => {
        Column {
            name: $name,
            kind: Kind::Text,
            value: |$cell, $stats| Value::Text($text.to_owned()),
        }
    };
}

macro_rules! count {
    ($name:literal, $field:ident) => {
        Column {
            name: $name,
            kind: Kind::Count,
            value: |_, stats| Value::Count(stats.$field),
        }
    };
}

macro_rules! float {
    ($name:literal, $kind:ident, |$stats:ident| $value:expr) => {
        Column {
            name: $name,
            kind: Kind::$kind,
            value: |_, $stats| Value::Float($value),
        }
    };
}

macro_rules! mean {
    ($name:literal, $kind:ident, $field:ident) => {
        float!($name, $kind, |stats| stats.means.$field.mean())
    };
}

macro_rules! layer {
    ($name:literal, $layer:ident, $status:ident) => {
        Column {
            name: $name,
            kind: Kind::Count,
            value: |_, stats| Value::Count(stats.layers.count(Layer::$layer, LayerStatus::$status)),
        }
    };
}

/// The columns of `summary.csv`: those of the contract in its order, then new ones.
#[must_use]
pub const fn columns() -> &'static [Column] {
    COLUMNS
}

/// Those of these names.
pub(crate) fn named(names: &[&str]) -> Vec<&'static Column> {
    let find = |name: &&str| COLUMNS.iter().find(|column| column.name == *name);
    names.iter().filter_map(find).collect()
}

const COLUMNS: &[Column] = &[
    text!("agent_id", |cell, _| cell.agent.as_str()),
    text!("scenario", |cell, _| cell.scenario.as_str()),
    text!("task_id", |cell, _| cell.task.as_str()),
    text!("task_kind", |_, stats| stats.task_kind),
    count!("runs", runs),
    float!("success_rate", Rate, |stats| stats.success_rate()),
    float!("pass_at_1", Rate, |stats| stats.success_rate()),
    float!("pass_at_3", Rate, |stats| stats
        .success_rate()
        .map(|rate| 1.0 - (1.0 - rate).powi(3))),
    float!("pass_pow_3", Rate, |stats| stats
        .success_rate()
        .map(|rate| rate.powi(3))),
    float!("time_p10", Time, |stats| stats.times.quantile(0.1)),
    float!("time_median", Time, |stats| stats.times.quantile(0.5)),
    float!("time_p90", Time, |stats| stats.times.quantile(0.9)),
    float!("time_mean", Time, |stats| stats.times.mean()),
    float!("time_std", Time, |stats| stats.times.std()),
    float!("time_cv", Other, |stats| stats.times.cv()),
    float!("cost_p10", Other, |stats| stats.costs.quantile(0.1)),
    float!("cost_median", Other, |stats| stats.costs.quantile(0.5)),
    float!("cost_p90", Other, |stats| stats.costs.quantile(0.9)),
    float!("cost_mean", Other, |stats| stats.costs.mean()),
    float!("cost_std", Other, |stats| stats.costs.std()),
    float!("cost_cv", Other, |stats| stats.costs.cv()),
    float!("cold_cost_median", Other, |stats| stats
        .cold_costs
        .quantile(0.5)),
    float!("cold_cost_p90", Other, |stats| stats
        .cold_costs
        .quantile(0.9)),
    float!("cold_cost_cv", Other, |stats| stats.cold_costs.cv()),
    mean!("cache_savings_mean", Other, cache_savings),
    mean!("cache_read_rate_mean", Rate, cache_read_rate),
    float!("cost_per_success_mean", Other, |stats| stats
        .cost_per_success()),
    float!("time_per_success_mean", Time, |stats| stats
        .time_per_success()),
    mean!("xcodebuild_calls_mean", Other, xcodebuild_calls),
    mean!("xcrun_calls_mean", Other, xcrun_calls),
    mean!("simctl_calls_mean", Other, simctl_calls),
    mean!("mcp_tool_calls_mean", Other, mcp_tool_calls),
    mean!("time_to_first_xcodebuild_mean", Time, first_xcodebuild),
    mean!("time_to_first_mcp_build_mean", Time, first_mcp_build),
    mean!("xcodebuild_repeat_mean", Other, xcodebuild_repeats),
    mean!("destination_count_mean", Other, destinations),
    mean!("destination_churn_mean", Other, destination_churn),
    mean!("tool_error_mean", Other, tool_errors),
    mean!("tool_error_mcp_mean", Other, tool_errors_mcp),
    mean!("tool_error_non_mcp_mean", Other, tool_errors_other),
    // New ones; the list above is an interface of its own.
    count!("graded", graded),
    count!("infra_trials", infra),
    count!("interrupted_trials", interrupted),
    count!("superseded_attempts", superseded),
    count!("integrity_flagged", flagged),
    float!("success_rate_graded", Rate, |stats| stats
        .success_rate_graded()),
    float!("success_ci_low", Rate, |stats| stats
        .success_interval()
        .map(|interval| interval.low)),
    float!("success_ci_high", Rate, |stats| stats
        .success_interval()
        .map(|interval| interval.high)),
    float!("pass_at_3_unbiased", Rate, |stats| pass_at_k(
        stats.graded,
        stats.graded_successes,
        3
    )),
    float!("pass_pow_3_unbiased", Rate, |stats| pass_pow_k(
        stats.graded,
        stats.graded_successes,
        3
    )),
    mean!("overhead_mean", Time, overhead),
    mean!("tokens_mean", Other, tokens),
    float!("cost_total_usd", Other, |stats| stats.spent()),
    float!("cost_known_share", Rate, |stats| {
        crate::number::ratio(stats.spent.count(), stats.runs + stats.superseded)
    }),
    float!("visible_rate", Rate, |stats| stats
        .suite_rates()
        .map(|(visible, _)| visible)),
    float!("held_out_rate", Rate, |stats| stats
        .suite_rates()
        .map(|(_, held_out)| held_out)),
    float!("visible_gap", Rate, |stats| stats
        .suite_rates()
        .map(|(visible, held_out)| visible - held_out)),
    layer!("answer_pass", Answer, Pass),
    layer!("answer_fail", Answer, Fail),
    layer!("answer_error", Answer, Error),
    layer!("path_pass", Path, Pass),
    layer!("path_warn", Path, Warn),
    layer!("path_fail", Path, Fail),
    layer!("budget_pass", Budget, Pass),
    layer!("budget_warn", Budget, Warn),
    Column {
        name: "judges",
        kind: Kind::Text,
        value: |_, stats| Value::Text(stats.layers.judged()),
    },
    count!("cost_incomplete_rows", cost_incomplete),
];

impl Value {
    /// The value as JSON.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Count(count) => (*count).into(),
            Self::Float(value) => value.map_or(serde_json::Value::Null, Into::into),
        }
    }
}
