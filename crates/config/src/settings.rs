//! `suite:`, `project:` and `mcp:` as they are read.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::fields::{Fields, duration};
use crate::files::Files;
use crate::isolation::isolation;
use crate::limits::limits;
use crate::node::Node;
use crate::paths::Base;
use crate::problem::Report;
use crate::retries::retries;
use crate::tables::{BUILD_PARAMS, LIMITS, RETRIES};
use crate::{
    BuildParams, CcusagePackage, MCP_TOOL_LOG, McpSettings, PlanMode, Project, ProjectSource,
    Settings, Simulators, TranscriptMode,
};
use proctor_model::host::HostRule;
use proctor_model::{AgentId, Network, ScenarioId, WorkspaceKind};

/// `suite:`.
pub(super) fn settings(suite: &Fields<'_>, files: &Files<'_>, report: &mut Report) -> Settings {
    let base = files.base;
    let output_root = base.resolve(&suite.text_or_empty("output_root"));
    if suite.boolean("cap_agent_builds") && suite.get("xcodebuild_jobs").is_none() {
        let (place, path) = (
            suite.place_of("cap_agent_builds"),
            suite.path("cap_agent_builds"),
        );
        let problem = report.error(place, &path, "there is no cap: `xcodebuild_jobs` is absent");
        problem.hint("write `xcodebuild_jobs: 1` beside it");
    }
    Settings {
        baselines: base.resolve(&suite.text_or_empty("baselines")),
        name: suite.text("name").unwrap_or_else(|| default_name(base)),
        timeout: suite.seconds_or_zero("timeout_sec"),
        scenario_timeouts: by_scenario(suite, "scenario_timeouts_sec"),
        stall_timeout: suite.seconds("stall_timeout_sec"),
        silence_limit: suite.seconds("silence_timeout_sec"),
        scenario_stall_timeouts: by_scenario(suite, "scenario_stall_timeouts_sec"),
        setup_timeout: suite.seconds_or_zero("setup_timeout_sec"),
        grader_timeout: suite.seconds_or_zero("grader_timeout_sec"),
        simulator_timeout: suite.seconds_or_zero("simulator_timeout_sec"),
        xcodebuild_jobs: suite
            .get("xcodebuild_jobs")
            .map(|_| suite.count("xcodebuild_jobs")),
        cap_agent_builds: suite.boolean("cap_agent_builds"),
        stop_grace: suite.seconds_or_zero("stop_grace_sec"),
        linger: suite.seconds_or_zero("linger_sec"),
        drain: suite.seconds_or_zero("drain_sec"),
        trials_per_cell: suite.count("trials_per_cell"),
        random_seed: suite.whole("random_seed"),
        plan_mode: plan_mode(&suite.text_or_empty("plan_mode")),
        shuffle_within_scenario: suite.boolean("shuffle_within_scenario"),
        run_baselines: suite.boolean("run_baselines"),
        baseline_trials_per_scenario: suite.count("baseline_trials_per_scenario"),
        jobs: suite.count("jobs"),
        start_gap: suite.seconds_or_zero("start_gap_sec"),
        retries: retries(&suite.section("retries", &RETRIES)),
        limits: limits(&suite.section("limits", &LIMITS)),
        workspace: workspace(&suite.text_or_empty("workspace")),
        isolation: isolation(suite, files, report),
        network: network(&suite.text_or_empty("network")),
        hosts: hosts(suite),
        grader_network: network(&suite.text_or_empty("grader_network")),
        upstream: suite.get("upstream").map(|_| suite.words("upstream")),
        web_tools: suite.boolean("web_tools"),
        summary_cache_strata: suite.boolean("summary_cache_strata"),
        keep_workdirs: suite.boolean("keep_workdirs"),
        fetch_remote: suite.boolean("fetch_remote"),
        validate_tasks: suite.boolean("validate_tasks"),
        transcript_mode: transcript_mode(&suite.text_or_empty("transcript_mode")),
        clean_agent_env: suite.boolean("clean_agent_env"),
        use_ccusage_for_codex: suite.boolean("use_ccusage_for_codex"),
        ccusage_package: match suite.text_or_empty("ccusage_package").as_str() {
            "@ccusage/codex@18.0.11" => CcusagePackage::Codex18,
            _ => CcusagePackage::Ccusage20,
        },
        prewarm_spm: suite.boolean("prewarm_spm"),
        spm_cache_dir: suite.text("spm_cache_dir").map(|dir| output_root.join(dir)),
        env: suite.environment("env"),
        env_pass: suite.words("env_pass"),
        shims: suite.words("shims"),
        agent_sees_suite_root: suite.boolean("agent_sees_suite_root"),
        post_run_report: suite.boolean("post_run_report"),
        post_run_report_agent: suite
            .text("post_run_report_agent")
            .and_then(|id| AgentId::new(id).ok()),
        post_run_report_path: suite.text_or_empty("post_run_report_path").into(),
        failure_analysis: suite.boolean("failure_analysis"),
        output_root,
    }
}

