//! A row of `runs.jsonl`: the wire format of one attempt at a trial.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::row_parts::lenient::{count, flag, usd};
use crate::{GraderResult, LeftoverRow, ProviderUsage, ReasonRow};
use proctor_layers::Spent;
use proctor_model::{AgentId, Cell, Integrity, ScenarioId, TaskId, TrialKey};

/// Version of the row format that this proctor writes; rows of the older harness have none.
pub const ROW_SCHEMA: u32 = 1;

/// One attempt at a trial, as `runs.jsonl` keeps it. The contract's columns come first, in its order, then
/// new ones. Every field may be missing in an old row; an unknown number is absent, never 0 and never NaN.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    missing_docs,
    reason = "the columns are named and explained in the contract"
)]
pub struct Row {
    pub run_id: String,
    pub ts_start: Option<String>,
    pub ts_end: Option<String>,
    pub agent_id: String,
    pub agent_kind: Option<String>,
    pub scenario: String,
    pub task_id: String,
    pub task_kind: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub baseline_run: bool,
    #[serde(deserialize_with = "flag")]
    pub success: bool,
    pub failure_reason: Option<String>,
    pub grader_results: Option<Vec<GraderResult>>,
    pub exit_code: Option<i64>,
    pub wall_time_sec: Option<f64>,
    pub model: Option<String>,
    #[serde(deserialize_with = "count")]
    pub uncached_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub cached_read_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub cache_write_tokens: Option<u64>,
    pub cache_write_ttl: Option<String>,
    #[serde(deserialize_with = "count")]
    pub output_tokens: Option<u64>,
    #[serde(deserialize_with = "usd")]
    pub billed_cost_usd: Option<f64>,
    pub cost_source: Option<String>,
    #[serde(deserialize_with = "usd")]
    pub cold_equivalent_cost_usd: Option<f64>,
    #[serde(deserialize_with = "usd")]
    pub cache_savings_usd: Option<f64>,
    pub cache_read_rate: Option<f64>,
    #[serde(deserialize_with = "usd")]
    pub baseline_cost_usd: Option<f64>,
    #[serde(deserialize_with = "usd")]
    pub marginal_cost_usd: Option<f64>,
    #[serde(deserialize_with = "count")]
    pub xcodebuild_calls: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub xcrun_calls: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub simctl_calls: Option<u64>,
    pub time_to_first_xcodebuild_sec: Option<f64>,
    #[serde(deserialize_with = "count")]
    pub xcodebuild_repeat_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub destination_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub destination_churn: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub mcp_tool_calls: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub tool_error_total: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub tool_error_mcp: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub tool_error_non_mcp: Option<u64>,
    pub transcript_path: Option<String>,
    pub agent_output_json_path: Option<String>,
    pub command_log_path: Option<String>,
    pub mcp_tool_log_path: Option<String>,
    pub tool_error_log_path: Option<String>,
    pub tool_error_context_log_path: Option<String>,
    #[serde(deserialize_with = "count")]
    pub mcp_xcodebuild_calls: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub mcp_simctl_calls: Option<u64>,
    pub time_to_first_mcp_build_sec: Option<f64>,
    pub provider_usage: Option<ProviderUsage>,
    // New columns, in the order in which they were added.
    pub schema: u32,
    pub trial_index: Option<u32>,
    pub attempt: Option<u32>,
    pub termination: Option<String>,
    pub grade: Option<String>,
    pub integrity: Option<String>,
    pub infra: Option<String>,
    pub usage_is_lower_bound: Option<bool>,
    pub workspace: Option<String>,
    pub isolation: Option<String>,
    pub jobs: Option<u32>,
    pub paused_sec: Option<f64>,
    pub overhead_sec: Option<f64>,
    pub lingered: Option<bool>,
    pub leftovers: Option<Vec<LeftoverRow>>,
    #[serde(deserialize_with = "count")]
    pub tool_calls: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub tool_error_discovery: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub unknown_events: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub unparsed_lines: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub model_requests: Option<u64>,
    pub cli_version: Option<String>,
    pub command_calls: Option<BTreeMap<String, u64>>,
    pub notes: Option<Vec<String>>,
    pub prompt_digest: Option<String>,
    pub config_digest: Option<String>,
    pub task_digest: Option<String>,
    pub artifacts_sha256: Option<String>,
    pub prev_sha256: Option<String>,
    #[serde(deserialize_with = "count")]
    pub peak_memory_kib: Option<u64>,
    pub host_load_1m: Option<f64>,
    #[serde(deserialize_with = "count")]
    pub host_free_memory_kib: Option<u64>,
    pub graded_in: Option<String>,
    pub tree_sha256: Option<String>,
    pub limits_hit: Option<Vec<String>>,
    pub provider_fault: Option<String>,
    pub retry_at: Option<String>,
    pub cmd_log_via: Option<String>,
    #[serde(deserialize_with = "count")]
    pub cmd_log_lost: Option<u64>,
    pub attestation_sha256: Option<String>,
    pub attestation_flags: Option<Vec<String>>,
    #[serde(deserialize_with = "usd")]
    pub cost_provider_usd: Option<f64>,
    #[serde(deserialize_with = "usd")]
    pub cost_ccusage_usd: Option<f64>,
    #[serde(deserialize_with = "usd")]
    pub cost_session_usd: Option<f64>,
    #[serde(deserialize_with = "usd")]
    pub cost_computed_usd: Option<f64>,
    pub cost_price: Option<String>,
    pub cost_flags: Option<Vec<String>>,
    pub cost_is_lower_bound: Option<bool>,
    pub trial_max_cost_usd: Option<f64>,
    pub run_max_cost_usd: Option<f64>,
    pub network: Option<String>,
    pub visible_pass: Option<bool>,
    pub held_out_pass: Option<bool>,
    pub usage_source: Option<String>,
    #[serde(deserialize_with = "count")]
    pub cmd_log_calls: Option<u64>,
    pub cmd_shim_usec: Option<f64>,
    pub simulator_wait_sec: Option<f64>,
    pub xcodebuild_wait_sec: Option<f64>,
    pub network_refused: Option<BTreeMap<String, u64>>,
    #[serde(deserialize_with = "count")]
    pub network_sent_bytes: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub network_received_bytes: Option<u64>,
    pub answer_layer: Option<String>,
    pub path_layer: Option<String>,
    pub budget_layer: Option<String>,
    pub layer_findings: Option<Vec<String>>,
    pub judged: Option<Vec<String>>,
    #[serde(deserialize_with = "usd")]
    pub judge_cost_usd: Option<f64>,
    pub layer_baseline: Option<String>,
    #[serde(deserialize_with = "usd")]
    pub judge_charged_usd: Option<f64>,
    #[serde(deserialize_with = "count")]
    pub peak_processes: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub mcp_xcodebuild_repeat_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub mcp_destination_count: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub mcp_destination_churn: Option<u64>,
    #[serde(deserialize_with = "count")]
    pub sub_agent_tool_calls: Option<u64>,
    pub trial_max_is_rest: Option<bool>,
    pub cost_is_open_ended: Option<bool>,
    pub integrity_reasons: Option<Vec<ReasonRow>>,
    pub test_config_changed: Option<Vec<String>>,
    pub left_behind: Option<Vec<String>>,
}

