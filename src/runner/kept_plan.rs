//! The plan that a run was started with, which a later start finishes or widens.

use std::path::{Path, PathBuf};

use crate::runner::RunError;
use crate::runner::request::run_to_resume;
use proctor_config::Filter;
use proctor_record::{PlanMetadata, RunMetadata};

/// Which part of a suite is to be run, and how often. What is not named is the suite's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MatrixRequest {
    /// Tasks, agents and scenarios.
    pub filter: Filter,
    /// Trials per cell.
    pub trials: Option<u32>,
    /// Baseline runs of each agent in each scenario.
    pub baselines: Option<u32>,
}

/// Why a run does not go on with what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanConflict {
    /// A flag names another part of the suite than the plan, or another number of trials.
    #[error("{flag} {asked} is not the plan of {}, which has {planned}", .run.display())]
    Differs {
        /// The run.
        run: PathBuf,
        /// The flag.
        flag: &'static str,
        /// What it asks for.
        asked: String,
        /// What the plan has instead.
        planned: String,
    },
    /// Fewer trials were asked for than are planned.
    #[error("--extend --trials {asked}: the plan of {} has {planned} trials per cell already", .run.display())]
    Shrinks {
        /// The run.
        run: PathBuf,
        /// Trials per cell that were asked for.
        asked: u32,
        /// Those of the plan.
        planned: u32,
    },
    /// Nothing says by what the plan is to be widened.
    #[error("--extend needs --trials, --task-ids, --agents or --scenarios")]
    NothingToAdd,
}

/// The matrix of the run at `path`: that of its plan, which `asked` must repeat or, where it may `extend` it, adds to. A run
/// without a known plan goes by what was asked.
///
/// # Errors
/// There is no run, or its plan is another one than was asked for.
pub fn resumed(path: &Path, asked: MatrixRequest, extend: bool) -> Result<MatrixRequest, RunError> {
    let run = run_to_resume(path)?;
    // What cannot be read is refused where the inputs are compared.
    let metadata = RunMetadata::read(&run).ok().flatten();
    let Some(plan) = metadata.and_then(|metadata| metadata.plan) else {
        return Ok(asked);
    };
    kept(path, &plan, asked, extend).map_err(RunError::Plan)
}

fn kept(
    run: &Path,
    plan: &PlanMetadata,
    asked: MatrixRequest,
    extend: bool,
) -> Result<MatrixRequest, PlanConflict> {
    if extend && asked == MatrixRequest::default() {
        return Err(PlanConflict::NothingToAdd);
    }
    let ids = |(flag, key): (&'static str, &str), asked: Vec<String>| {
        let planned = plan.filters.get(key).cloned().unwrap_or_default();
        let is_within = |some: &[String], all: &[String]| some.iter().all(|id| all.contains(id));
        if extend {
            // A plan of all has nothing to be added to.
            let added = if planned.is_empty() { vec![] } else { asked };
            return Ok([planned, added].concat());
        }
        if asked.is_empty() || (is_within(&asked, &planned) && is_within(&planned, &asked)) {
            return Ok(planned);
        }
        let all = || format!("all {}", key.replace('_', "-"));
        Err(PlanConflict::Differs {
            run: run.to_owned(),
            flag,
            asked: asked.join(" "),
            planned: if planned.is_empty() {
                all()
            } else {
                planned.join(", ")
            },
        })
    };
    let planned = plan.trials_per_cell;
    let trials = match asked.trials {
        Some(asked) if asked < planned && extend => {
            return Err(PlanConflict::Shrinks {
                run: run.to_owned(),
                asked,
                planned,
            });
        }
        Some(asked) if asked != planned && !extend => {
            return Err(PlanConflict::Differs {
                run: run.to_owned(),
                flag: "--trials",
                asked: asked.to_string(),
                planned: format!("{planned} per cell"),
            });
        }
        asked => asked.unwrap_or(planned),
    };
    Ok(MatrixRequest {
        filter: Filter {
            task_ids: ids(("--task-ids", "task_ids"), asked.filter.task_ids)?,
            agents: ids(("--agents", "agents"), asked.filter.agents)?,
            scenarios: ids(("--scenarios", "scenarios"), asked.filter.scenarios)?,
        },
        trials: Some(trials),
        baselines: plan.baselines_per_arm,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(tasks: &[&str], trials: Option<u32>) -> MatrixRequest {
        MatrixRequest {
            filter: Filter {
                task_ids: tasks.iter().map(|id| (*id).to_owned()).collect(),
                ..Filter::default()
            },
            trials,
            baselines: None,
        }
    }

    #[test]
    fn a_plan_is_kept_or_widened_and_never_exchanged() {
        let plan = PlanMetadata {
            trials_per_cell: 2,
            filters: [("task_ids".to_owned(), vec!["a".to_owned(), "b".to_owned()])].into(),
            ..PlanMetadata::default()
        };
        let kept = |tasks: &[&str], trials, extend| {
            let found = kept(Path::new("r"), &plan, asked(tasks, trials), extend);
            found.map(|it| (it.filter.task_ids.join(" "), it.trials.unwrap_or(0)))
        };
        let ok = |tasks: &str, trials| Ok((tasks.to_owned(), trials));
        assert_eq!(kept(&[], None, false), ok("a b", 2));
        assert_eq!(kept(&["b", "a"], Some(2), false), ok("a b", 2));
        assert_eq!(kept(&["c"], None, true), ok("a b c", 2));
        assert_eq!(kept(&[], Some(5), true), ok("a b", 5));
        for (tasks, trials, extend, words) in [
            (
                &["a"][..],
                None,
                false,
                "--task-ids a is not the plan of r, which has a, b",
            ),
            (
                &[],
                Some(5),
                false,
                "--trials 5 is not the plan of r, which has 2 per cell",
            ),
            (
                &[],
                Some(1),
                true,
                "the plan of r has 2 trials per cell already",
            ),
            (&[], None, true, "--extend needs --trials"),
        ] {
            let refused = kept(tasks, trials, extend).unwrap_err().to_string();
            assert!(refused.contains(words), "{refused}");
        }
    }
}
