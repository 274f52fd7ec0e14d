//! After the agent: grading what it left, measuring what it did, keeping both.

use std::fs;
use std::path::Path;

use crate::trial::egress;
use crate::trial::grading::{Graded, Told, Work, grade_fresh};
use crate::trial::judgement::{self, AgentEnd};
use crate::trial::kept;
use crate::trial::listener::HeardAll;
use crate::trial::money::money;
use crate::trial::outcome_builder::OutcomeBuilder;
use crate::trial::preparation::Ready;
use crate::trial::shim_cost;
use crate::trial::trial_context::TrialContext;
use crate::trial::unbuilt::workspace_fault;
use proctor_config::TranscriptMode;
use proctor_graders::ForbiddenBaseline;
use proctor_layers::Spent;
use proctor_metrics::{McpCallSeen, Tallied};
use proctor_model::path_text::to_text;
use proctor_model::{Grade, Infra, Reason, ReasonKind, Verdict};
use proctor_record::{
    self, McpCallLine, RecordError, Redactor, ToolErrorLines, TrialClock, TrialDir,
};
use proctor_shims::ShimLog;
use proctor_supervise::ChildEnding;
use proctor_workspace::{Captured, Noted, Workspace};

/// What the stages left for the judgement.
pub(super) struct Left<'a> {
    pub(super) end: &'a AgentEnd,
    /// Whether processes of the agent still run.
    pub(super) uncontained: bool,
    pub(super) ready: &'a Ready,
    pub(super) baseline: Option<&'a ForbiddenBaseline>,
    pub(super) captured: Result<Captured, String>,
    pub(super) spent: Spent,
    /// Why the trial is no success, whatever graders say.
    pub(super) decided: Option<String>,
}

/// What the agent left, and whether it is on disk.
pub(super) struct Caught {
    pub(super) captured: Result<Captured, String>,
    /// Whether a later start could grade it from what was kept.
    pub(super) kept: bool,
    /// What the machine lacked to look at it, or room to keep it.
    pub(super) fault: Option<Infra>,
}

/// Captures what the agent left, and keeps it for people, for cassettes and for grading it again.
pub(super) fn capture(
    frame: &TrialContext<'_>,
    (workspace, untouched): (&Workspace, &Noted),
    draft: &mut OutcomeBuilder,
) -> Caught {
    let captured = match workspace.capture(Some(untouched), &frame.counts()) {
        Ok(captured) => captured,
        Err(error) => {
            draft.note(format!("the changes could not be kept: {error}"));
            return Caught {
                fault: workspace_fault(&error),
                captured: Err(error.to_string()),
                kept: false,
            };
        }
    };
    draft.captured(&captured);
    let subdir = &frame.context.source.subdir;
    let redactor = &frame.context.redactor;
    let kept = kept::keep(&captured, (&frame.trial_dir, subdir), redactor);
    let caught = Caught {
        captured: Ok(captured),
        kept: kept.is_ok(),
        // Without a copy for later it can still be judged now, where there is room for that.
        fault: kept
            .as_ref()
            .is_err_and(RecordError::is_disk_full)
            .then_some(Infra::DiskFull),
    };
    if let Err(error) = kept {
        draft.note(format!("the changes could not be kept: {error}"));
    }
    caught
}

/// Drops what is over the limits of what is kept, now that it was graded and a mark says so.
pub(super) fn prune(frame: &TrialContext<'_>, draft: &mut OutcomeBuilder) {
    let limits = &frame.context.suite.settings.limits;
    match kept::prune(&frame.trial_dir, limits) {
        Ok(hit) => hit.into_iter().for_each(|limit| draft.hit(limit)),
        Err(error) => draft.note(format!("changes.jsonl could not be cut: {error}")),
    }
}

/// Whether graders that did not pass may have lacked room: then they have judged nothing.
pub(super) fn graders_lacked_room(frame: &TrialContext<'_>, graded: &Graded) -> bool {
    let passed = |verdict: &Verdict| verdict.grade == Grade::Pass;
    !graded.verdicts.iter().all(passed)
        && (is_full(frame.trial_dir.root()) || is_full(&frame.context.scratch))
}

