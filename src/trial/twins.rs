//! Twins: hidden tests that pass are run again in fresh trees, each time with secret ones of them wrong. Exactly the wrong ones must
//! fail. Code that decides the outcome inside of the test process does not know which ones are wrong.

use std::fs::File;
use std::io::{self, Read as _};

use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use crate::trial::grading::{GraderEnv, not_built};
use crate::trial::grading_tree::GradingTree;
use crate::trial::unbuilt::Unbuilt;
use proctor_config::{GraderSpec, TaskSpec, TwinEdit};
use proctor_graders::{GradeContext, Judged, Mixture, ask_alone};
use proctor_model::{Grade, Verdict};

/// Runs the twins of every grader that passed, and takes in what speaks against it.
///
/// # Errors
/// When the machine kept a tree from being built.
pub(super) async fn confirm(
    grounds: &mut GradingTree<'_>,
    (desk, task): (&GraderEnv<'_>, &TaskSpec),
    judged: &mut Judged,
) -> Result<(), Unbuilt> {
    for (place, verdict) in judged.places.iter().zip(&mut judged.verdicts) {
        let Some(spec) = task.graders.get(*place) else {
            continue;
        };
        if verdict.grade != Grade::Pass || spec.twin().is_empty() {
            continue;
        }
        let said = match Box::pin(one(grounds, (desk, task), (*place, spec))).await {
            Ok(said) => said,
            Err(unbuilt) if unbuilt.fault.is_some() => return Err(unbuilt),
            Err(unbuilt) => Some(not_built(&unbuilt.why)),
        };
        if let Some(against) = said {
            verdict.grade = against.grade;
            verdict.reason = against.reason;
            verdict.cause = against.cause;
        }
    }
    Ok(())
}

/// What speaks against a grader's pass; nothing where its twins fail as they must.
async fn one(
    grounds: &mut GradingTree<'_>,
    (desk, task): (&GraderEnv<'_>, &TaskSpec),
    (place, spec): (usize, &GraderSpec),
) -> Result<Option<Verdict>, Unbuilt> {
    let twin = spec.twin();
    let mut random = random().map_err(Unbuilt::by("read random bytes"))?;
    for (number, wrong) in draws((twin.len(), spec.twin_runs()), &mut random)
        .iter()
        .enumerate()
    {
        let (edits, others): (Vec<_>, Vec<_>) =
            twin.iter().zip(wrong).partition(|(_, wrong)| **wrong);
        let edits: Vec<&TwinEdit> = edits.into_iter().map(|(edit, _)| edit).collect();
        let tests = |of: &[&TwinEdit]| of.iter().map(|edit| edit.test.clone()).collect();
        let others: Vec<&TwinEdit> = others.into_iter().map(|(edit, _)| edit).collect();
        let mixture = Mixture {
            number: number + 1,
            wrong: tests(&edits),
            right: tests(&others),
        };
        grounds.renew_with(&edits).await?;
        let asking = |plain| GradeContext {
            mixture: Some(&mixture),
            ..plain
        };
        let verdict = asked(grounds, (desk, task), (place, &asking)).await?;
        if verdict.grade != Grade::Pass {
            return Ok(Some(verdict));
        }
    }
    Ok(None)
}

/// Asks one grader in the tree that is there, behind those whose tree it shares.
pub(super) async fn asked<'a>(
    grounds: &'a GradingTree<'_>,
    (desk, task): (&'a GraderEnv<'_>, &TaskSpec),
    (place, asking): (usize, &dyn Fn(GradeContext<'a>) -> GradeContext<'a>),
) -> Result<Verdict, Unbuilt> {
    let shares = |place: &usize| task.sharing.contains(place);
    let first = (0..=place).rev().find(|place| !shares(place)).unwrap_or(0);
    let (ground, baseline) = grounds.current()?;
    for before in first..place {
        let plain = desk.context(ground, baseline);
        Box::pin(ask_alone((before, &task.graders[before]), &plain)).await;
    }
    let asked = asking(desk.context(ground, baseline));
    Ok(Box::pin(ask_alone((place, &task.graders[place]), &asked)).await)
}

/// Which of so many tests are wrong in each run. Each test is drawn by itself: work that is right but for one test, and knows in each
/// run what became of all others, how many of them failed among it, knows nothing of that one.
fn draws((tests, runs): (usize, u32), random: &mut ChaCha20Rng) -> Vec<Vec<bool>> {
    // In how many ways a test is wrong in some of the runs and right in others: a guess about it is one of these.
    let all = (1_usize << runs).saturating_sub(2);
    let ways: Vec<usize> = (0..tests).map(|_| 1 + below(all, random)).collect();
    let run = |run: u32| ways.iter().map(|way| (way >> run) & 1 == 1).collect();
    (0..runs).map(run).collect()
}

/// A number below `end`, each as likely.
fn below(end: usize, random: &mut ChaCha20Rng) -> usize {
    let end = u64::try_from(end).unwrap_or(u64::MAX).max(1);
    let fair = u64::MAX - u64::MAX % end;
    loop {
        let drawn = random.next_u64();
        if drawn < fair {
            return usize::try_from(drawn % end).unwrap_or(0);
        }
    }
}

/// Random numbers that nobody can know ahead.
fn random() -> io::Result<ChaCha20Rng> {
    let mut seed = [0; 32];
    File::open("/dev/urandom")?.read_exact(&mut seed)?;
    Ok(ChaCha20Rng::from_seed(seed))
}

/// The text of a file with these edits made to it.
///
/// # Errors
/// When what an edit replaces is not there exactly once, or two edits meet.
pub(super) fn edited(mut text: String, edits: &[&&TwinEdit]) -> Result<String, String> {
    let mut places = Vec::new();
    for edit in edits {
        let mut found = text.match_indices(&edit.from);
        let (Some((place, _)), None) = (found.next(), found.next()) else {
            return Err(format!(
                "the twin of {} replaces {:?}, which {} does not hold exactly once",
                edit.test,
                edit.from,
                edit.file.display()
            ));
        };
        places.push((place, **edit));
    }
    places.sort_by_key(|(place, _)| std::cmp::Reverse(*place));
    let mut end = text.len();
    for (place, edit) in places {
        if place + edit.from.len() > end {
            return Err(format!(
                "the twin of {} replaces what another twin replaces",
                edit.test
            ));
        }
        text.replace_range(place..place + edit.from.len(), &edit.to);
        end = place;
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn edit(from: &str, to: &str) -> TwinEdit {
        TwinEdit {
            test: "t".to_owned(),
            file: PathBuf::from("f"),
            from: from.to_owned(),
            to: to.to_owned(),
        }
    }

    #[test]
    fn each_test_is_wrong_in_some_runs_and_right_in_others() {
        let mut random = ChaCha20Rng::from_seed([7; 32]);
        for tests in 1..40 {
            for runs in [2, 7] {
                let draws = draws((tests, runs), &mut random);
                assert_eq!(draws.len(), runs as usize);
                for test in 0..tests {
                    let wrong = draws.iter().filter(|wrong| wrong[test]).count();
                    assert!((1..draws.len()).contains(&wrong), "{tests}: {wrong}");
                }
            }
        }
    }

    /// What work may know in each run that is right but for its first test: what became of the others.
    #[test]
    fn guessing_is_right_less_than_once_in_a_hundred() {
        type Guess = fn(&[bool]) -> bool;
        let guesses: [(&str, Guess); 4] = [
            ("as its neighbour", |others| others[0]),
            ("unlike its neighbour", |others| !others[0]),
            ("the rest of a half", |others| {
                others.iter().filter(|wrong| **wrong).count() < others.len().div_ceil(2)
            }),
            ("wrong as soon as another is", |others| {
                others.contains(&true)
            }),
        ];
        let mut random = ChaCha20Rng::from_seed([3; 32]);
        for (name, guess) in guesses {
            for tests in [2, 3, 8] {
                let goes = 10_000_u32;
                let is_right = |_: &u32| {
                    let draws = draws((tests, 7), &mut random);
                    draws.iter().all(|wrong| wrong[0] == guess(&wrong[1..]))
                };
                let right = (0..goes).filter(is_right).count();
                assert!(right < 100, "{name}, {tests}: {right} of {goes}");
            }
        }
    }

    #[test]
    fn an_edit_replaces_what_is_there_exactly_once() {
        let text = || "assert f(1) == 2\nassert f(2) == 3\n".to_owned();
        let (one, two) = (
            edit("f(1) == 2", "f(1) == 5"),
            edit("f(2) == 3", "f(2) == 7"),
        );
        assert_eq!(
            edited(text(), &[&&two, &&one]).unwrap(),
            "assert f(1) == 5\nassert f(2) == 7\n"
        );
        for (edits, problem) in [
            (vec![edit("f(3)", "f(4)")], "exactly once"),
            (vec![edit("assert", "assume")], "exactly once"),
            (
                vec![one.clone(), edit("1) == 2\n", "1) == 9\n")],
                "another twin",
            ),
        ] {
            let edits: Vec<&TwinEdit> = edits.iter().collect();
            let edits: Vec<&&TwinEdit> = edits.iter().collect();
            let told = edited(text(), &edits).unwrap_err();
            assert!(told.contains(problem), "{told}");
        }
    }
}
