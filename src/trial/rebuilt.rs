//! Grading as `grader_env: workspace` asks when the tree that the agent left is gone: in one built from what was kept of it.

use crate::config::TaskSpec;
use crate::model::Grade;
use crate::trial::blocking::blocking;
use crate::trial::frame::Frame;
use crate::trial::grading::{Graded, Work, grade_in_place};
use crate::trial::ground::{furnish, vacate};
use crate::workspace::{Age, ChangedPath};

/// Grades `work` in a tree like the one that the agent left: every kept change is in it, nothing is put back, and the home is
/// the operator's. What the base commit ignores was not kept (`ignored`): without it a grader that does not pass has
/// judged nothing.
pub(super) async fn grade_rebuilt(
    frame: &Frame<'_>,
    task: &TaskSpec,
    (work, ignored): (Work<'_>, &[String]),
) -> Graded {
    if let Err(unbuilt) = vacate(frame) {
        return Graded::unbuilt(&unbuilt);
    }
    let parent = frame.context.scratch.join("g");
    let built = blocking(|| frame.context.template.prepare(&parent, &frame.short_name));
    let tree = match built {
        Ok(tree) => tree,
        Err(error) => return Graded::unbuilt(&error.into()),
    };
    let all: Vec<(&ChangedPath, Age)> = work.changed.iter().map(|one| (one, Age::Now)).collect();
    let mut graded = match furnish(frame, &tree, (task, work, &all)).await {
        Ok(baseline) => {
            let work = Work {
                baseline: work.baseline.or(baseline.as_ref()),
                ..work
            };
            let mut graded = grade_in_place(frame, task, (work, &tree)).await;
            graded.without(ignored);
            graded
        }
        Err(unbuilt) => Graded::unbuilt(&unbuilt),
    };
    graded.notes.extend(blocking(|| tree.discard()).problems);
    graded
}

impl Graded {
    /// Says what the graders could not have: a failure may be for want of it.
    fn without(&mut self, ignored: &[String]) {
        const TOLD: usize = 5;
        self.notes.push("the tree that the agent left is gone; graders worked in one built from what was kept of it".to_owned());
        let Some(last) = self.verdicts.last_mut() else {
            return;
        };
        if last.grade != Grade::Fail || ignored.is_empty() {
            return;
        }
        last.grade = Grade::Error;
        let reason = last.reason.take().unwrap_or_default();
        last.reason = Some(format!("workspace_gone:{reason}"));
        let named: Vec<&str> = ignored.iter().take(TOLD).map(String::as_str).collect();
        self.notes.push(format!(
            "not kept, since the base commit ignores it, and perhaps wanted by a grader: {}",
            named.join(", ")
        ));
    }
}
