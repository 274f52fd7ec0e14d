//! Keys of `scenarios[]`.

use crate::shape::{FreeKey, Section, Shape, defaulted, optional, required};
use crate::tables::suite::{HOSTS, NETWORKS};
use crate::tables::{ENVIRONMENT, WORDS};

pub(crate) static SCENARIO: Section = Section {
    doc: "A scenario: a named treatment. What an entry with the id of a built-in scenario leaves out stays as it is built in.",
    keys: &[
        required(
            "id",
            Shape::Id,
            "Name in rows, reports and folders; unique, letter case aside.",
        ),
        optional("description", Shape::Text, "Shown in reports."),
        optional(
            "prompt_prefix",
            Shape::Text,
            "Text put before the task's prompt.",
        ),
        optional("prompt_suffix", Shape::Text, "Text put after it."),
        defaulted(
            "primed",
            Shape::Bool,
            "false",
            "Whether the build parameters are listed in the prompt.",
        ),
        defaulted(
            "prefer_mcp",
            Shape::Bool,
            "false",
            "Whether the prompt says that MCP tools are preferred.",
        ),
        optional(
            "mcp_config",
            Shape::Path,
            "JSON file with mcpServers that the agent is given; MCP is switched off hard when absent.",
        ),
        defaulted(
            "files",
            Shape::List {
                of: &Shape::Object(&FILE),
                least: 0,
            },
            "[]",
            "Files or folders laid into the workspace.",
        ),
        defaulted(
            "agent_args",
            Shape::Either(&[
                WORDS,
                Shape::Map {
                    keys: FreeKey::Kind,
                    of: &WORDS,
                },
            ]),
            "[]",
            "Further arguments, put where {EXTRA_ARGS} is: a list for every agent, or a mapping from a kind of agent to a list.",
        ),
        defaulted(
            "env",
            ENVIRONMENT,
            "{}",
            "Further environment of the agent.",
        ),
        optional(
            "network",
            Shape::OneOf(NETWORKS),
            "The network of its agents, instead of suite.network; where the task says one, too, the narrower one holds.",
        ),
        defaulted(
            "hosts",
            HOSTS,
            "[]",
            "Hosts that its agents may ask beside those of suite.hosts.",
        ),
    ],
    open: None,
};

pub(crate) static FILE: Section = Section {
    doc: "A file or folder laid into a tree.",
    keys: &[
        required("from", Shape::Path, "Where it is."),
        required(
            "to",
            Shape::Inside,
            "Where it goes, relative to the project's folder.",
        ),
    ],
    open: None,
};
