//! Keys of `config.yaml` itself, of its `project` and its `mcp`.

use crate::shape::{Section, Shape, defaulted, optional, required};
use crate::tables::{AGENT, ENVIRONMENT, JUDGE, PRICES, SCENARIO, SUITE, WORDS};

pub(crate) static CONFIG: Section = Section {
    doc: "A suite: what is measured, on what, with which agents, and how.",
    keys: &[
        optional("suite", Shape::Object(&SUITE), "Run-level settings."),
        required(
            "project",
            Shape::Object(&PROJECT),
            "What the agents work on.",
        ),
        required(
            "agents",
            Shape::List {
                of: &Shape::Object(&AGENT),
                least: 1,
            },
            "The agents, one entry each.",
        ),
        optional(
            "scenarios",
            Shape::List {
                of: &Shape::Object(&SCENARIO),
                least: 0,
            },
            "Scenarios beside the built-in ones (shell_unprimed, shell_primed, mcp_unprimed, mcp_unprimed_v2); an entry with the id of a built-in one changes it.",
        ),
        optional(
            "mcp",
            Shape::Object(&MCP),
            "The MCP server of the built-in MCP scenarios.",
        ),
        optional(
            "prices",
            PRICES,
            "Prices by model, in USD per million tokens; they come before those that proctor ships. A `*` in a name stands for anything.",
        ),
        optional(
            "judge",
            Shape::Object(&JUDGE),
            "Who judges answers by a rubric, where a task asks for that.",
        ),
    ],
    open: None,
};

/// A word, or a list.
const SIMULATORS: Shape = Shape::Either(&[
    Shape::OneOf(&[(
        "per_trial",
        "a copy of the named simulator for each trial, deleted after it",
    )]),
    Shape::List {
        of: &Shape::Filled,
        least: 1,
    },
]);

pub(crate) static PROJECT: Section = Section {
    doc: "What the agents work on: exactly one of repo_path and template.",
    keys: &[
        optional(
            "repo_path",
            Shape::Path,
            "Folder inside a git repository; it may be a subfolder.",
        ),
        optional(
            "template",
            Shape::Path,
            "Plain folder that is turned into a repository at run time.",
        ),
        defaulted(
            "base_ref",
            Shape::Word,
            "\"HEAD\"",
            "Commit that every trial starts from; a commit id is best for stable runs.",
        ),
        defaulted(
            "allow_lfs_pointers",
            Shape::Bool,
            "false",
            "Whether agents are started although files of Git LFS are only pointers in their workspaces.",
        ),
        optional(
            "simulator_name",
            Shape::Filled,
            "Simulator of Apple projects.",
        ),
        optional(
            "simulators",
            SIMULATORS,
            "Simulators that trials get, each one trial's at any time: a list of ids or names, or per_trial for a copy of the named one.",
        ),
        optional(
            "build_params",
            Shape::Object(&BUILD_PARAMS),
            "Build parameters: used by graders, and listed in primed prompts only.",
        ),
    ],
    open: None,
};

pub(crate) static BUILD_PARAMS: Section = Section {
    doc: "Build parameters; further ones of your own are listed in primed prompts as they are.",
    keys: &[
        optional("workspace", Shape::Word, "Xcode workspace."),
        optional("project", Shape::Word, "Xcode project."),
        optional("scheme", Shape::Word, "Scheme to build and test."),
        optional("bundle_id", Shape::Word, "Bundle id of the app."),
        optional("configuration", Shape::Word, "Build configuration."),
        optional(
            "simulator_name",
            Shape::Word,
            "Simulator, instead of project.simulator_name.",
        ),
        optional("destination", Shape::Word, "Destination of xcodebuild."),
        optional("simulator_udid", Shape::Word, "Simulator by its id."),
        optional("simulator_id", Shape::Word, "The same as simulator_udid."),
        optional("udid", Shape::Word, "The same as simulator_udid."),
    ],
    open: Some(&Shape::Word),
};

pub(crate) static MCP: Section = Section {
    doc: "The MCP server of the built-in MCP scenarios.",
    keys: &[
        defaulted(
            "enabled",
            Shape::Bool,
            "false",
            "Whether the built-in MCP scenarios apply; they need mcp_configs/ beside the config.",
        ),
        defaulted(
            "start_command",
            WORDS,
            "[]",
            "Program and arguments that start the server before an MCP trial.",
        ),
        defaulted(
            "stop_command",
            WORDS,
            "[]",
            "Program and arguments that stop it after the trial.",
        ),
        defaulted(
            "env",
            ENVIRONMENT,
            "{}",
            "Environment of the server; EVAL_MCP_TOOL_LOG may name a JSONL that it writes, with {RUN_ID} in it; a relative path starts from the folder of the config.",
        ),
    ],
    open: None,
};
