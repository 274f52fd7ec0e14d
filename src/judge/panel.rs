//! Several replies as one: the median, and ties fail.

use crate::layers::{JudgeReply, Threshold};

/// What several replies say together.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Said {
    /// The reply whose score is the median.
    pub(super) reply: JudgeReply,
    /// What is odd about them, in words.
    pub(super) flags: Vec<String>,
}

/// The reply in the middle by score, the lower one of two: it passes only where more than half of all do. `None` of none.
pub(super) fn together(replies: &[JudgeReply], threshold: Threshold) -> Option<Said> {
    let mut sorted: Vec<&JudgeReply> = replies.iter().collect();
    sorted.sort_by(|a, b| a.score().total_cmp(&b.score()));
    let middle = sorted.len().checked_sub(1)? / 2;
    let passing = replies.iter().filter(|it| it.passes(threshold)).count();
    let contradicting = replies.iter().filter(|it| it.contradicts(threshold));
    let contradicting = contradicting.count();
    let mut flags = Vec::new();
    if contradicting > 0 {
        flags.push(format!("label_contradicts_score:{contradicting}"));
    }
    if passing > 0 && passing < replies.len() {
        flags.push(format!("judges_disagree:{passing}/{}", replies.len()));
    }
    Some(Said {
        reply: (*sorted.get(middle)?).clone(),
        flags,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layers::JudgeLabel;

    fn replies(scores: &[u8]) -> Vec<JudgeReply> {
        let reply = |score: &u8| JudgeReply::new(f64::from(*score), None, "").expect("a reply");
        scores.iter().map(reply).collect()
    }

    fn passes(scores: &[u8], threshold: f64) -> bool {
        let threshold = Threshold::new(threshold).expect("a threshold");
        let said = together(&replies(scores), threshold).expect("a verdict");
        said.reply.passes(threshold)
    }

    #[test]
    fn the_median_decides_and_a_tie_fails() {
        let cases: [(&[u8], f64, bool); 8] = [
            (&[5], 1.0, true),
            (&[5, 4, 4], 0.8, true),
            (&[5, 1, 5], 0.8, true),
            (&[5, 3, 3], 0.8, false),
            (&[5, 5, 1, 1], 0.8, false),
            (&[5, 3], 0.8, false),
            (&[5, 5, 5, 1], 0.8, true),
            (&[1, 1], 0.0, true),
        ];
        for (scores, threshold, expected) in cases {
            assert_eq!(
                passes(scores, threshold),
                expected,
                "{scores:?} {threshold}"
            );
        }
        assert_eq!(together(&[], Threshold::default()), None);
    }

    #[test]
    fn labels_that_contradict_scores_and_judges_that_disagree_are_flagged() {
        let threshold = Threshold::new(0.8).expect("a threshold");
        let mut replies = replies(&[2, 5]);
        replies[0].label = Some(JudgeLabel::Pass);
        let said = together(&replies, threshold).expect("a verdict");
        assert_eq!(
            said.flags,
            ["label_contradicts_score:1", "judges_disagree:1/2"]
        );
    }

    proptest! {
        #[test]
        fn it_passes_exactly_where_more_than_half_do(
            scores in prop::collection::vec(1_u8..=5, 1..12),
            threshold in 0.0..=1.0,
        ) {
            let least = Threshold::new(threshold).expect("a threshold").score();
            let passing = scores.iter().filter(|score| **score >= least).count();
            prop_assert_eq!(passes(&scores, threshold), 2 * passing > scores.len());
        }
    }
}
