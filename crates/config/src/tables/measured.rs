//! Keys of the graders `retrieval` and `privacy`.

use crate::shape::{Choice, Section, Shape, defaulted, optional, required};
use crate::tables::graders::SHARES_TREE;

const PLACES: &[Choice] = &[
    ("answer", "the agent's last words"),
    ("transcript", "all that the agent said, called and was told"),
    (
        "diff",
        "files that it changed or added, their names included",
    ),
];

const FILLED: Shape = Shape::List {
    of: &Shape::Filled,
    least: 0,
};

pub(super) static RETRIEVAL: Section = Section {
    doc: "Passes when the ranking that the agent gives is good enough.",
    keys: &[
        optional(
            "answer_file",
            Shape::Inside,
            "JSON with the ids, relative to the project's folder; without it the agent's last answer is read.",
        ),
        required(
            "expected_ids",
            Shape::List {
                of: &Shape::Word,
                least: 1,
            },
            "The relevant ids.",
        ),
        defaulted(
            "k",
            Shape::Whole {
                least: 1,
                most: 1_000_000,
            },
            "10",
            "How many of the first ids count.",
        ),
        optional("min_precision", Shape::Number, "Least P@K, up to 1."),
        optional("min_recall", Shape::Number, "Least Recall@K, up to 1."),
        optional("min_ndcg", Shape::Number, "Least NDCG@K, up to 1."),
        optional("min_mrr", Shape::Number, "Least MRR@K, up to 1."),
        SHARES_TREE,
    ],
    open: None,
};

pub(super) static PRIVACY: Section = Section {
    doc: "Passes when nothing sensitive is in the answer, the transcript or the diff; its verdict never repeats what leaked.",
    keys: &[
        defaulted("strings", FILLED, "[]", "Texts that must be nowhere."),
        optional(
            "strings_file",
            Shape::Path,
            "A file of further ones, one a line, relative to the config's folder.",
        ),
        defaulted(
            "patterns",
            FILLED,
            "[]",
            "Regular expressions that must match nowhere.",
        ),
        defaulted(
            "where",
            Shape::List {
                of: &Shape::OneOf(PLACES),
                least: 1,
            },
            "[\"answer\", \"transcript\", \"diff\"]",
            "Where is looked.",
        ),
        defaulted(
            "ignore_case",
            Shape::Bool,
            "false",
            "Whether letter case is put aside.",
        ),
    ],
    open: None,
};
