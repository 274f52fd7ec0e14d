//! Keys of `suite.retries`.

use crate::shape::{Section, Shape, defaulted};

pub(crate) static RETRIES: Section = Section {
    doc: "How often and when a trial is tried again that something else than the agent decided: a limit or an overload of the provider, a failed login, no network, an agent that never said anything, a simulator.",
    keys: &[
        defaulted(
            "max_attempts",
            Shape::Whole {
                least: 1,
                most: 100,
            },
            "3",
            "Attempts at a trial in one start of a run, the first included; each one is a row. 1 tries nothing again.",
        ),
        defaulted(
            "backoff_sec",
            Shape::Pause,
            "5",
            "The first wait where the provider tells none; each further one is twice as long, and up to a half more by chance.",
        ),
        defaulted(
            "max_backoff_sec",
            Shape::Pause,
            "300",
            "The longest of these waits.",
        ),
        defaulted(
            "max_wait_sec",
            Shape::Whole {
                least: 0,
                most: 2_592_000,
            },
            "900",
            "The longest that a run waits with nothing else to do, such as for the reset of a usage limit; beyond, it ends and --resume goes on.",
        ),
    ],
    open: None,
};
