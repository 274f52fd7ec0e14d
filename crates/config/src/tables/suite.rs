//! Keys of `suite`.

use crate::shape::{Choice, FreeKey, Section, Shape, defaulted, optional};
use crate::tables::isolation::{ISOLATION, LENT, LEVEL, ON_UNCONTAINED};
use crate::tables::{ENVIRONMENT, EXPECT, LIMITS, RETRIES, WORDS};

const PLAN_MODES: &[Choice] = &[
    ("random", "all trials shuffled"),
    (
        "blocked_by_scenario",
        "grouped by scenario, then agent; baselines first in each block",
    ),
];

const TRANSCRIPT_MODES: &[Choice] = &[
    ("minimal", "messages, tool calls and errors, a line each"),
    ("raw", "every byte as it came"),
    ("none", "nothing"),
];

const CCUSAGE: &[Choice] = &[
    (
        "ccusage@20.0.24",
        "a program for each system; knows newer models and written tokens",
    ),
    (
        "@ccusage/codex@18.0.11",
        "a script for any system; gives newer models the price of an older one",
    ),
];

const WORKSPACES: &[Choice] = &[
    (
        "worktree",
        "a linked worktree of a repository that belongs to the trial alone and holds one commit",
    ),
    (
        "clone",
        "the same with .git inside the workspace, for agents whose sandbox refuses a linked worktree",
    ),
    (
        "shared",
        "a worktree of your own repository, for trusted agents only",
    ),
];

pub(super) const NETWORKS: &[Choice] = &[
    ("host", "yours"),
    (
        "provider",
        "a door to the agent's provider and to `hosts`; only a jail can do that",
    ),
    ("none", "none but loopback; only a jail can do that"),
];

const GRADER_NETWORKS: &[Choice] = &[
    ("host", "yours"),
    ("none", "none but loopback; only a jail can do that"),
];

/// Hosts that may be asked.
pub(super) const HOSTS: Shape = Shape::List {
    of: &Shape::Host,
    least: 0,
};

const SCENARIO_SECONDS: Shape = Shape::Map {
    keys: FreeKey::Scenario,
    of: &Shape::Seconds,
};

const TRIALS: Shape = Shape::Whole {
    least: 1,
    most: 100_000,
};

