//! After the agent: grading what it left, measuring what it did, keeping both.

use std::fs;
use std::path::Path;

use crate::agents::ccusage_cost;
use crate::config::{AgentKind, TranscriptMode};
use crate::graders::{ForbiddenBaseline, GradeContext, grade};
use crate::metrics::{KnownCost, Tallied, cost};
use crate::model::{Cost, StreamReport};
use crate::record::{self, ChangedFile, McpCallLine, RecordError, ToolErrorLines, TrialClock};
use crate::shims::{ShimLog, read_log};
use crate::supervise::ChildEnding;
use crate::trial::draft::Draft;
use crate::trial::environment::program_path;
use crate::trial::frame::Frame;
use crate::trial::judgement::{self, AgentEnd};
use crate::trial::listener::HeardAll;
use crate::trial::preparation::Ready;
use crate::workspace::{ChangedPath, Manifest, Now, Workspace};

/// What the stages left for the judgement.
pub(super) struct Left<'a> {
    pub(super) end: &'a AgentEnd,
    pub(super) ready: &'a Ready,
    pub(super) baseline: Option<&'a ForbiddenBaseline>,
}

/// Keeps what the agent changed, as a patch and as the files themselves, for people and for cassettes.
pub(super) fn keep_changes(
    frame: &Frame<'_>,
    (workspace, untouched): (&Workspace, &Manifest),
    draft: &mut Draft,
) {
    let diff = match workspace.diff_against_base(Some(untouched)) {
        Ok(diff) => diff,
        Err(error) => return draft.note(format!("the changes could not be kept: {error}")),
    };
    let subdir = &frame.context.source.subdir;
    let files: Vec<ChangedFile> = diff
        .changed
        .into_iter()
        .map(|changed| changed_file(changed, subdir))
        .collect();
    let kept = record::write_changes(
        &frame.trial_dir,
        (&diff.bytes, &files),
        &frame.context.redactor,
    );
    if let Err(error) = kept {
        draft.note(format!("the changes could not be kept: {error}"));
    }
}

fn changed_file(changed: ChangedPath, subdir: &Path) -> ChangedFile {
    let inside = changed.path.strip_prefix(subdir);
    let path = match inside {
        Ok(path) => path.to_string_lossy().into_owned(),
        Err(_) => changed.path.to_string_lossy().into_owned(),
    };
    let elsewhere = inside
        .is_err()
        .then(|| "outside of the project's folder".to_owned());
    match (changed.now, elsewhere) {
        (Now::Removed, None) => ChangedFile {
            path,
            removed: true,
            ..ChangedFile::default()
        },
        (Now::File { bytes, executable }, None) => ChangedFile::of(path, bytes, executable),
        (Now::Link(target), None) => {
            let link = Some(String::from_utf8_lossy(&target).into_owned());
            ChangedFile {
                path,
                link,
                ..ChangedFile::default()
            }
        }
        (_, why) => {
            let omitted = why.or_else(|| Some("too large, or no regular file".to_owned()));
            ChangedFile {
                path,
                omitted,
                ..ChangedFile::default()
            }
        }
    }
}

/// Whether the disk is full now that the agent has ended: whatever it did or the graders would say is then decided by
/// that.
pub(super) fn disk_is_full(workspace: &Workspace, heard: &HeardAll) -> bool {
    /// A write that fails for want of room leaves less than this.
    const NOTHING: u64 = 1 << 20;
    let unwritten = heard.write_problem.as_ref();
    unwritten.is_some_and(RecordError::is_disk_full)
        || record::free_space(&workspace.root).is_ok_and(|free| free < NOTHING)
}

/// Grades what the agent left, unless something else than the agent decided the trial.
pub(super) async fn judge(
    frame: &Frame<'_>,
    workspace: &Workspace,
    left: Left<'_>,
) -> Vec<crate::model::Verdict> {
    let Some(task) = frame.context.task(frame.planned) else {
        return Vec::new();
    };
    if !judgement::worth_grading(left.end) {
        return Vec::new();
    }
    let environment: Vec<_> = frame
        .around(workspace)
        .for_harness(&left.ready.invocation.extra_args)
        .into_iter()
        .collect();
    let settings = &frame.context.suite.settings;
    grade(
        &task.graders,
        &GradeContext {
            root: &workspace.root,
            project_dir: &workspace.project_dir,
            subdir: &frame.context.source.subdir,
            baseline: left.baseline,
            env: &environment,
            logs: frame.trial_dir.root(),
            default_timeout: settings.grader_timeout,
            grace: settings.stop_grace,
            cancel: &frame.context.cancel,
        },
    )
    .await
}

