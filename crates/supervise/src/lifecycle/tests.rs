//! Cases of the course of a child.

use super::*;

const fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn limits() -> Limits {
    Limits {
        hard: Some(s(100)),
        stall: Some(s(30)),
        grace: s(5),
        linger: s(10),
        drain: s(2),
        ..Limits::default()
    }
}

/// Looks once a second until the course is over, and tells what was done when.
fn acts(course: &mut Course<'_>, from: u64, exit_at: u64) -> Vec<(u64, Act)> {
    let mut acts = Vec::new();
    for second in from..1000 {
        if second == exit_at {
            course.exited(s(second));
        }
        acts.extend(course.due(s(second)).map(|act| (second, act)));
        if course.is_over() {
            break;
        }
    }
    acts
}

const NEVER: u64 = u64::MAX;

#[test]
fn a_silent_child_stalls_and_climbs_down_the_ladder() {
    let limits = limits();
    let mut course = Course::new(&limits);
    course.active(s(7));
    let expected = [(37, Act::Interrupt), (42, Act::Terminate), (47, Act::Kill)];
    assert_eq!(acts(&mut course, 0, NEVER), expected);
    assert_eq!(course.reason(), EndReason::Stalled);
}

#[test]
fn time_in_which_a_child_got_no_processor_is_no_stall() {
    let limits = Limits {
        silence: Some(s(50)),
        ..limits()
    };
    let mut course = Course::new(&limits);
    course.active(s(7));
    course.waited(s(10), s(37));
    assert_eq!((course.due(s(37)), course.due(s(46))), (None, None));
    course.waited(s(40), s(47));
    assert!(!course.looks_stalled(s(47)), "no more than there was");
    // The limit of silence knows no such time.
    course.waited(s(20), s(57));
    assert_eq!(course.due(s(57)), Some(Act::Interrupt));
    assert_eq!(course.reason(), EndReason::Stalled);
}

#[test]
fn a_chatty_child_meets_the_hard_limit_and_no_stall() {
    let limits = limits();
    let mut course = Course::new(&limits);
    for second in 0..100 {
        course.active(s(second));
        assert_eq!(course.due(s(second)), None);
    }
    assert_eq!(acts(&mut course, 100, 103), [(100, Act::Interrupt)]);
    assert_eq!(course.reason(), EndReason::HardTimeout);
}

#[test]
fn after_the_last_word_only_lingering_counts() {
    let limits = limits();
    let mut course = Course::new(&limits);
    course.finished(s(25));
    course.finished(s(34));
    assert_eq!(course.next(), Some(s(35)));
    assert_eq!(acts(&mut course, 25, 36), [(35, Act::Interrupt)]);
    assert_eq!(course.reason(), EndReason::Lingered);

    let mut course = Course::new(&limits);
    course.active(s(90));
    course.finished(s(98));
    assert_eq!(acts(&mut course, 98, 101), [(100, Act::Interrupt)]);
    assert_eq!(
        course.reason(),
        EndReason::Lingered,
        "it spoke its last word in time"
    );

    let mut course = Course::new(&limits);
    course.finished(s(25));
    assert_eq!(acts(&mut course, 25, 27), []);
    assert_eq!(course.reason(), EndReason::Exited);
}

#[test]
fn a_second_wish_to_stop_kills_at_any_stage() {
    let limits = limits();
    let mut course = Course::new(&limits);
    course.cancel(1);
    assert_eq!(course.due(s(1)), Some(Act::Interrupt));
    course.cancel(2);
    assert_eq!(course.due(s(2)), Some(Act::Kill));
    assert_eq!(course.reason(), EndReason::Cancelled);

    let mut course = Course::new(&limits);
    course.cancel(2);
    assert_eq!(course.due(s(1)), Some(Act::Kill));

    let mut course = Course::new(&limits);
    course.exited(s(1));
    course.cancel(2);
    assert_eq!(course.due(s(1)), None);
    assert!(course.is_over(), "no more draining");
}

#[test]
fn the_first_reason_stays() {
    let limits = limits();
    let mut course = Course::new(&limits);
    course.over_budget();
    assert_eq!(course.due(s(1)), Some(Act::Interrupt));
    course.cancel(1);
    course.finished(s(2));
    assert_eq!(acts(&mut course, 2, 8), [(6, Act::Terminate)]);
    assert_eq!(course.reason(), EndReason::OverBudget);
}
