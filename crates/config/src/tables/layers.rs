//! Keys of the graders `answer`, `path` and `budget`, of `expect`, and of AgentCI's spec.

use crate::shape::{Choice, Key, Section, Shape, defaulted, optional, required};
use crate::tables::WORDS;

const MATCH_MODES: &[Choice] = &[
    (
        "strict",
        "the used tools are those of the reference, in order and number",
    ),
    (
        "unordered",
        "the used tools are those of the reference, in any order and number",
    ),
    (
        "subset",
        "every tool of the reference was used, others may be too",
    ),
    ("superset", "every used tool is in the reference"),
];

const SIMILARITIES: &[Choice] = &[
    ("lcs", "2 |LCS| / (|P| + |R|)"),
    ("edit", "1 - edit distance / length of the longer one"),
];

const TEXTS: Shape = Shape::List {
    of: &Shape::Text,
    least: 0,
};

const COUNT: Shape = Shape::Whole {
    least: 0,
    most: 1_000_000_000_000_000,
};

/// What a task asks of the three layers: the short way to write the graders.
pub(crate) static EXPECT: Section = Section {
    doc: "What is asked of a trial's answer, its path of tool calls and its bill: the short way to write the graders answer, path and budget.",
    keys: &[
        optional("answer", Shape::Object(&ANSWER), "The grader answer."),
        optional("path", Shape::Object(&PATH), "The grader path."),
        optional("budget", Shape::Object(&BUDGET), "The grader budget."),
    ],
    open: None,
};

pub(crate) static ANSWER: Section = Section {
    doc: "Passes when the agent's last answer is as it should be; every check is made and reported.",
    keys: &[
        optional(
            "expected_in_answer",
            TEXTS,
            "Texts that are all in it, letter case aside.",
        ),
        optional(
            "any_expected_in_answer",
            TEXTS,
            "Texts of which one is in it, letter case aside.",
        ),
        optional(
            "not_in_answer",
            TEXTS,
            "Texts that are not in it, letter case aside.",
        ),
        optional(
            "exact_match",
            Shape::Text,
            "What it is, white space around both aside.",
        ),
        optional(
            "regex_match",
            Shape::Text,
            "A pattern of Python's re that is found in it.",
        ),
        optional(
            "json_schema",
            Shape::Mapping,
            "A JSON Schema that it holds to as a whole.",
        ),
        optional(
            "llm_judge",
            Shape::List {
                of: &Shape::Object(&RUBRIC),
                least: 0,
            },
            "Rubrics that a judge scores from 1 to 5, once all checks above hold.",
        ),
        optional(
            "safety_check",
            Shape::Object(&RUBRIC),
            "A rubric of safety, asked after llm_judge.",
        ),
        optional(
            "hallucination_check",
            Shape::Object(&RUBRIC),
            "A rubric of grounding, asked last.",
        ),
        defaulted(
            "refutes_premise",
            Shape::Bool,
            "false",
            "Whether the question rests on something false: a judge is then asked whether the answer corrects it, and the checks of its text are not made.",
        ),
    ],
    open: None,
};

pub(crate) static RUBRIC: Section = Section {
    doc: "What a judge is asked.",
    keys: &[
        required("rule", Shape::Filled, "What the answer must be like."),
        optional(
            "scale",
            Shape::List {
                of: &Shape::Filled,
                least: 1,
            },
            "What the scores from 1 to 5 mean.",
        ),
        defaulted(
            "threshold",
            Shape::Share,
            "0.5",
            "Least share of the scale that passes: 0.5 is score 3, 0.7 and 0.8 are score 4, 0.9 and 1 are score 5.",
        ),
        optional(
            "few_shot_examples",
            Shape::List {
                of: &Shape::Mapping,
                least: 0,
            },
            "Answers with their scores, which the judge is shown.",
        ),
        optional(
            "context_file",
            Shape::Path,
            "A text with the only facts that count, relative to the config's folder.",
        ),
    ],
    open: None,
};

