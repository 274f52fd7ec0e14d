//! Keys of AgentCI's spec (`agentci_spec.yaml`), as far as recorded traces can be held to them.

use crate::shape::{Section, Shape, defaulted, optional, required};
use crate::tables::WORDS;
use crate::tables::layers::{ANSWER, BUDGET, TRACE_PATH};

/// The root.
pub(crate) static AGENTCI: Section = Section {
    doc: "What traces of an agent are held to.",
    keys: &[
        defaulted("version", Shape::Number, "1", "Version of the format: 1."),
        required("agent", Shape::Filled, "Name of the agent."),
        optional(
            "baseline_dir",
            Shape::Path,
            "Folder of baselines, relative to the spec's; ./golden by default.",
        ),
        optional(
            "defaults",
            Shape::Object(&LAYERS),
            "What every query is held to unless it says otherwise.",
        ),
        required(
            "queries",
            Shape::List {
                of: &Shape::Object(&QUERY),
                least: 1,
            },
            "What was asked, and what the trace of it is held to.",
        ),
    ],
    open: None,
};

/// A query.
pub(crate) static QUERY: Section = Section {
    doc: "What was asked, and what the trace of it is held to.",
    keys: &[
        required("query", Shape::Filled, "What was asked."),
        optional("description", Shape::Text, "For people."),
        optional("tags", WORDS, "For people."),
        optional("correctness", Shape::Object(&ANSWER), "Layer 1."),
        optional("path", Shape::Object(&TRACE_PATH), "Layer 2."),
        optional("cost", Shape::Object(&BUDGET), "Layer 3."),
    ],
    open: None,
};

/// The three layers alone.
pub(crate) static LAYERS: Section = Section {
    doc: "What every query is held to.",
    keys: &[
        optional("correctness", Shape::Object(&ANSWER), "Layer 1."),
        optional("path", Shape::Object(&TRACE_PATH), "Layer 2."),
        optional("cost", Shape::Object(&BUDGET), "Layer 3."),
    ],
    open: None,
};

/// Keys of the root that say how an agent or a judge is run: no trace is held to them.
pub(crate) const ABOUT_RUNS: [&str; 5] = [
    "runner",
    "conversation_runner",
    "judge_config",
    "persona_config",
    "staging",
];

/// Keys that ask for checks that are not made here, with what to do.
pub(crate) const NOT_MADE: [(&str, &str); 3] = [
    (
        "scenarios",
        "conversations of several turns are not judged: keep its queries alone",
    ),
    (
        "retrieval",
        "results of a retriever are not judged here: `proctor metrics` and the grader retrieval do that",
    ),
    (
        "span_assertions",
        "spans are not judged: ask for calls by path.forbidden_calls, or for the answer",
    ),
];
