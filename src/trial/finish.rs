//! Brings a trial to its end whose agent had ended when the harness died: graded from what was kept, no agent started.

use crate::model::Verdict;
use crate::plan::PlannedTrial;
use crate::record::{Row, StageMark};
use crate::trial::frame::Frame;
use crate::trial::grading::Graded;
use crate::trial::judgement::{grade_of, reason_with};
use crate::trial::regrade::grade_kept;
use crate::trial::{RunContext, Teller};

/// The row of a trial with this last mark; nothing when its agent had not ended, or a person cancelled the grading.
pub async fn finish_trial(
    context: &RunContext,
    planned: &PlannedTrial,
    (teller, mark): (&Teller, StageMark),
) -> Option<Row> {
    let mut row = mark.row?;
    let note = if mark.to_grade {
        let frame = Frame::new(context, planned, teller);
        let graded = grade_kept(&frame, &frame.trial_dir, &[]).await;
        if context.cancel.level() > 0 {
            return None;
        }
        judge(
            &mut row,
            graded.unwrap_or_else(|why| Graded::impossible(&why)),
        );
        "the harness died after the agent had ended; a later start graded what it had left"
    } else {
        "the harness died before it could write this row; a later start did"
    };
    row.notes.get_or_insert_default().push(note.to_owned());
    Some(row)
}

/// What the graders say, put into a row that was made before they were asked.
fn judge(row: &mut Row, graded: Graded) {
    let verdicts: &[Verdict] = &graded.verdicts;
    let reason = reason_with(row.failure_reason.take(), verdicts);
    row.success = reason.is_none();
    row.failure_reason = reason;
    let tree = graded.tree.map(crate::model::GradedIn::as_str);
    row.take_verdicts(verdicts, (grade_of(verdicts).as_str(), tree));
    row.notes.get_or_insert_default().extend(graded.notes);
}
