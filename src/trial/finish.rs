//! Brings a trial to its end whose agent had ended when the harness died: graded from what was kept, no agent started.

use crate::plan::PlannedTrial;
use crate::trial::app_left;
use crate::trial::grading::Graded;
use crate::trial::judgement::{grade_of, reason_with};
use crate::trial::kept;
use crate::trial::regrade::grade_kept;
use crate::trial::simulator::give_back;
use crate::trial::stages::was_cut;
use crate::trial::trial_context::TrialContext;
use crate::trial::{ProgressSink, RunContext};
use proctor_model::{Infra, Progress, Verdict};
use proctor_record::{Row, Stage, StageMark};

/// The row of a trial with this last mark; nothing when its agent had not ended, or a person cancelled the grading, or the
/// machine kept graders from a tree.
pub async fn finish_trial(
    context: &RunContext,
    planned: &PlannedTrial,
    (teller, mark): (&ProgressSink, StageMark),
) -> Option<Row> {
    let mut row = mark.row?;
    let note = if mark.to_grade {
        let mut frame = TrialContext::new(context, planned, teller).finishing(&row);
        if let Some(task) = context.task(planned) {
            app_left::recall(&frame, (task, mark.app));
        }
        let graded = grade_kept(
            &frame,
            &frame.trial_dir,
            (&row, row.failure_reason.as_deref()),
        )
        .await;
        row.notes
            .get_or_insert_default()
            .extend(give_back(&mut frame).await);
        let cut = graded.as_ref().map_or(true, |it| was_cut(&it.verdicts));
        if context.cancel.level() > 0 && cut {
            return None;
        }
        if let Ok(graded) = &graded
            && graded.fault.is_some()
        {
            let why = graded.why().join("; ");
            let run_id = &row.run_id;
            teller.tell(Progress::Notice {
                text: format!("{run_id}: the machine had not what graders need ({why}); --resume grades what its agent left"),
            });
            return None;
        }
        judge(
            &mut row,
            graded.unwrap_or_else(|why| Graded::impossible(&why)),
        );
        prune(&frame, &mut row);
        "the run was over after the agent had ended; a later start graded what it had left"
    } else {
        "the harness died before it could write this row; a later start did"
    };
    row.notes.get_or_insert_default().push(note.to_owned());
    Some(row)
}

/// Drops what is over the limits of what is kept, once a mark says that it was graded.
fn prune(frame: &TrialContext<'_>, row: &mut Row) {
    let mark = StageMark {
        stage: Stage::Graded,
        to_grade: false,
        row: Some(row.clone()),
        app: None,
        trial_max_cost_usd: None,
    };
    let marked = frame.trial_dir.mark(&mark, &frame.context.redactor);
    let limits = &frame.context.suite.settings.limits;
    match marked.and_then(|()| kept::prune(&frame.trial_dir, limits)) {
        Ok(hit) => {
            let known = row.limits_hit.get_or_insert_default();
            known.extend(hit.into_iter().map(str::to_owned));
        }
        Err(error) => {
            let note = format!("changes.jsonl could not be cut: {error}");
            row.notes.get_or_insert_default().push(note);
        }
    }
}

/// What the graders say, put into a row that was made before they were asked.
fn judge(row: &mut Row, graded: Graded) {
    let verdicts: &[Verdict] = &graded.verdicts;
    let reason = reason_with(row.failure_reason.take(), verdicts);
    row.success = reason.is_none();
    let decided = row.infra.as_deref().unwrap_or(Infra::None.as_str()) != Infra::None.as_str();
    if !decided && verdicts.iter().any(Verdict::is_of_simulator) {
        row.infra = Some(Infra::Simulator.as_str().to_owned());
    }
    row.failure_reason = reason;
    let tree = graded.in_fresh_tree.then_some("fresh");
    row.take_verdicts(verdicts, (grade_of(verdicts).as_str(), tree));
    row.take_suites(graded.suites);
    row.take_layers(graded.layers);
    let mut integrity = row.integrity();
    integrity.extend(graded.reasons);
    row.take_integrity(&integrity);
    row.take_changes(&graded.facts);
    row.notes.get_or_insert_default().extend(graded.notes);
}
