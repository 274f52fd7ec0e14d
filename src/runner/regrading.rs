//! Grades a run again: what the agents left, by today's graders, without paying an agent.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedSender;

use crate::plan::PlannedTrial;
use crate::runner::preflight::{clean_up, preflight};
use crate::runner::request::now_stamp;
use crate::runner::secrets::{forgotten, redactor};
use crate::runner::{RunError, RunRequest};
use crate::trial::{ProgressSink, Regraded, ToRegrade, regrade_trial};
use proctor_model::{Grade, Progress, Verdict};
use proctor_record::{Row, RunDir, rows, write_atomically};
use proctor_supervise::Cancel;

/// One trial, before and after.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The trial.
    pub run_id: String,
    /// Its task.
    pub task: String,
    /// Whether it was a success.
    pub was_success: bool,
    /// Why not.
    pub was_reason: Option<String>,
    /// Its grade.
    pub was_grade: Option<String>,
    /// How its layers had ended: answer, path, budget.
    pub was_layers: [Option<String>; 3],
    /// What today's graders say.
    pub now: Regraded,
    /// Whether it would be a success today; unknown where it could not be graded.
    pub is_success: Option<bool>,
}

impl Comparison {
    /// Whether today's graders say something else, or can say nothing of what was graded before.
    #[must_use]
    pub fn changed(&self) -> bool {
        self.is_success != Some(self.was_success)
            || self.was_grade.as_deref() != Some(self.now.grade.as_str())
    }

    /// Whether what was graded before cannot be graded today, so that nothing is known of it.
    #[must_use]
    pub const fn is_ungraded(&self) -> bool {
        self.now.problem.is_some()
    }

    /// Which layers end otherwise today: `path pass -> warn`.
    #[must_use]
    pub fn layer_changes(&self) -> Vec<String> {
        let Some(layers) = self.now.layers.as_ref() else {
            return Vec::new();
        };
        let now = [&layers.answer, &layers.path, &layers.budget];
        let pairs = self.was_layers.iter().zip(now);
        let pairs = ["answer", "path", "budget"].into_iter().zip(pairs);
        let word = |status: &Option<String>| status.clone().unwrap_or_else(|| "none".to_owned());
        let changed = pairs.filter(|(_, (was, now))| was != now);
        changed
            .map(|(name, (was, now))| format!("{name} {} -> {}", word(was), word(now)))
            .collect()
    }

    /// The checks that judges decided, each with how far the judge is known; nothing where none was asked.
    #[must_use]
    pub fn judged(&self) -> Option<&[String]> {
        let layers = self.now.layers.as_ref();
        let asked = layers.filter(|it| it.judges_asked);
        asked.map(|it| it.judges.as_slice())
    }

    /// What it tells beside its grade: layers that end otherwise, and who judged.
    #[must_use]
    pub fn aside(&self) -> String {
        let mut told = self.layer_changes();
        told.extend(self.judged().unwrap_or_default().iter().cloned());
        if told.is_empty() {
            return String::new();
        }
        format!(" ({})", told.join("; "))
    }

    /// Why it is no success today.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let now = &self.now;
        now.problem.clone().or_else(|| now.reason.clone())
    }
}

/// What a regrading found.
#[derive(Debug, Clone)]
pub struct Regrading {
    /// The graded trials, in the journal's order.
    pub trials: Vec<Comparison>,
    /// Rows that were left out, by why.
    pub left_out: BTreeMap<&'static str, usize>,
    /// The file that holds all of it.
    pub kept_in: std::path::PathBuf,
}

/// Grades every trial of `run_dir` that was graded before and belongs to the request's suite. The journal stays as it is.
///
/// # Errors
/// The run cannot be read, or the project's files cannot be had.
pub async fn regrade(
    request: RunRequest,
    run_dir: RunDir,
    sender: UnboundedSender<Progress>,
    cancel: Cancel,
) -> Result<Regrading, RunError> {
    let progress = ProgressSink::new(sender, redactor(&request.suite));
    let _lock = run_dir
        .lock()
        .map_err(|error| RunError::at("lock the run", &error))?;
    let (chosen, left_out) = choose(&request, &run_dir)?;
    let stamp = free_stamp(&run_dir);
    let ready = preflight(&request, run_dir, cancel).await?;
    if let Some(text) = forgotten(&ready.context.run_dir, &ready.context.redactor) {
        progress.report(Progress::Warning { text });
    }
    let mut trials = Vec::new();
    for (row, planned) in chosen {
        if ready.context.cancel.level() > 0 {
            break;
        }
        let again = ToRegrade {
            planned: &planned,
            row: &row,
            logs: ready.context.run_dir.regraded_trial(&stamp, &row.run_id),
        };
        let now = regrade_trial(&ready.context, again, &progress).await;
        let comparison = compare(&row, now);
        // What a person cut short is no verdict.
        if ready.context.cancel.level() > 0 {
            break;
        }
        progress.report(Progress::Notice {
            text: summary(&comparison),
        });
        trials.push(comparison);
    }
    // Only a trial that is graded makes the folder.
    let folder = ready.context.run_dir.regrades();
    std::fs::create_dir_all(&folder)
        .map_err(|error| RunError::at("make the folder of regradings", &error))?;
    let kept_in = folder.join(format!("{stamp}.jsonl"));
    let lines: String = trials.iter().map(line).collect();
    write_atomically(&kept_in, lines.as_bytes())
        .map_err(|error| RunError::at("write the regrading", &error))?;
    drop(clean_up(ready.context, ready.scratch));
    Ok(Regrading {
        trials,
        left_out,
        kept_in,
    })
}