fn default_name(base: &Base) -> String {
    let name = base.folder().file_name().map(|name| name.to_string_lossy());
    name.map_or_else(|| "suite".to_owned(), std::borrow::Cow::into_owned)
}

fn by_scenario(suite: &Fields<'_>, name: &str) -> BTreeMap<ScenarioId, Duration> {
    let entries = suite.get(name).and_then(Node::map).unwrap_or_default();
    entries
        .iter()
        .filter_map(|entry| {
            let id = ScenarioId::new(entry.key.clone()).ok()?;
            Some((id, duration(entry.value.number()?)))
        })
        .collect()
}

fn plan_mode(word: &str) -> PlanMode {
    match word {
        "blocked_by_scenario" => PlanMode::BlockedByScenario,
        _ => PlanMode::Random,
    }
}

fn transcript_mode(word: &str) -> TranscriptMode {
    match word {
        "raw" => TranscriptMode::Raw,
        "none" => TranscriptMode::None,
        _ => TranscriptMode::Minimal,
    }
}

fn workspace(word: &str) -> WorkspaceKind {
    match word {
        "clone" => WorkspaceKind::Clone,
        "shared" => WorkspaceKind::Shared,
        _ => WorkspaceKind::Worktree,
    }
}

/// `network` and `grader_network`.
pub(super) fn network(word: &str) -> Network {
    match word {
        "none" => Network::None,
        "provider" => Network::Provider,
        _ => Network::Host,
    }
}

/// `hosts`.
pub(super) fn hosts(fields: &Fields<'_>) -> Vec<HostRule> {
    let words = fields.words("hosts").into_iter();
    words
        .filter_map(|word| HostRule::parse(&word).ok())
        .collect()
}

/// `project:`; there is none when it does not say where the files come from.
pub(super) fn project(
    fields: &Fields<'_>,
    files: &Files<'_>,
    report: &mut Report,
) -> Option<Project> {
    let repository = fields.path_value("repo_path", files.base);
    let template = fields.path_value("template", files.base);
    let source = match (repository, template) {
        (Some(path), None) => {
            files.folder(&path, &(fields, "repo_path"), report);
            ProjectSource::Repository(path)
        }
        (None, Some(path)) => {
            files.folder(&path, &(fields, "template"), report);
            ProjectSource::Template(path)
        }
        (Some(_), Some(_)) => {
            let place = fields.place_of("template");
            report
                .error(
                    place,
                    &fields.path("template"),
                    "contradicts project.repo_path",
                )
                .hint("keep one of the two");
            return None;
        }
        (None, None) => {
            report
                .error(fields.place(), &fields.path("repo_path"), "is missing")
                .hint("name a folder inside a git repository here, or a plain folder as project.template");
            return None;
        }
    };
    let source_key = match source {
        ProjectSource::Repository(_) => "repo_path",
        ProjectSource::Template(_) => "template",
    };
    let simulator_name = fields.text("simulator_name");
    Some(Project {
        source,
        base_ref: fields.text_or_empty("base_ref"),
        simulator_name,
        simulators: simulators(fields),
        build_params: build_params(&fields.section("build_params", &BUILD_PARAMS)),
        allow_lfs_pointers: fields.boolean("allow_lfs_pointers"),
        source_at: fields.place_of(source_key),
        base_ref_at: fields.place_of("base_ref"),
    })
}

fn simulators(fields: &Fields<'_>) -> Simulators {
    let Some(node) = fields.get("simulators") else {
        return Simulators::Single;
    };
    match node.list() {
        Some(_) => Simulators::Pool(fields.words("simulators")),
        None => Simulators::PerTrial,
    }
}

/// What is there and empty is not set.
fn build_params(fields: &Fields<'_>) -> BuildParams {
    let set = |name: &str| fields.text(name).filter(|text| !text.trim().is_empty());
    let mut other = fields.further();
    other.retain(|(_, value)| !value.trim().is_empty());
    BuildParams {
        workspace: set("workspace"),
        project: set("project"),
        scheme: set("scheme"),
        bundle_id: set("bundle_id"),
        configuration: set("configuration"),
        simulator_name: set("simulator_name"),
        destination: set("destination"),
        simulator_udid: set("simulator_udid")
            .or(set("simulator_id"))
            .or(set("udid")),
        other,
    }
}

/// `mcp:`.
pub(super) fn mcp(fields: &Fields<'_>, base: &Base) -> McpSettings {
    let mut env = fields.environment("env");
    if let Some(log) = env.get_mut(MCP_TOOL_LOG) {
        *log = base.resolve(log).to_string_lossy().into_owned();
    }
    McpSettings {
        enabled: fields.boolean("enabled"),
        start_command: fields.words("start_command"),
        stop_command: fields.words("stop_command"),
        env,
    }
}