impl Row {
    /// Whether the result can be trusted; rows of older versions tell the word alone.
    #[must_use]
    pub fn integrity(&self) -> Integrity {
        let reasons = self.integrity_reasons.iter().flatten();
        let mut integrity: Integrity = reasons.filter_map(ReasonRow::read).collect();
        integrity.uncontained = self.integrity.as_deref() == Some("uncontained");
        integrity
    }

    /// Takes in whether the result can be trusted.
    pub fn take_integrity(&mut self, integrity: &Integrity) {
        self.integrity = Some(integrity.label());
        let reasons = integrity.reasons().iter().map(ReasonRow::from);
        self.integrity_reasons = (!integrity.reasons().is_empty()).then(|| reasons.collect());
    }

    /// What the trial spent, as the layer `budget` judges it.
    #[must_use]
    pub fn spent(&self) -> Spent {
        let tokens = [
            self.uncached_input_tokens,
            self.cached_read_tokens,
            self.cache_write_tokens,
            self.output_tokens,
        ];
        let is_true = |flag: Option<bool>| flag == Some(true);
        Spent {
            cost_usd: self.billed_cost_usd,
            total_tokens: tokens
                .into_iter()
                .try_fold(0_u64, |sum, count| Some(sum.saturating_add(count?))),
            llm_calls: self.model_requests,
            latency_ms: self.wall_time_sec.map(|seconds| seconds * 1000.0),
            is_lower_bound: is_true(self.cost_is_lower_bound) || is_true(self.usage_is_lower_bound),
            hidden_calls: self.sub_agent_tool_calls,
        }
    }

    /// What of the run's money went to judges: in rows of older versions, what their replies cost.
    #[must_use]
    pub fn judges_took(&self) -> Option<f64> {
        self.judge_charged_usd.or(self.judge_cost_usd)
    }

