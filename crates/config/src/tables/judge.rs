//! Keys of `judge`.

use crate::shape::{Choice, Key, Section, Shape, Variant, defaulted, optional, required};
use crate::tables::ARGV;

const REPLAY: &[Choice] = &[
    (
        "auto",
        "a recorded reply where there is one; else the judge is asked, and its reply recorded",
    ),
    ("only", "recorded replies alone: nobody is asked"),
    ("off", "always asked; replies are recorded all the same"),
];

/// All judges, by type.
pub(crate) const JUDGES: &[Variant] = &[
    ("anthropic", &ANTHROPIC),
    ("openai", &OPENAI),
    ("command", &COMMAND_JUDGE),
];

const fn model() -> Key {
    required(
        "model",
        Shape::Word,
        "The model, with its full version: a name that moves makes figures that cannot be repeated.",
    )
}

const fn base_url(doc: &'static str) -> Key {
    optional("base_url", Shape::Filled, doc)
}

const fn api_key_env(doc: &'static str) -> Key {
    optional("api_key_env", Shape::Variable, doc)
}

const fn max_output_tokens() -> Key {
    defaulted(
        "max_output_tokens",
        Shape::Whole {
            least: 64,
            most: 1_000_000,
        },
        "2048",
        "Most tokens of a reply, thinking included.",
    )
}

const fn temperature() -> Key {
    optional(
        "temperature",
        Shape::Number,
        "Sent as it is; without it none is sent, since some models refuse one.",
    )
}

static ANTHROPIC: Section = Section {
    doc: "A model behind Anthropic's Messages API.",
    keys: &[
        model(),
        base_url("Another server that speaks it; https://api.anthropic.com without one."),
        api_key_env(
            "The variable that holds the key; ANTHROPIC_API_KEY without one, and none at all with a base_url.",
        ),
        max_output_tokens(),
        temperature(),
    ],
    open: None,
};

static OPENAI: Section = Section {
    doc: "A model behind a chat completions API as OpenAI's.",
    keys: &[
        model(),
        base_url("Another server that speaks it; https://api.openai.com/v1 without one."),
        api_key_env(
            "The variable that holds the key; OPENAI_API_KEY without one, and none at all with a base_url.",
        ),
        max_output_tokens(),
        temperature(),
    ],
    open: None,
};

static COMMAND_JUDGE: Section = Section {
    doc: "Any program: it reads the prompt on standard input and prints its reply as one JSON object.",
    keys: &[
        required("command", ARGV, "Program and arguments."),
        optional(
            "model",
            Shape::Word,
            "What stands behind it, for reports and calibrations.",
        ),
        defaulted(
            "env_pass",
            Shape::List {
                of: &Shape::Variable,
                least: 0,
            },
            "[]",
            "Variables of yours that it gets beside PATH, HOME, LANG and TMPDIR.",
        ),
        optional(
            "max_call_usd",
            Shape::Number,
            "Most that one call can cost; needed where max_cost_usd is set.",
        ),
    ],
    open: None,
};

pub(crate) static JUDGE: Section = Section {
    doc: "Who judges answers by a rubric, where a task asks for that. Nobody is asked unless all other checks of the answer hold.",
    keys: &[
        required(
            "judges",
            Shape::List {
                of: &Shape::Tagged {
                    noun: "type of judge",
                    tag: "type",
                    variants: JUDGES,
                },
                least: 1,
            },
            "The judges; each is asked, and the median of all scores counts.",
        ),
        defaulted(
            "samples",
            Shape::Whole { least: 1, most: 99 },
            "1",
            "How often each judge is asked.",
        ),
        defaulted(
            "timeout_sec",
            Shape::Seconds,
            "120",
            "Longest time of one call.",
        ),
        defaulted(
            "max_attempts",
            Shape::Whole { least: 1, most: 20 },
            "3",
            "Calls until a readable reply is there, the first included.",
        ),
        defaulted(
            "backoff_sec",
            Shape::Pause,
            "2",
            "The first wait where the server tells none; each further one is twice as long, and up to a half more.",
        ),
        defaulted(
            "max_backoff_sec",
            Shape::Pause,
            "60",
            "The longest of these waits.",
        ),
        defaulted(
            "max_wait_sec",
            Shape::Pause,
            "300",
            "The longest wait that a server may ask for; beyond, it is out of reach.",
        ),
        defaulted(
            "max_reply_kib",
            Shape::Whole {
                least: 1,
                most: 65_536,
            },
            "256",
            "Longest reply, in KiB; more is none.",
        ),
        defaulted(
            "max_prompt_kib",
            Shape::Whole {
                least: 1,
                most: 65_536,
            },
            "256",
            "Longest prompt, in KiB; what is longer is not asked, and never cut.",
        ),
        optional(
            "max_cost_usd",
            Shape::Number,
            "Most USD that the judges may cost in one start of a run, a regrading or a calibration. Every model then needs a price.",
        ),
        defaulted(
            "replay",
            Shape::OneOf(REPLAY),
            "\"auto\"",
            "Whether recorded replies stand in for calls.",
        ),
        optional(
            "recordings",
            Shape::Path,
            "The file of recorded replies; without it each run has one of its own.",
        ),
        defaulted(
            "calibrations",
            Shape::Path,
            "\"judge_calibrations.jsonl\"",
            "The file that `proctor judge calibrate` adds to, and by which a judge may decide.",
        ),
        defaulted(
            "allow_uncalibrated",
            Shape::Bool,
            "false",
            "Whether a judge may decide without at least 100 labelled samples; reports say so.",
        ),
    ],
    open: None,
};