pub(crate) static SUITE: Section = Section {
    doc: "Run-level settings.",
    keys: &[
        optional(
            "name",
            Shape::Filled,
            "Name of the suite in reports; the name of the config's folder by default.",
        ),
        defaulted(
            "output_root",
            Shape::Path,
            "\"./runs\"",
            "Folder that run directories are created in.",
        ),
        defaulted(
            "timeout_sec",
            Shape::Seconds,
            "1800",
            "Hard limit of an agent.",
        ),
        defaulted(
            "scenario_timeouts_sec",
            SCENARIO_SECONDS,
            "{}",
            "Hard limit of an agent by scenario, instead of timeout_sec.",
        ),
        optional(
            "stall_timeout_sec",
            Shape::Seconds,
            "Limit of an agent's silence: no output, no watched command that begins or ends, and no process of it that works. No limit when absent.",
        ),
        optional(
            "silence_timeout_sec",
            Shape::Seconds,
            "Limit of an agent's silence even while its processes work. No limit when absent.",
        ),
        defaulted(
            "scenario_stall_timeouts_sec",
            SCENARIO_SECONDS,
            "{}",
            "Limit of an agent's silence by scenario, instead of stall_timeout_sec.",
        ),
        defaulted(
            "setup_timeout_sec",
            Shape::Seconds,
            "600",
            "Limit of each setup command.",
        ),
        defaulted(
            "grader_timeout_sec",
            Shape::Seconds,
            "1800",
            "Limit of a grader that names none.",
        ),
        defaulted(
            "simulator_timeout_sec",
            Shape::Seconds,
            "180",
            "Limit of each call of simctl and xcresulttool by the harness, the boot of a simulator among them.",
        ),
        optional(
            "xcodebuild_jobs",
            Shape::Whole {
                least: 1,
                most: 1_000,
            },
            "Most builds of graders at once, however many trials run.",
        ),
        defaulted(
            "cap_agent_builds",
            Shape::Bool,
            "false",
            "An agent, too, takes one of the places of xcodebuild_jobs, from its start to its end: when it builds nobody knows beforehand.",
        ),
        defaulted(
            "stop_grace_sec",
            Shape::Pause,
            "5",
            "Time between INT, TERM and KILL when a process is stopped.",
        ),
        defaulted(
            "linger_sec",
            Shape::Pause,
            "5",
            "How long an agent may live on after its final event.",
        ),
        defaulted(
            "drain_sec",
            Shape::Pause,
            "2",
            "How long output is awaited after the agent's exit.",
        ),
        defaulted(
            "trials_per_cell",
            TRIALS,
            "1",
            "Trials of each agent x scenario x task.",
        ),
        defaulted(
            "random_seed",
            Shape::Whole {
                least: 0,
                most: u64::MAX,
            },
            "1337",
            "Seed of the order: the same seed gives the same plan on every machine.",
        ),
        defaulted(
            "plan_mode",
            Shape::OneOf(PLAN_MODES),
            "\"random\"",
            "Order of the matrix.",
        ),
        defaulted(
            "shuffle_within_scenario",
            Shape::Bool,
            "true",
            "Whether a block of blocked_by_scenario is shuffled.",
        ),
        defaulted(
            "run_baselines",
            Shape::Bool,
            "false",
            "Whether do-nothing runs measure the fixed cost of each agent x scenario.",
        ),
        defaulted(
            "baseline_trials_per_scenario",
            Shape::Whole {
                least: 0,
                most: 100_000,
            },
            "1",
            "Baselines of each agent x scenario.",
        ),
        defaulted(
            "jobs",
            Shape::Whole {
                least: 1,
                most: 1_000,
            },
            "1",
            "Trials at once; more than one changes timings, and the run says so.",
        ),
        defaulted(
            "start_gap_sec",
            Shape::Pause,
            "0.25",
            "Where more than four trials of a lane run, the least time between two starts; up to a half more by chance.",
        ),
        defaulted(
            "default_prices",
            Shape::Bool,
            "true",
            "Whether models without a price in the config have the dated list price that proctor ships.",
        ),
        optional(
            "retries",
            Shape::Object(&RETRIES),
            "How often and when a trial is tried again that something else than the agent decided.",
        ),
        optional(
            "limits",
            Shape::Object(&LIMITS),
            "What a run may take of the disk, of memory and of money.",
        ),
        optional(
            "scenarios",
            Shape::List {
                of: &Shape::Id,
                least: 1,
            },
            "Scenarios that run when none are named on the command line, in this order; all that apply by default.",
        ),
        defaulted(
            "workspace",
            Shape::OneOf(WORKSPACES),
            "\"worktree\"",
            "What each trial works in.",
        ),
        defaulted(
            "isolation",
            Shape::Either(&[LEVEL, Shape::Object(&ISOLATION)]),
            "\"auto\"",
            "What keeps the processes of a trial.",
        ),
        defaulted(
            "isolation_wrapper",
            WORDS,
            "[]",
            "At level external: words before every command line of a trial, with {WORKDIR} and {SUITE} filled in.",
        ),
        defaulted(
            "on_uncontained",
            ON_UNCONTAINED,
            "\"pause\"",
            "What follows outside of a jail when processes of a trial could not be ended.",
        ),
        defaulted(
            "lend",
            Shape::List {
                of: &Shape::Either(&[Shape::Path, Shape::Object(&LENT)]),
                least: 0,
            },
            "[]",
            "Files and folders that a jail shows as they are, beside what programs need to start.",
        ),
        defaulted(
            "max_processes",
            Shape::Whole {
                least: 16,
                most: 4_000_000,
            },
            "4096",
            "The most processes and threads of an agent, a setup command or a grader in a jail.",
        ),
        defaulted(
            "network",
            Shape::OneOf(NETWORKS),
            "\"host\"",
            "The network of agents, where neither a task nor a scenario says.",
        ),
        defaulted(
            "hosts",
            HOSTS,
            "[]",
            "Hosts that agents may ask beside their provider, where their network is `provider`: api.example.com, *.example.com, 10.0.0.7:8080.",
        ),
        defaulted(
            "grader_network",
            Shape::OneOf(GRADER_NETWORKS),
            "\"host\"",
            "The network of graders; never more than the agent of their trial has.",
        ),
        optional(
            "upstream",
            Shape::List {
                of: &Shape::Filled,
                least: 0,
            },
            "Where the project's solutions can be fetched: parts of addresses, and names of packages. By default its remotes and the names in its manifests; [] for no watch.",
        ),
        defaulted(
            "web_tools",
            Shape::Bool,
            "false",
            "Whether agents keep the tools by which their provider searches and fetches the web.",
        ),
        defaulted(
            "summary_cache_strata",
            Shape::Bool,
            "true",
            "Whether summary_cold.* are written for trials without cached reads.",
        ),
        defaulted(
            "keep_workdirs",
            Shape::Bool,
            "false",
            "Whether workspaces stay after their trial, to look into failures.",
        ),
        defaulted(
            "fetch_remote",
            Shape::Bool,
            "false",
            "Whether the repository is fetched once before base_ref is resolved.",
        ),
        defaulted(
            "validate_tasks",
            Shape::Bool,
            "false",
            "Whether reference patches are checked before the trials.",
        ),
        defaulted(
            "transcript_mode",
            Shape::OneOf(TRANSCRIPT_MODES),
            "\"minimal\"",
            "How much of an agent's output is kept as a transcript.",
        ),
        defaulted(
            "clean_agent_env",
            Shape::Bool,
            "false",
            "Whether agents get a private home, so that your own settings and skills stay out.",
        ),
        defaulted(
            "use_ccusage_for_codex",
            Shape::Bool,
            "true",
            "Whether ccusage tells the cost of Codex where the provider does not.",
        ),
        defaulted(
            "ccusage_package",
            Shape::OneOf(CCUSAGE),
            "\"ccusage@20.0.24\"",
            "Which ccusage that is.",
        ),
        defaulted(
            "prewarm_spm",
            Shape::Bool,
            "false",
            "Whether Swift package dependencies are resolved once before the trials.",
        ),
        optional(
            "spm_cache_dir",
            Shape::Filled,
            "Shared Swift package cache, relative to output_root.",
        ),
        defaulted(
            "env",
            ENVIRONMENT,
            "{}",
            "Environment of agent and MCP processes in every scenario.",
        ),
        defaulted(
            "env_pass",
            Shape::List {
                of: &Shape::Variable,
                least: 0,
            },
            "[]",
            "Names of further variables of your own environment that agents may see.",
        ),
        defaulted(
            "shims",
            Shape::List {
                of: &Shape::Program,
                least: 0,
            },
            "[]",
            "Further commands whose calls are watched, beside xcodebuild and xcrun.",
        ),
        defaulted(
            "agent_sees_suite_root",
            Shape::Bool,
            "false",
            "Whether agents see EVAL_SUITE_ROOT, which leads to the reference solutions.",
        ),
        defaulted(
            "post_run_report",
            Shape::Bool,
            "false",
            "Whether an agent sums up the tool errors after the run.",
        ),
        optional(
            "post_run_report_agent",
            Shape::Filled,
            "Id of the agent that writes reports after the run.",
        ),
        defaulted(
            "post_run_report_path",
            Shape::Inside,
            "\"tool_error_report.md\"",
            "Where that report goes, relative to the run directory.",
        ),
        defaulted(
            "baselines",
            Shape::Filled,
            "\"baselines\"",
            "Folder of baselines that path and budget compare with, relative to the config.",
        ),
        optional(
            "defaults",
            Shape::Object(&EXPECT),
            "What is asked of every task's answer, path and bill, unless its own expect says otherwise.",
        ),
        defaulted(
            "failure_analysis",
            Shape::Bool,
            "false",
            "Whether an agent analyses the failures after the run.",
        ),
    ],
    open: None,
};