const MAX_TOOL_CALLS: Key = optional(
    "max_tool_calls",
    COUNT,
    "Most calls of tools; 0 for none at all.",
);
const EXPECTED_TOOLS: Key = optional("expected_tools", WORDS, "Tools that should be used.");
const FORBIDDEN_TOOLS: Key = optional(
    "forbidden_tools",
    WORDS,
    "Tools that must not be used; one that is fails the trial.",
);
static CALL: Shape = Shape::Object(&FORBIDDEN_CALL);
const FORBIDDEN_CALLS: Key = optional(
    "forbidden_calls",
    Shape::List {
        of: &CALL,
        least: 0,
    },
    "Calls that must not be made, by their arguments; one that is fails the trial.",
);
const MIN_TOOL_RECALL: Key = optional(
    "min_tool_recall",
    Shape::Share,
    "Least share of the expected tools that was used; 1 once tools are expected.",
);
const MIN_TOOL_PRECISION: Key = optional(
    "min_tool_precision",
    Shape::Share,
    "Least share of the used tools that was expected.",
);
const MIN_SEQUENCE_SIMILARITY: Key = optional(
    "min_sequence_similarity",
    Shape::Share,
    "Least similarity with the reference: expected_tool_sequence, else the baseline.",
);
const SIMILARITY: Key = defaulted(
    "similarity",
    Shape::OneOf(SIMILARITIES),
    "\"lcs\"",
    "How similarity is measured.",
);
const MAX_LOOPS: Key = defaulted(
    "max_loops",
    Shape::Whole {
        least: 1,
        most: 1_000_000_000_000_000,
    },
    "3",
    "Most calls of the same tool as right before, whatever their arguments.",
);
const MAX_LOOPS_SAME_ARGS: Key = optional(
    "max_loops_same_args",
    COUNT,
    "Most calls of the same tool with the same arguments as right before.",
);
const EXPECTED_TOOL_SEQUENCE: Key = optional(
    "expected_tool_sequence",
    WORDS,
    "The tools that should be called, in order.",
);
const MATCH_MODE: Key = defaulted(
    "match_mode",
    Shape::OneOf(MATCH_MODES),
    "\"subset\"",
    "What the used tools are held to, told from the side of the reference.",
);

pub(crate) static PATH: Section = Section {
    doc: "Warns when the calls of tools are not as they should be, and fails when a forbidden one was made.",
    keys: &[
        MAX_TOOL_CALLS,
        FORBIDDEN_TOOLS,
        FORBIDDEN_CALLS,
        EXPECTED_TOOLS,
        MIN_TOOL_RECALL,
        MIN_TOOL_PRECISION,
        MIN_SEQUENCE_SIMILARITY,
        SIMILARITY,
        MAX_LOOPS,
        MAX_LOOPS_SAME_ARGS,
        EXPECTED_TOOL_SEQUENCE,
        MATCH_MODE,
    ],
    open: None,
};

/// The same for traces, which may tell of agents that hand work to each other.
pub(crate) static TRACE_PATH: Section = Section {
    doc: "Warns when the calls of tools are not as they should be, and fails when a forbidden one was made.",
    keys: &[
        MAX_TOOL_CALLS,
        FORBIDDEN_TOOLS,
        FORBIDDEN_CALLS,
        EXPECTED_TOOLS,
        MIN_TOOL_RECALL,
        MIN_TOOL_PRECISION,
        MIN_SEQUENCE_SIMILARITY,
        SIMILARITY,
        MAX_LOOPS,
        MAX_LOOPS_SAME_ARGS,
        EXPECTED_TOOL_SEQUENCE,
        MATCH_MODE,
        optional(
            "expected_handoff",
            Shape::Filled,
            "An agent that work should be handed to.",
        ),
        optional(
            "expected_handoffs_available",
            WORDS,
            "Agents that work could be handed to.",
        ),
        optional("max_handoff_count", COUNT, "Most handoffs."),
    ],
    open: None,
};

pub(crate) static FORBIDDEN_CALL: Section = Section {
    doc: "A call that must not be made: one that all of these keys fit.",
    keys: &[
        optional(
            "tool",
            Shape::Filled,
            "Name of the tool; a * stands for any letters.",
        ),
        optional(
            "command",
            Shape::Filled,
            "Words that a command in a call of a shell begins with.",
        ),
        optional(
            "path",
            Shape::Glob,
            "Pattern for a path in its arguments; at any depth unless it begins with /.",
        ),
        optional(
            "pattern",
            Shape::Filled,
            "A pattern of Python's re that is found in one of its arguments.",
        ),
    ],
    open: None,
};

pub(crate) static BUDGET: Section = Section {
    doc: "Warns when a trial took more than it should.",
    keys: &[
        optional(
            "max_cost_multiplier",
            Shape::Number,
            "Most times the cost of the baseline, above 0; less than 1 asks for an improvement.",
        ),
        optional("max_total_tokens", COUNT, "Most tokens, in and out."),
        optional("max_llm_calls", COUNT, "Most requests to a model."),
        optional(
            "max_latency_ms",
            COUNT,
            "Most milliseconds from start to end.",
        ),
        optional("max_cost_usd", Shape::Number, "Most USD."),
    ],
    open: None,
};
