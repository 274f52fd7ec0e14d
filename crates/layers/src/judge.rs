//! The seam to judges: what one is asked, what it may answer, and when that passes. Who answers is the caller's choice.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use proctor_model::vocabulary::{AnyPath, Anything, Filled};

/// Which check asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum JudgeKind {
    /// `llm_judge`: a rubric of the task.
    #[default]
    Rubric,
    /// `safety_check`
    Safety,
    /// `hallucination_check`
    Hallucination,
}

impl JudgeKind {
    /// Its key in a spec, and its name in results.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Rubric => "llm_judge",
            Self::Safety => "safety_check",
            Self::Hallucination => "hallucination_check",
        }
    }
}

/// A share of the scale that is demanded: a finite number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Deserialize)]
pub struct Threshold(f64);

impl Threshold {
    /// `value`, unless it is outside of 0 to 1 or no number.
    #[must_use]
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The least score that passes.
    #[must_use]
    pub fn score(self) -> u8 {
        threshold_score(self.0)
    }
}

impl Default for Threshold {
    /// Of a rubric that names none.
    fn default() -> Self {
        Self(0.5)
    }
}

/// The least score from 1 to 5 that passes a threshold from 0 to 1: t times 5, halves upwards, at least 1.
#[must_use]
pub fn threshold_score(threshold: f64) -> u8 {
    const SCALE: [u8; 5] = [5, 4, 3, 2, 1];
    let rounded = (threshold * 5.0 + 0.5).floor();
    let mut scores = SCALE.into_iter();
    scores
        .find(|score| rounded >= f64::from(*score))
        .unwrap_or(1)
}

/// How several replies to one question become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Panel {
    /// The reply with the median score decides, the lower one of two.
    #[default]
    Median,
    /// AgentCI's rule: the mean of all scores decides, unless most labels say `fail`.
    Mean,
}

/// A rubric for a judge.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
pub struct JudgeCheck {
    /// Which check asks.
    #[serde(skip)]
    pub kind: JudgeKind,
    /// What the answer must satisfy.
    #[schemars(with = "Filled")]
    pub rule: String,
    /// What the scores 1 to 5 mean, one text each.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Filled>>", length(min = 1))]
    pub scale: Vec<String>,
    /// Minimum score that passes, as a share of the scale: 0.5 is score 3, 0.7 is score 4, 0.9 is score 5.
    #[schemars(with = "f64", range(min = 0, max = 1), extend("default" = 0.5))]
    pub threshold: Threshold,
    /// Text file with the facts that the judge may rely on.
    #[schemars(with = "Option<AnyPath>")]
    pub context_file: Option<PathBuf>,
    /// Example answers with their scores, for the judge.
    #[serde(rename = "few_shot_examples", default, deserialize_with = "json_texts")]
    #[schemars(with = "Option<Vec<Anything>>")]
    pub examples: Vec<String>,
    /// How several replies become one.
    #[serde(skip)]
    pub panel: Panel,
}

fn json_texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let values = Vec::<serde_json::Value>::deserialize(deserializer)?;
    Ok(values.iter().map(ToString::to_string).collect())
}

/// The word that a judge puts beside its score. It decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JudgeLabel {
    /// `pass`
    Pass,
    /// `borderline`
    Borderline,
    /// `fail`
    Fail,
}

impl JudgeLabel {
    /// All of them, with their words.
    pub const ALL: [(&'static str, Self); 3] = [
        ("pass", Self::Pass),
        ("borderline", Self::Borderline),
        ("fail", Self::Fail),
    ];
}

/// What a judge answered.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeReply {
    score: f64,
    /// Whether it stands for several replies that fail together, whatever its score says.
    is_outvoted: bool,
    /// Its word, where it gave one.
    pub label: Option<JudgeLabel>,
    /// Why, in its words.
    pub reason: String,
}

impl JudgeReply {
    /// A reply, unless its score is outside of 1 to 5: that is no reply.
    #[must_use]
    pub fn new(score: f64, label: Option<JudgeLabel>, reason: impl Into<String>) -> Option<Self> {
        let reason = reason.into();
        (1.0..=5.0).contains(&score).then_some(Self {
            score,
            is_outvoted: false,
            label,
            reason,
        })
    }

    /// The same of several replies that fail together.
    #[must_use]
    pub fn outvoted(self) -> Self {
        Self {
            is_outvoted: true,
            ..self
        }
    }

    /// From 1 to 5.
    #[must_use]
    pub const fn score(&self) -> f64 {
        self.score
    }

    /// Whether the score is high enough, whatever the label says.
    #[must_use]
    pub fn passes(&self, threshold: Threshold) -> bool {
        !self.is_outvoted && self.score >= f64::from(threshold.score())
    }

    /// Whether the label says the opposite of what the score means here.
    #[must_use]
    pub fn contradicts(&self, threshold: Threshold) -> bool {
        match self.label {
            Some(JudgeLabel::Pass) => !self.passes(threshold),
            Some(JudgeLabel::Fail) => self.passes(threshold),
            Some(JudgeLabel::Borderline) | None => false,
        }
    }
}

/// Why there is no verdict. This is neither a pass nor a fail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JudgeFailure {
    /// Nobody is there who could answer.
    #[error("no judge is set up")]
    NoJudge,
    /// It could not be asked, again and again.
    #[error("the judge is out of reach: {0}")]
    Unreachable(String),
    /// What it answered holds no readable score from 1 to 5.
    #[error("the judge's answer is not readable: {0}")]
    Unreadable(String),
    /// Its money is spent.
    #[error("the judge's budget is spent: {0}")]
    OverBudget(String),
    /// It may not be asked, or not this.
    #[error("the judge was not asked: {0}")]
    Unasked(String),
    /// A person asked to stop.
    #[error("cancelled")]
    Cancelled,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_becomes_the_least_score_that_passes() {
        let cases = [
            (0.0, 1),
            (0.05, 1),
            (0.2, 1),
            (0.299_999_999_999, 1),
            (0.3, 2),
            (0.49, 2),
            (0.5, 3),
            (0.69, 3),
            (0.7, 4),
            (0.8, 4),
            (0.89, 4),
            (0.9, 5),
            (1.0, 5),
        ];
        for (threshold, score) in cases {
            assert_eq!(threshold_score(threshold), score, "{threshold}");
        }
        for wrong in [-0.1, 1.2, f64::NAN, f64::INFINITY] {
            assert_eq!(Threshold::new(wrong), None, "{wrong}");
        }
        assert_eq!(Threshold::default().score(), 3);
    }

    #[test]
    fn a_score_decides_and_a_label_that_contradicts_it_is_seen() {
        let threshold = Threshold::new(0.8).expect("a threshold");
        let reply = |score, label| JudgeReply::new(score, label, "").expect("a reply");
        let lying = reply(2.0, Some(JudgeLabel::Pass));
        assert!(!lying.passes(threshold) && lying.contradicts(threshold));
        let shy = reply(5.0, Some(JudgeLabel::Fail));
        assert!(shy.passes(threshold) && shy.contradicts(threshold));
        let unsure = reply(4.0, Some(JudgeLabel::Borderline));
        assert!(unsure.passes(threshold) && !unsure.contradicts(threshold));
    }

    #[test]
    fn a_score_outside_of_the_scale_is_no_reply() {
        for score in [0.0, 0.99, 5.01, -1.0, f64::NAN] {
            assert_eq!(JudgeReply::new(score, None, ""), None, "{score}");
        }
    }
}