/// Whether the disk is full now that the agent has ended: whatever it did or the graders would say is then decided by
/// that.
pub(super) fn disk_is_full(workspace: &Workspace, heard: &HeardAll) -> bool {
    let unwritten = heard.write_problem.as_ref();
    unwritten.is_some_and(RecordError::is_disk_full) || is_full(&workspace.root)
}

/// Whether the disk of a folder has no room left.
fn is_full(folder: &Path) -> bool {
    /// A write that fails for want of room leaves less than this.
    const NOTHING: u64 = 1 << 20;
    proctor_record::free_space(folder).is_ok_and(|free| free < NOTHING)
}

/// Grades what the agent left, unless something else than the agent decided the trial.
pub(super) async fn judge(
    frame: &TrialContext<'_>,
    slot: &mut Option<Workspace>,
    left: Left<'_>,
) -> Graded {
    let task = frame.context.task(frame.planned);
    let Some(task) = task.filter(|_| judgement::worth_grading(left.end)) else {
        return Graded::default();
    };
    if left.uncontained && !task.graders.is_empty() {
        return Graded::impossible(
            "processes of the agent still run, and nothing is judged beside them",
        );
    }
    let captured = match &left.captured {
        Ok(captured) => captured,
        Err(_) if task.graders.is_empty() => return Graded::default(),
        Err(problem) => return Graded::impossible(problem),
    };
    let work = Work {
        changed: &captured.changed,
        oversize: captured.oversize,
        baseline: left.baseline,
        extra_args: &left.ready.invocation.extra_args,
        told: Some(Told {
            dir: &frame.trial_dir,
            spent: left.spent,
            decided: left.decided.as_deref(),
        }),
    };
    let mut graded = grade_fresh(frame, task, (work, slot)).await;
    graded.notes.extend(left_behind(captured, &graded));
    graded
}

/// What graders did not see, where that may be why they did not pass.
fn left_behind(captured: &Captured, graded: &Graded) -> Option<String> {
    const TOLD: usize = 5;
    let passed = graded
        .verdicts
        .iter()
        .all(|verdict| verdict.grade == Grade::Pass);
    if passed || captured.ignored.is_empty() {
        return None;
    }
    let paths = captured.ignored.iter().take(TOLD);
    let paths: Vec<String> = paths.map(|one| to_text(&one.path)).collect();
    let more = captured.ignored.len().saturating_sub(TOLD);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    Some(format!(
        "not carried into the graders' tree (ignored by the base commit, or a cache): {}{more} (the task's `carry` names what should be)",
        paths.join(", ")
    ))
}

/// Turns what was heard into numbers and writes the trial's logs.
pub(super) async fn measure(
    frame: &TrialContext<'_>,
    mut heard: HeardAll,
    ended: Ended<'_>,
    draft: &mut OutcomeBuilder,
) {
    if let Some(problem) = heard.write_problem {
        draft.note(problem.to_string());
    }
    egress::tell(heard.door.take(), draft);
    let shims = shim_log(frame, &ended, draft).await;
    let found = heard.watch.finish(&shims.calls);
    found.notes.into_iter().for_each(|note| draft.note(note));
    found.reasons.into_iter().for_each(|why| draft.suspect(why));
    if heard.report.spare_finals > 0 {
        let finals = heard.report.finals.to_string();
        draft.suspect(Reason::about(ReasonKind::FinalEvents, finals));
    }
    let agent = frame.context.agent(frame.planned);
    let mut tallied = heard.tally.finish(&shims.calls, agent.speaks().as_str());
    mcp_servers_own(frame, ended.clock, (&mut tallied, draft));
    let cost = money(frame, &heard.report, ended.ready).await;
    if let Err(error) = write_tool_logs(frame, &tallied, ended.clock) {
        draft.note(error.to_string());
    }
    if frame.context.suite.settings.transcript_mode == TranscriptMode::Raw {
        let copied = fs::copy(frame.trial_dir.stdout_raw(), frame.trial_dir.transcript());
        if let Err(error) = copied {
            draft.note(format!("write transcript.txt: {error}"));
        }
    }
    draft.measured(heard.report, cost, tallied.measures);
}