/// Turns what was heard into numbers and writes the trial's logs.
pub(super) async fn measure(
    frame: &Frame<'_>,
    heard: HeardAll,
    ended: Ended<'_>,
    draft: &mut Draft,
) {
    if let Some(problem) = heard.write_problem {
        draft.note(problem.to_string());
    }
    let shims = read_log(&frame.trial_dir.cmd_log(), ended.ending.started_mono_ns).unwrap_or_else(
        |error| {
            draft.note(format!("read cmd_log.jsonl: {error}"));
            ShimLog::default()
        },
    );
    if shims.bad_lines > 0 {
        draft.suspect(format!("cmd_log_bad_lines={}", shims.bad_lines));
    }
    for tool in ended.ready.overlay.tampered() {
        draft.suspect(format!("shim_tampered:{tool}"));
    }
    if heard.report.spare_finals > 0 {
        draft.suspect(format!("final_events={}", heard.report.finals));
    }
    let agent = frame.context.agent(frame.planned);
    let mut tallied = heard.tally.finish(
        &shims.calls,
        agent.speaks().as_str(),
        frame.context.context_calls,
    );
    mcp_servers_own(frame, &mut tallied, draft);
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

/// Calls that an MCP server logged itself count where the agent's stream shows no MCP calls at all.
fn mcp_servers_own(frame: &Frame<'_>, tallied: &mut Tallied, draft: &mut Draft) {
    if tallied.measures.mcp_tool_calls > 0 {
        return;
    }
    let path = frame.mcp_server_log();
    match record::read_mcp_server_log(&path) {
        Ok(calls) => tallied.add_server_calls(&calls),
        Err(error) => draft.note(error.to_string()),
    }
}

fn write_tool_logs(
    frame: &Frame<'_>,
    tallied: &Tallied,
    clock: TrialClock,
) -> Result<(), RecordError> {
    let (trial, redactor) = (&frame.trial_dir, &frame.context.redactor);
    let classes: Vec<&str> = tallied.classes.iter().map(|class| class.as_str()).collect();
    let lines = ToolErrorLines {
        errors: &tallied.errors,
        classes: &classes,
        contexts: &tallied.contexts,
        totals: (
            tallied.measures.tool_error_total,
            tallied.measures.tool_error_mcp,
        ),
    };
    record::write_tool_errors(trial, lines, clock, redactor)?;
    let calls = tallied.mcp_calls.iter().map(|call| McpCallLine {
        at: call.at,
        server: &call.server,
        tool: &call.tool,
        arguments: &call.arguments,
    });
    record::write_mcp_tool_calls(trial, calls, clock, redactor)?;
    record::append_stream_calls(trial, &tallied.stream_only_calls, clock, redactor)
}

/// How the agent ended and what it was started with.
pub(super) struct Ended<'a> {
    pub(super) clock: TrialClock,
    pub(super) ending: &'a ChildEnding,
    pub(super) ready: &'a Ready,
}

async fn money(frame: &Frame<'_>, report: &StreamReport, ready: &Ready) -> Cost {
    let agent = frame.context.agent(frame.planned);
    let wants_ccusage =
        agent.kind == AgentKind::Codex && frame.context.suite.settings.use_ccusage_for_codex;
    let ccusage_usd = match (&ready.invocation.codex_home, wants_ccusage) {
        (Some(home), true) => {
            ccusage_cost(
                home,
                &program_path(&frame.context.base_env),
                &frame.context.cancel,
            )
            .await
        }
        _ => None,
    };
    cost(
        report.usage.as_ref(),
        report.cache_writes,
        agent.pricing.as_ref(),
        KnownCost {
            provider_usd: report.provider_cost_usd,
            ccusage_usd,
        },
    )
}

/// Removes known secrets from what other programs wrote into the trial's folder.
pub(super) fn scrub(frame: &Frame<'_>, draft: &mut Draft) {
    if frame.context.redactor.is_empty() {
        return;
    }
    let entries = fs::read_dir(frame.trial_dir.root()).into_iter().flatten();
    for entry in entries.flatten() {
        if let Err(error) = frame.context.redactor.redact_file(&entry.path()) {
            draft.note(format!("remove secrets: {error}"));
        }
    }
}
