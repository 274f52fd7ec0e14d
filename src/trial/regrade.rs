//! Grades again what an agent left in an earlier trial, with today's graders and without any agent.

use std::time::{Duration, Instant};

use crate::model::{Grade, Verdict};
use crate::plan::PlannedTrial;
use crate::record::{TrialDir, read_changes};
use crate::trial::alone::{Work, graded_alone};
use crate::trial::frame::Frame;
use crate::trial::judgement::grade_of;
use crate::trial::{RunContext, Teller};

/// What today's graders say of an earlier trial.
#[derive(Debug, Clone)]
pub struct Regraded {
    /// The grade.
    pub grade: Grade,
    /// One per grader that ran.
    pub verdicts: Vec<Verdict>,
    /// Why nothing could be graded.
    pub problem: Option<String>,
    /// How long it took.
    pub took: Duration,
}

/// Builds the tree of `kept` anew (base, setup, what was kept of the agent's changes) and grades it; the logs go to `folder`.
pub async fn regrade_trial(
    context: &RunContext,
    planned: &PlannedTrial,
    (teller, kept, folder): (&Teller, &TrialDir, TrialDir),
) -> Regraded {
    let started = Instant::now();
    let frame = Frame::new(context, planned, teller).with_folder(folder);
    let judged = judged(&frame, kept).await;
    let (verdicts, problem) = match judged {
        Ok(verdicts) => (verdicts, None),
        Err(problem) => (Vec::new(), Some(problem)),
    };
    Regraded {
        grade: grade_of(&verdicts),
        verdicts,
        problem,
        took: started.elapsed(),
    }
}

async fn judged(frame: &Frame<'_>, kept: &TrialDir) -> Result<Vec<Verdict>, String> {
    let task = frame.context.task(frame.planned);
    let task = task.ok_or("a baseline is not graded")?;
    if !kept.changes().is_file() {
        return Err("the changes of this trial were not kept".to_owned());
    }
    let files = read_changes(kept).map_err(|error| error.to_string())?;
    graded_alone(frame, task, Work::Kept(&files)).await
}