/// What the shims told, and what was odd about it.
async fn shim_log(
    frame: &TrialContext<'_>,
    ended: &Ended<'_>,
    draft: &mut OutcomeBuilder,
) -> ShimLog {
    let overlay = &ended.ready.overlay;
    let shims = overlay
        .heard(ended.ending.started_mono_ns)
        .unwrap_or_else(|error| {
            draft.note(format!("read cmd_log.jsonl: {error}"));
            ShimLog::default()
        });
    for tool in overlay.tampered() {
        draft.suspect(Reason::about(ReasonKind::ShimTampered, tool));
    }
    let cost = if shims.calls.is_empty() {
        None
    } else {
        shim_cost::of_a_call(frame.context).await
    };
    draft.heard_shims(&shims, cost);
    shims
}

/// Calls that an MCP server logged itself count where the agent's stream shows no MCP calls at all.
fn mcp_servers_own(
    frame: &TrialContext<'_>,
    clock: TrialClock,
    (tallied, draft): (&mut Tallied, &mut OutcomeBuilder),
) {
    if tallied.measures.mcp_tool_calls > 0 {
        return;
    }
    let path = frame.mcp_server_log();
    match proctor_record::read_mcp_server_log(&path, frame.mcp_log_began, clock) {
        Ok(calls) => tallied.add_server_calls(calls),
        Err(error) => draft.note(error.to_string()),
    }
}

fn write_tool_logs(
    frame: &TrialContext<'_>,
    tallied: &Tallied,
    clock: TrialClock,
) -> Result<(), RecordError> {
    let (trial, redactor) = (&frame.trial_dir, &frame.context.redactor);
    let lines = ToolErrorLines {
        errors: || {
            let errors = tallied.errors.iter();
            errors.map(|error| error.map(|(error, class)| (error, class.as_str())))
        },
        totals: (
            tallied.measures.tool_error_total,
            tallied.measures.tool_error_mcp,
        ),
    };
    proctor_record::write_tool_errors(trial, &lines, clock, redactor)?;
    let line = |call: McpCallSeen| McpCallLine {
        at: call.at,
        server: call.server,
        tool: call.tool,
        arguments: call.arguments,
    };
    let calls = tallied.mcp_calls.iter().map(|call| call.map(line));
    proctor_record::write_mcp_tool_calls(trial, calls, clock, redactor)?;
    proctor_record::append_stream_calls(trial, &tallied.stream_only_calls, clock, redactor)
}

/// How the agent ended and what it was started with.
pub(super) struct Ended<'a> {
    pub(super) clock: TrialClock,
    pub(super) ending: &'a ChildEnding,
    pub(super) ready: &'a Ready,
}

/// Removes known secrets from what other programs wrote into the trial's folder.
pub(super) fn scrub(frame: &TrialContext<'_>, draft: &mut OutcomeBuilder) {
    for problem in scrub_folder(&frame.trial_dir, &frame.context.redactor) {
        draft.note(problem);
    }
}

/// The same for the folder of a trial that a killed harness could not scrub; tells what went wrong.
#[must_use]
pub fn scrub_folder(trial: &TrialDir, redactor: &Redactor) -> Vec<String> {
    if redactor.is_empty() {
        return Vec::new();
    }
    let entries = fs::read_dir(trial.root()).into_iter().flatten();
    let redacted = entries
        .flatten()
        .map(|entry| redactor.redact_file(&entry.path()));
    redacted
        .filter_map(Result::err)
        .map(|error| format!("remove secrets: {error}"))
        .collect()
}
