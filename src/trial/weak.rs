//! Which graders a cheat satisfies that nothing alone does not: an agent that earns the others by work needs no more for these.

use crate::config::{GraderSpec, TaskSpec};
use crate::model::{Grade, Verdict};
use crate::trial::advice::{called, open_scripts, unasked_by};
use crate::trial::cheat::Cheat;
use crate::trial::frame::Frame;
use crate::trial::grading::Graded;

/// A grader that some cheats satisfy and nothing alone does not, in a task where others, or a word in their rows, keep them from passing unseen.
#[derive(Debug, Clone)]
pub struct Weak {
    /// Its number in the task's list, from 1.
    pub grader: usize,
    /// Its type.
    pub kind: String,
    /// The names of the cheats.
    pub cheats: Vec<&'static str>,
    /// All of this in a sentence, with what to do.
    pub told: String,
}

/// The numbers, from 1, of the graders that a cheat satisfies and nothing alone does not. None where the cheat is caught for
/// itself, by what lets untouched work pass or by a rule that it breaks: beside real work it would be caught as well.
pub(super) fn satisfied(untouched: &Graded, cheated: &Graded) -> Vec<usize> {
    let passes = |verdict: &Verdict| verdict.grade == Grade::Pass;
    // Nobody spoke, so that no grader waits for judges: all were asked in their order.
    let pairs = || untouched.verdicts.iter().zip(&cheated.verdicts);
    let objects = pairs().any(|(before, now)| passes(before) && !passes(now));
    let mut broken = cheated.violations.iter();
    if objects || broken.any(|rule| !untouched.violations.contains(rule)) {
        return Vec::new();
    }
    let fooled = pairs().zip(1..);
    let fooled = fooled.filter(|((before, now), _)| !passes(before) && passes(now));
    fooled.map(|(_, number)| number).collect()
}

/// The graders of a task that cheats satisfy, each with the cheats.
pub(super) fn weak(
    frame: &Frame<'_>,
    task: &TaskSpec,
    satisfied: &[(Cheat, Vec<usize>)],
) -> Vec<Weak> {
    let graders = task.graders.iter().zip(1..);
    let weak = graders.filter_map(|(spec, grader)| {
        let cheats = satisfied.iter().filter(|(_, of)| of.contains(&grader));
        let cheats: Vec<Cheat> = cheats.map(|(cheat, _)| *cheat).collect();
        let names: Vec<_> = cheats.iter().map(|cheat| cheat.as_str()).collect();
        let remedies = remedies(frame, task, (spec, grader, &cheats));
        (!cheats.is_empty()).then(|| Weak {
            grader,
            kind: spec.type_name().to_owned(),
            told: format!(
                "grader {grader}, {}, passes with {} and without any work it does not: who does the rest of the work gets it for nothing; {}",
                called(spec),
                names.join(", "),
                remedies.join("; ")
            ),
            cheats: names,
        })
    });
    weak.collect()
}

/// What to do against these cheats.
fn remedies(
    frame: &Frame<'_>,
    task: &TaskSpec,
    (spec, number, cheats): (&GraderSpec, usize, &[Cheat]),
) -> Vec<String> {
    let own = |cheat: &Cheat| {
        match cheat {
        Cheat::GraderScript => open_scripts(frame, task),
        Cheat::TestCommand => Some(
            "the rows of such agents are `suspect[test_config_changed:...]`: `protected` with the makefiles or `package.json` by which it runs keeps these, or let it run the tests without them (SETUP.md, Protected files)".to_owned(),
        ),
        Cheat::AlwaysEqual => unasked_by(number, spec),
        _ => None,
    }
    };
    let mut remedies: Vec<String> = cheats.iter().filter_map(own).collect();
    if remedies.len() < cheats.len() {
        remedies.push(
            "protect what a cheat changes, or ask for more than an exit code or that a file is there".to_owned(),
        );
    }
    remedies
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Verdicts by a letter each: `p`ass, `f`ail, `e`rror.
    fn graded(letters: &str, violations: &[&str]) -> Graded {
        let verdicts = letters.chars().map(|letter| Verdict {
            grader: "command".to_owned(),
            grade: match letter {
                'p' => Grade::Pass,
                'f' => Grade::Fail,
                _ => Grade::Error,
            },
            reason: None,
            duration: Duration::ZERO,
        });
        Graded {
            verdicts: verdicts.collect(),
            violations: violations.iter().map(|one| (*one).to_owned()).collect(),
            ..Graded::default()
        }
    }

    #[test]
    fn a_grader_is_weak_that_a_cheat_satisfies_and_nothing_alone_does_not() {
        for (untouched, cheated, weak) in [
            ("ff", "fp", vec![2]),
            ("fff", "pfp", vec![1, 3]),
            ("fe", "fp", vec![2]),
            ("ff", "ff", vec![]),
            // What passes without work asks for none.
            ("fp", "fp", vec![]),
            // Who forbids what the cheat does forbids it to everybody.
            ("pf", "fp", vec![]),
            ("ffp", "fpe", vec![]),
            // Nobody was asked.
            ("ff", "f", vec![]),
        ] {
            let found = satisfied(&graded(untouched, &[]), &graded(cheated, &[]));
            assert_eq!(found, weak, "{untouched} {cheated}");
        }
    }

    #[test]
    fn a_cheat_that_breaks_a_rule_satisfies_nobody() {
        let cheated = graded("fp", &["sentinel_passed:s"]);
        let nothing: [usize; 0] = [];
        assert_eq!(satisfied(&graded("ff", &[]), &cheated), nothing);
        let untouched = graded("ff", &["sentinel_passed:s"]);
        assert_eq!(satisfied(&untouched, &cheated), [2]);
    }
}
