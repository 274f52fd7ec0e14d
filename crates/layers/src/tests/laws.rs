//! Laws of any two sequences.

use proptest::prelude::*;

use super::*;

fn tools() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d"]), 0..12)
}

/// The longest common subsequence, by its definition.
fn longest(left: &[&str], right: &[&str]) -> u32 {
    match (left.split_first(), right.split_first()) {
        (Some((one, left_rest)), Some((other, right_rest))) if one == other => {
            1 + longest(left_rest, right_rest)
        }
        (Some((_, left_rest)), Some((_, right_rest))) => {
            longest(left_rest, right).max(longest(left, right_rest))
        }
        _ => 0,
    }
}

proptest! {
    #[test]
    fn similarities_are_shares_that_do_not_depend_on_the_side(left in tools(), right in tools()) {
        for figure in [sequence_lcs, sequence_edit] {
            let value = figure(&left, &right);
            prop_assert!((0.0..=1.0).contains(&value));
            prop_assert!((value - figure(&right, &left)).abs() < 1e-15);
            prop_assert_eq!(value >= 1.0, left == right);
        }
    }

    #[test]
    fn the_longest_common_subsequence_is_the_longest(left in tools(), right in tools()) {
        let total = u32::try_from(left.len() + right.len()).expect("short lists");
        prop_assume!(total > 0);
        let expected = f64::from(2 * longest(&left, &right)) / f64::from(total);
        prop_assert!((sequence_lcs(&left, &right) - expected).abs() < 1e-12);
    }

    #[test]
    fn strict_is_the_strongest_and_both_sides_together_are_unordered(left in tools(), right in tools()) {
        let holds = |mode: MatchMode| mode.holds(&left, &right);
        prop_assert!(!holds(MatchMode::Strict) || holds(MatchMode::Unordered));
        prop_assert_eq!(holds(MatchMode::Unordered), holds(MatchMode::Subset) && holds(MatchMode::Superset));
    }

    #[test]
    fn no_text_panics_as_a_pattern(text in "[-a-z\\\\()\\[\\]{}?*+|^$.:=!<>PQ0-9,#& ]{0,24}") {
        if let Ok(pattern) = Pattern::new(&text) {
            let _answer = pattern.found_in("abc 123");
        }
    }
}
