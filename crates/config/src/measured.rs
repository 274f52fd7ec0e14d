//! Options of the graders `retrieval` and `privacy`, and how they are read.

use std::num::NonZeroU32;
use std::path::PathBuf;

use crate::fields::Fields;
use crate::files::Files;
use crate::problem::Report;

/// Options of `retrieval`: the answer is a ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct RetrievalOptions {
    /// `answer_file`, relative to the project folder; without it the final answer is read.
    pub answer_file: Option<PathBuf>,
    /// `expected_ids`
    pub expected: Vec<String>,
    /// `k` (10)
    pub k: NonZeroU32,
    /// `min_precision`, `min_recall`, `min_ndcg`, `min_mrr`, as far as they are asked for.
    pub least: Vec<(RankedFigure, f64)>,
}

/// A figure of a ranking that a task may ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankedFigure {
    /// P@K
    Precision,
    /// Recall@K
    Recall,
    /// NDCG@K
    Ndcg,
    /// MRR@K
    Mrr,
}

impl RankedFigure {
    /// All of them, with their keys in tasks.
    pub const ALL: [(&'static str, Self); 4] = [
        ("min_precision", Self::Precision),
        ("min_recall", Self::Recall),
        ("min_ndcg", Self::Ndcg),
        ("min_mrr", Self::Mrr),
    ];

    /// Its name in reasons.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Precision => "p",
            Self::Recall => "recall",
            Self::Ndcg => "ndcg",
            Self::Mrr => "mrr",
        }
    }
}

/// Options of `privacy`: what must be nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivacyOptions {
    /// `strings`
    pub strings: Vec<String>,
    /// `strings_file`, absolute: one a line.
    pub strings_file: Option<PathBuf>,
    /// `patterns`: regular expressions.
    pub patterns: Vec<String>,
    /// `where`; all places where the task names none.
    pub places: Vec<LeakPlace>,
    /// `ignore_case`
    pub ignore_case: bool,
}

/// Where something may leak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeakPlace {
    /// The agent's last words.
    Answer,
    /// All that the agent said, called and was told.
    Transcript,
    /// Files that it changed or added, their names included.
    Diff,
}

impl LeakPlace {
    /// All of them, with their words in tasks.
    pub const ALL: [(&'static str, Self); 3] = [
        ("answer", Self::Answer),
        ("transcript", Self::Transcript),
        ("diff", Self::Diff),
    ];
}

/// Reads the options of `retrieval`.
pub(super) fn retrieval(options: &Fields<'_>, report: &mut Report) -> Option<RetrievalOptions> {
    let mut least = Vec::new();
    for (key, figure) in RankedFigure::ALL {
        let Some(value) = options.number(key) else {
            continue;
        };
        if value > 1.0 {
            let place = options.place_of(key);
            report.error(place, &options.path(key), "must be at most 1");
        }
        least.push((figure, value));
    }
    if least.is_empty() {
        report
            .error(
                options.place(),
                &options.path("min_ndcg"),
                "is missing, as are the others",
            )
            .hint("ask for at least one of min_precision, min_recall, min_ndcg, min_mrr");
    }
    Some(RetrievalOptions {
        answer_file: options.text("answer_file").map(PathBuf::from),
        expected: options.words("expected_ids"),
        k: NonZeroU32::new(options.count("k"))?,
        least,
    })
}

/// Reads the options of `privacy`.
pub(super) fn privacy(
    options: &Fields<'_>,
    files: &Files<'_>,
    report: &mut Report,
) -> PrivacyOptions {
    let strings_file = options.path_value("strings_file", files.base);
    if let Some(path) = &strings_file {
        files.file(path, &(options, "strings_file"), report);
    }
    let patterns = options.words("patterns");
    for (index, (item, pattern)) in options.items("patterns").iter().zip(&patterns).enumerate() {
        if let Err(error) = regex::bytes::Regex::new(pattern) {
            let text = error.to_string();
            let why = text.lines().last().unwrap_or_default();
            let why = why.trim_start_matches("error: ");
            let path = format!("{}[{index}]", options.path("patterns"));
            report
                .error(item.place, &path, format!("is no pattern: {why}"))
                .hint("the syntax is that of the crate regex; quote it in single quotes");
        }
    }
    let strings = options.words("strings");
    if strings.is_empty() && patterns.is_empty() && strings_file.is_none() {
        report
            .error(
                options.place(),
                &options.path("strings"),
                "is missing, as are the others",
            )
            .hint("name what must not leak: strings, strings_file or patterns");
    }
    let places = options.words("where");
    let known = LeakPlace::ALL.into_iter();
    let places = known.filter(|(word, _)| places.is_empty() || places.iter().any(|it| it == word));
    PrivacyOptions {
        strings,
        strings_file,
        patterns,
        places: places.map(|(_, place)| place).collect(),
        ignore_case: options.boolean("ignore_case"),
    }
}