    /// Identity of the trial. Old rows hold no index; [`crate::rows`] has given them their position
    /// within the cell.
    #[must_use]
    pub fn key(&self) -> TrialKey {
        TrialKey {
            cell: Cell {
                agent: AgentId::recorded(&self.agent_id),
                scenario: ScenarioId::recorded(&self.scenario),
                task: TaskId::recorded(&self.task_id),
            },
            baseline: self.baseline_run,
            index: self.trial_index.unwrap_or(0),
            attempt: self.attempt.unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rustfmt::skip]
    const COLUMNS: &[&str] = &[
        "run_id", "ts_start", "ts_end", "agent_id", "agent_kind", "scenario", "task_id", "task_kind",
        "baseline_run", "success", "failure_reason", "grader_results", "exit_code", "wall_time_sec", "model",
        "uncached_input_tokens", "cached_read_tokens", "cache_write_tokens", "cache_write_ttl", "output_tokens",
        "billed_cost_usd", "cost_source", "cold_equivalent_cost_usd", "cache_savings_usd", "cache_read_rate",
        "baseline_cost_usd", "marginal_cost_usd", "xcodebuild_calls", "xcrun_calls", "simctl_calls",
        "time_to_first_xcodebuild_sec", "xcodebuild_repeat_count", "destination_count", "destination_churn",
        "mcp_tool_calls", "tool_error_total", "tool_error_mcp", "tool_error_non_mcp", "transcript_path",
        "agent_output_json_path", "command_log_path", "mcp_tool_log_path", "tool_error_log_path",
        "tool_error_context_log_path", "mcp_xcodebuild_calls", "mcp_simctl_calls", "time_to_first_mcp_build_sec",
        "provider_usage",
        "schema", "trial_index", "attempt", "termination", "grade", "integrity", "infra", "usage_is_lower_bound",
        "workspace", "isolation", "jobs", "paused_sec", "overhead_sec", "lingered", "leftovers", "tool_calls",
        "tool_error_discovery", "unknown_events", "unparsed_lines", "model_requests", "cli_version",
        "command_calls", "notes", "prompt_digest", "config_digest", "task_digest",
        "artifacts_sha256", "prev_sha256", "peak_memory_kib", "host_load_1m", "host_free_memory_kib",
        "graded_in", "tree_sha256", "limits_hit", "provider_fault", "retry_at", "cmd_log_via", "cmd_log_lost",
        "attestation_sha256", "attestation_flags",
        "cost_provider_usd", "cost_ccusage_usd", "cost_session_usd", "cost_computed_usd", "cost_price", "cost_flags",
        "cost_is_lower_bound", "trial_max_cost_usd", "run_max_cost_usd",
        "network", "visible_pass", "held_out_pass",
        "usage_source", "cmd_log_calls", "cmd_shim_usec",
        "simulator_wait_sec", "xcodebuild_wait_sec",
        "network_refused", "network_sent_bytes", "network_received_bytes",
        "answer_layer", "path_layer", "budget_layer", "layer_findings",
        "judged", "judge_cost_usd", "layer_baseline", "judge_charged_usd",
        "peak_processes",
        "mcp_xcodebuild_repeat_count", "mcp_destination_count", "mcp_destination_churn",
        "sub_agent_tool_calls", "trial_max_is_rest", "cost_is_open_ended",
        "integrity_reasons", "test_config_changed", "left_behind",
    ];

    #[test]
    fn counts_of_tokens_that_no_number_holds_are_told_as_the_largest() {
        let mut row = Row {
            output_tokens: Some(u64::MAX),
            uncached_input_tokens: Some(u64::MAX),
            cached_read_tokens: Some(1),
            cache_write_tokens: Some(0),
            ..Row::default()
        };
        assert_eq!(row.spent().total_tokens, Some(u64::MAX));
        row.cache_write_tokens = None;
        assert_eq!(row.spent().total_tokens, None);
    }

    #[test]
    fn the_keys_come_in_the_order_of_the_contract() {
        let text = serde_json::to_string(&Row::default()).unwrap();
        let keys: Vec<&str> = text
            .trim_matches(['{', '}'])
            .split(',')
            .map(|pair| pair.split(':').next().unwrap().trim_matches('"'))
            .collect();
        assert_eq!(keys, COLUMNS);
    }

    #[test]
    fn a_number_that_is_none_is_written_as_null() {
        let row = Row {
            wall_time_sec: Some(f64::NAN),
            billed_cost_usd: Some(f64::INFINITY),
            ..Row::default()
        };
        let text = serde_json::to_string(&row).unwrap();
        assert!(text.contains(r#""wall_time_sec":null"#), "{text}");
        let back: Row = serde_json::from_str(&text).unwrap();
        assert_eq!(back.billed_cost_usd, None);
    }

    /// Sums of such figures would be no numbers.
    #[test]
    fn a_cost_that_nothing_can_have_is_not_known() {
        let line = r#"{"billed_cost_usd":1e308,"cache_savings_usd":-1e308,"judge_cost_usd":0.5}"#;
        let row: Row = serde_json::from_str(line).unwrap();
        let told = (
            row.billed_cost_usd,
            row.cache_savings_usd,
            row.judge_cost_usd,
        );
        assert_eq!(told, (None, None, Some(0.5)));
        let facts: crate::RowFacts<'_> = serde_json::from_str(line).unwrap();
        assert_eq!(facts.billed_cost_usd, None);
    }

    #[test]
    fn counts_are_read_as_older_writers_put_them_down() {
        let cases = [("3", Some(3)), ("3.0", Some(3)), ("null", None)];
        for (text, count) in cases {
            let row: Row = serde_json::from_str(&format!(r#"{{"xcrun_calls":{text}}}"#)).unwrap();
            assert_eq!(row.xcrun_calls, count, "{text}");
        }
        for text in ["-1", "1.5", "1e300", "\"3\"", "true"] {
            let read = serde_json::from_str::<Row>(&format!(r#"{{"xcrun_calls":{text}}}"#));
            assert!(read.is_err(), "{text}");
        }
    }
}
