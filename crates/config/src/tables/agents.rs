//! Keys of `agents[]`.

use crate::shape::{Choice, Section, Shape, defaulted, optional, required};
use crate::tables::{ARGV, ENVIRONMENT};

pub(crate) const KINDS: [Choice; 8] = [
    ("codex_cli", "Codex, `codex exec --json`"),
    (
        "claude_code_cli",
        "Claude Code, `claude -p --output-format stream-json`",
    ),
    ("gemini_cli", "Gemini CLI, `gemini -o stream-json`"),
    ("opencode", "opencode, `opencode run --format json`"),
    ("qwen_code", "Qwen Code, `qwen -o stream-json`"),
    (
        "copilot_cli",
        "GitHub Copilot CLI, `copilot --output-format json`",
    ),
    (
        "command",
        "any program; its output is text, its exit code is its end",
    ),
    ("replay", "plays recorded trials"),
];

const PLAYED_KINDS: &[Choice] = &[
    ("codex_cli", "Codex events"),
    ("claude_code_cli", "Claude Code events"),
    ("gemini_cli", "Gemini CLI events"),
    ("opencode", "opencode events"),
    ("qwen_code", "Qwen Code events"),
    ("copilot_cli", "Copilot CLI events"),
    ("command", "plain text"),
];

const PROMPT_VIA: &[Choice] = &[
    ("argument", "in the token that holds {PROMPT}"),
    ("stdin", "on standard input"),
];

pub(crate) static AGENT: Section = Section {
    doc: "An agent.",
    keys: &[
        required(
            "id",
            Shape::Id,
            "Name in rows, reports and folders; unique, letter case aside.",
        ),
        required(
            "kind",
            Shape::OneOf(&KINDS),
            "How it is started and how its output is read.",
        ),
        optional(
            "command",
            ARGV,
            "Program and arguments. {PROMPT}, {WORKDIR} and {OUT_JSON} are replaced inside a token; a token that is exactly {EXTRA_ARGS} becomes the scenario's arguments. Needed by every kind but replay.",
        ),
        defaulted("env", ENVIRONMENT, "{}", "Environment of this agent."),
        optional(
            "pricing",
            Shape::Object(&PRICING),
            "Prices in USD per token; without them a cost that the agent does not tell stays unknown.",
        ),
        optional(
            "prompt_via",
            Shape::OneOf(PROMPT_VIA),
            "How the prompt reaches the agent; by default as argument where a token holds {PROMPT}, else claude_code_cli and codex_cli read it on standard input, where no other process sees it.",
        ),
        optional(
            "lane",
            Shape::Id,
            "Agents of one lane share one account: its limits park all of them, and max_parallel counts all of them. The agent's id by default.",
        ),
        optional(
            "max_parallel",
            Shape::Whole {
                least: 1,
                most: 1_000,
            },
            "Most trials of this agent's lane at once; of several agents in a lane, the least counts.",
        ),
        optional(
            "cassettes",
            Shape::Path,
            "Folder with recorded trials; needed by kind replay.",
        ),
        optional(
            "plays",
            Shape::OneOf(PLAYED_KINDS),
            "Whose output the cassettes hold; needed by kind replay.",
        ),
        optional(
            "pace",
            Shape::Number,
            "Recorded times are multiplied by this: 1 as recorded (the default), 0 at once; kind replay only.",
        ),
    ],
    open: None,
};

pub(crate) static PRICING: Section = Section {
    doc: "Prices in USD per token (not per million).",
    keys: &[
        optional(
            "input_per_token",
            Shape::Number,
            "Price of an uncached input token; given together with output_per_token.",
        ),
        optional(
            "output_per_token",
            Shape::Number,
            "Price of an output token.",
        ),
        defaulted(
            "cache_read_multiplier",
            Shape::Number,
            "1.0",
            "Price of a token read from the cache, as a multiple of input_per_token.",
        ),
        defaulted(
            "cache_write_multiplier_5m",
            Shape::Number,
            "1.0",
            "The same for a token written to a cache that lives five minutes.",
        ),
        defaulted(
            "cache_write_multiplier_1h",
            Shape::Number,
            "1.0",
            "The same for a token written to a cache that lives an hour.",
        ),
    ],
    open: None,
};
