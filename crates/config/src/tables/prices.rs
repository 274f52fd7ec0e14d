//! Keys of `prices`.

use crate::shape::{FreeKey, Section, Shape, optional, required};

/// `prices`
pub(crate) const PRICES: Shape = Shape::Map {
    keys: FreeKey::Model,
    of: &Shape::Object(&PRICE),
};

pub(crate) static PRICE: Section = Section {
    doc: "Prices of a model in USD per million tokens (not per token).",
    keys: &[
        required("input", Shape::Number, "Uncached input."),
        required("output", Shape::Number, "Output, reasoning included."),
        optional(
            "cached_input",
            Shape::Number,
            "Input read from a cache; as input where it is not given.",
        ),
        optional(
            "cache_write_5m",
            Shape::Number,
            "Input written to a cache that lives five minutes; as input where it is not given.",
        ),
        optional(
            "cache_write_1h",
            Shape::Number,
            "Input written to a cache that lives an hour; as cache_write_5m where it is not given.",
        ),
        optional(
            "up_to_input",
            Shape::Whole {
                least: 1,
                most: 1_000_000_000,
            },
            "The prices are those of requests with up to so many tokens of input, cached ones included: longer ones cost more.",
        ),
    ],
    open: None,
};

/// The file of the prices that are shipped.
pub(crate) static SHIPPED: Section = Section {
    doc: "Prices that proctor ships.",
    keys: &[
        required(
            "date",
            Shape::Filled,
            "The day on which they were looked up.",
        ),
        required("source", Shape::Filled, "Where."),
        required("prices", PRICES, "The prices."),
    ],
    open: None,
};