/// A name for this regrading that none before it has: the time, where that is taken with `_2` and so on.
fn free_stamp(run_dir: &RunDir) -> String {
    let now = now_stamp();
    let folder = run_dir.regrades();
    let is_free = |stamp: &String| {
        let kept = folder.join(format!("{stamp}.jsonl"));
        !kept.exists() && !folder.join(stamp).exists()
    };
    let further = (2_u32..).map(|number| format!("{now}_{number}"));
    let mut names = std::iter::once(now.clone()).chain(further);
    names.find(is_free).unwrap_or(now)
}

/// The rows to grade, each with its place in the suite, and how many were left out for what.
type Chosen = (Vec<(Row, PlannedTrial)>, BTreeMap<&'static str, usize>);

fn choose(request: &RunRequest, run_dir: &RunDir) -> Result<Chosen, RunError> {
    if !run_dir.runs_jsonl().exists() && run_dir.reference_checks_jsonl().exists() {
        return Err(RunError::Project(format!(
            "{} holds checks of reference patches (`proctor validate`) and no trial, so there is nothing to grade again",
            run_dir.root().display()
        )));
    }
    let read =
        rows(&run_dir.runs_jsonl()).map_err(|error| RunError::at("read the journal", &error))?;
    let mut left_out: BTreeMap<&'static str, usize> = BTreeMap::new();
    // A row that tells a trial again stands in the place of the first.
    let (mut told, mut places) = (Vec::new(), HashMap::new());
    for row in read {
        let row = match row {
            Ok(row) => row,
            Err(problem) if problem.newer => {
                let what = format!("read {}", run_dir.runs_jsonl().display());
                return Err(RunError::at(what, &problem));
            }
            Err(_) => {
                *left_out.entry("the line is no row").or_default() += 1;
                continue;
            }
        };
        if row.baseline_run {
            continue;
        }
        let place = *places.entry(row.key()).or_insert(told.len());
        if place == told.len() {
            told.push(row);
        } else {
            told[place] = row;
        }
    }
    let mut chosen = Vec::new();
    for row in told {
        match place(request, &row) {
            Ok(planned) => chosen.push((row, planned)),
            Err(why) => *left_out.entry(why).or_default() += 1,
        }
    }
    Ok((chosen, left_out))
}

fn place(request: &RunRequest, row: &Row) -> Result<PlannedTrial, &'static str> {
    let suite = &request.suite;
    let not_graded = Grade::NotGraded.as_str();
    if row.grade.as_deref().is_none_or(|grade| grade == not_graded) {
        return Err("it was not graded");
    }
    if row.integrity().uncontained {
        return Err("processes of its agent could not be ended, so nothing that it left is judged");
    }
    let position = |found: Option<usize>, why| found.ok_or(why);
    let task = suite
        .tasks
        .iter()
        .position(|task| task.id.as_str() == row.task_id);
    let agent = suite
        .agents
        .iter()
        .position(|agent| agent.id.as_str() == row.agent_id);
    let scenario = suite
        .scenarios
        .iter()
        .position(|scenario| scenario.id.as_str() == row.scenario);
    Ok(PlannedTrial {
        key: row.key(),
        agent: position(agent, "its agent is not in the suite, or was not asked for")?,
        scenario: position(
            scenario,
            "its scenario is not in the suite, or was not asked for",
        )?,
        task: Some(position(
            task,
            "its task is not in the suite, or was not asked for",
        )?),
    })
}

fn compare(row: &Row, now: Regraded) -> Comparison {
    let is_success = now.problem.is_none().then(|| now.reason.is_none());
    Comparison {
        run_id: row.run_id.clone(),
        task: row.task_id.clone(),
        was_success: row.success,
        was_reason: row.failure_reason.clone(),
        was_grade: row.grade.clone(),
        was_layers: [
            row.answer_layer.clone(),
            row.path_layer.clone(),
            row.budget_layer.clone(),
        ],
        now,
        is_success,
    }
}

fn summary(comparison: &Comparison) -> String {
    let reason = comparison
        .reason()
        .map(|reason| format!("  {reason}"))
        .unwrap_or_default();
    let word = match (comparison.is_ungraded(), comparison.changed()) {
        (true, _) => "lost   ",
        (_, true) => "changed",
        _ => "same   ",
    };
    format!(
        "{word}  {}  {}{reason}{}",
        comparison.run_id,
        comparison.now.grade.as_str(),
        comparison.aside()
    )
}

fn line(comparison: &Comparison) -> String {
    let verdicts = |verdicts: &[Verdict]| -> Vec<Value> {
        let each = verdicts.iter().map(|verdict| {
            json!({"type": verdict.grader, "ok": verdict.grade == Grade::Pass, "reason": verdict.reason,
                   "duration_sec": verdict.duration.as_secs_f64()})
        });
        each.collect()
    };
    let value = json!({
        "run_id": comparison.run_id,
        "task_id": comparison.task,
        "changed": comparison.changed(),
        "layer_changes": comparison.layer_changes(),
        "before": {"success": comparison.was_success, "grade": comparison.was_grade, "failure_reason": comparison.was_reason},
        "after": {"success": comparison.is_success, "grade": comparison.now.grade.as_str(),
                  "failure_reason": comparison.reason(), "grader_results": verdicts(&comparison.now.verdicts)},
        "layers": comparison.now.layers.as_ref().map(|it| json!({
            "answer": it.answer, "path": it.path, "budget": it.budget, "findings": it.findings,
            "baseline": it.baseline, "judged": it.judges_asked.then_some(&it.judges), "judge_cost_usd": it.judge_cost_usd,
        })),
        "integrity": comparison.now.integrity.label(),
        "notes": comparison.now.notes,
        "duration_sec": comparison.now.took.as_secs_f64(),
    });
    format!("{value}\n")
}
