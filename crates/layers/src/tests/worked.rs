//! Figures that were worked by hand.

use super::*;

#[test]
fn similarities_and_loops_worked_by_hand_are_right() {
    let edits = "Edit Edit Edit Edit Edit Edit Bash";
    for (used, reference, lcs, edit, loops) in [
        (
            "search rerank generate",
            "search generate",
            0.8,
            0.666_667,
            0,
        ),
        (
            "search search grade grade grade",
            "search grade",
            0.571_429,
            0.4,
            3,
        ),
        (edits, "Edit Bash", 0.444_444, 0.285_714, 5),
        ("a b c d", "b a c d", 0.75, 0.5, 0),
    ] {
        let words = |text: &'static str| text.split(' ').collect::<Vec<_>>();
        let (used, reference) = (words(used), words(reference));
        assert!(
            (sequence_lcs(&used, &reference) - lcs).abs() < 1e-6,
            "{used:?}"
        );
        assert!(
            (sequence_edit(&used, &reference) - edit).abs() < 1e-6,
            "{used:?}"
        );
        assert_eq!(loop_count(&used), loops, "{used:?}");
    }
}

#[test]
fn thresholds_become_scores() {
    for (threshold, score) in [
        (0.0, 1),
        (0.2, 1),
        (0.3, 2),
        (0.5, 3),
        (0.7, 4),
        (0.8, 4),
        (0.9, 5),
        (1.0, 5),
    ] {
        assert_eq!(i64::from(threshold_score(threshold)), score, "{threshold}");
    }
}
