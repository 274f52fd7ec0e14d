//! Recorded replies: never asked again, read as strictly, without keys.

use super::{KEY, anthropic, ask, saying};
use crate::config::ReplayMode;
use crate::judge::samples::{answer, reply};
use crate::layers::JudgeFailure;

#[tokio::test]
async fn a_key_that_a_server_throws_back_is_written_nowhere() {
    let (_, bench) = saying(|_, prompt| {
        reply(prompt, 5).replace("\"reason\":\"r\"", &format!("\"reason\":\"{KEY}\""))
    });
    bench.decide("hello").await.expect("a verdict");
    let recorded = bench.recorded();
    assert!(recorded.contains("[redacted:JUDGE_KEY]"), "{recorded}");
    assert!(!recorded.contains(KEY));
    let (_, bench) = anthropic(Box::new(|_, _, _, stream| {
        answer(
            stream,
            (401, ""),
            &format!("{{\"error\": \"bad key {KEY}\"}}"),
        );
    }));
    let failure = bench.decide("hello").await.expect_err("no verdict");
    assert!(!failure.to_string().contains(KEY), "{failure}");
    assert!(!format!("{:?}", bench.judges().recordings).contains(KEY));
}

#[tokio::test]
async fn what_is_recorded_is_never_asked_again() {
    let (scripted, mut bench) = saying(|_, prompt| reply(prompt, 4));
    bench.settings.samples = 2;
    let first = bench.decide("hello").await.expect("a verdict");
    assert_eq!(scripted.asked(), 2, "each sample is a request of its own");
    bench.settings.replay = ReplayMode::Only;
    let again = bench.decide("hello").await.expect("a verdict");
    assert_eq!(scripted.asked(), 2);
    assert!(again.given.iter().all(|given| given.replayed));
    assert_eq!((again.reply, again.cost_usd), (first.reply, first.cost_usd));
    let failure = bench
        .decide("another answer")
        .await
        .expect_err("no verdict");
    assert!(matches!(failure, JudgeFailure::Unasked(_)), "{failure}");
    assert_eq!(scripted.asked(), 2, "`only` asks nobody");
    bench.settings.replay = ReplayMode::Off;
    bench.decide("hello").await.expect("a verdict");
    assert_eq!(scripted.asked(), 4);
}

#[tokio::test]
async fn the_same_question_at_the_same_time_is_paid_once() {
    let (scripted, mut bench) = saying(|_, prompt| reply(prompt, 4));
    let judges = bench.judges();
    let (first, second) = tokio::join!(ask(&judges, "hello"), ask(&judges, "hello"));
    let given = [first, second].map(|it| it.expect("a verdict").given);
    assert_eq!(scripted.asked(), 1);
    assert_eq!(given.map(|it| it[0].replayed), [false, true]);
    let (first, second) = tokio::join!(ask(&judges, "well"), ask(&judges, "hm"));
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(scripted.asked(), 3, "other questions are their own");
    bench.settings.replay = ReplayMode::Off;
    let judges = bench.judges();
    let (first, second) = tokio::join!(ask(&judges, "hello"), ask(&judges, "hello"));
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(scripted.asked(), 5, "`off` asks always");
}

#[tokio::test]
async fn a_recording_that_was_cut_within_a_letter_hides_no_other() {
    let (scripted, bench) = saying(|_, prompt| reply(prompt, 2));
    bench.decide("hello").await.expect("a verdict");
    let path = bench.settings.recordings.clone().expect("a path");
    let mut bytes = bench.recorded().into_bytes();
    bytes.extend(b"{\"reply\":\"\xe2\x82");
    std::fs::write(&path, bytes).expect("the file");
    let judged = bench.decide("hello").await.expect("a verdict");
    assert!(judged.given[0].replayed);
    bench.decide("well").await.expect("a verdict");
    let judged = bench.decide("well").await.expect("a verdict");
    assert!(judged.given[0].replayed);
    assert_eq!(scripted.asked(), 2);
}

#[tokio::test]
async fn a_recording_that_was_cut_is_asked_again_and_a_forged_one_is_no_verdict() {
    let (scripted, bench) = saying(|_, prompt| reply(prompt, 2));
    bench.decide("hello").await.expect("a verdict");
    let path = bench.settings.recordings.clone().expect("a path");
    let whole = bench.recorded();
    std::fs::write(&path, &whole[..whole.len() - 20]).expect("the file");
    bench.decide("hello").await.expect("a verdict");
    assert_eq!(scripted.asked(), 2);
    assert_eq!(bench.recorded().lines().count(), 2, "the cut line stays");
    let forged = whole.replace(&fence_in(&whole), &"0".repeat(32));
    std::fs::write(&path, forged).expect("the file");
    let failure = bench.decide("hello").await.expect_err("no verdict");
    assert!(matches!(failure, JudgeFailure::Unreadable(_)), "{failure}");
}

fn fence_in(recorded: &str) -> String {
    let (_, rest) = recorded.split_once("fence\\\":\\\"").expect("a fence");
    rest[..32].to_owned()
}
