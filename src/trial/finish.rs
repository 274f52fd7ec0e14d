//! Brings a trial to its end whose agent had ended when the harness died: graded from what was kept, no agent started.

use crate::graders::of_simulator;
use crate::model::{Infra, Progress, Verdict};
use crate::plan::PlannedTrial;
use crate::record::{Row, StageMark};
use crate::trial::app_left;
use crate::trial::frame::Frame;
use crate::trial::grading::Graded;
use crate::trial::judgement::{grade_of, reason_with};
use crate::trial::regrade::grade_kept;
use crate::trial::simulator::give_back;
use crate::trial::stages::was_cut;
use crate::trial::{RunContext, Teller};

/// The row of a trial with this last mark; nothing when its agent had not ended, or a person cancelled the grading, or the
/// machine kept graders from a tree.
pub async fn finish_trial(
    context: &RunContext,
    planned: &PlannedTrial,
    (teller, mark): (&Teller, StageMark),
) -> Option<Row> {
    let mut row = mark.row?;
    let note = if mark.to_grade {
        let mut frame = Frame::new(context, planned, teller).finishing(&row);
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
            let why = graded.reasons().join("; ");
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
        "the run was over after the agent had ended; a later start graded what it had left"
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
    let decided = row.infra.as_deref().unwrap_or(Infra::None.as_str()) != Infra::None.as_str();
    if !decided && verdicts.iter().any(of_simulator) {
        row.infra = Some(Infra::Simulator.as_str().to_owned());
    }
    row.failure_reason = reason;
    let tree = graded.tree.map(crate::model::GradedIn::as_str);
    row.take_verdicts(verdicts, (grade_of(verdicts).as_str(), tree));
    row.take_suites(graded.suites);
    row.take_layers(graded.layers);
    let label = row.integrity.take().unwrap_or_default();
    row.integrity = Some(integrity(&label, graded.violations, graded.suspicions));
    row.notes.get_or_insert_default().extend(graded.notes);
}

/// Makes a row suspect for this reason.
pub fn suspect(row: &mut Row, why: &str) {
    let label = row.integrity.take().unwrap_or_default();
    row.integrity = Some(integrity(&label, Vec::new(), vec![why.to_owned()]));
}

/// The label of a row's `integrity` with further reasons: what is worse gives the word, all reasons stand.
fn integrity(label: &str, violations: Vec<String>, suspicions: Vec<String>) -> String {
    if label == "uncontained" || (violations.is_empty() && suspicions.is_empty()) {
        return label.to_owned();
    }
    let (before, reasons) = label.split_once('[').unwrap_or((label, ""));
    let reasons = reasons.trim_end_matches(']');
    let mut reasons: Vec<String> = reasons.split(';').map(str::to_owned).collect();
    reasons.retain(|reason| !reason.is_empty());
    let word = match before {
        "violated" => before,
        _ if !violations.is_empty() => "violated",
        _ => "suspect",
    };
    for reason in suspicions.into_iter().chain(violations) {
        // A row may be told again by each start.
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    format!("{word}[{}]", reasons.join(";"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_of_the_graders_stand_beside_those_of_the_agents_time() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        for (label, violations, suspicions, expected) in [
            ("clean", "", "", "clean"),
            ("suspect[a]", "", "", "suspect[a]"),
            ("clean", "", "s", "suspect[s]"),
            ("suspect[a;b]", "v", "s", "violated[a;b;s;v]"),
            ("uncontained", "v", "", "uncontained"),
        ] {
            let told = integrity(label, words(violations), words(suspicions));
            assert_eq!(told, expected);
        }
    }
}
