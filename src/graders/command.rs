//! `command`: any program that judges by its exit code, and by what it says.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::grade::{GradeContext, Opinion, PASS, error, fail};
use super::inside;
use crate::config::GraderSpec;
use crate::model::Grade;
use crate::record::write_file;
use crate::supervise::{
    CapturedOutput, ChildEnding, ChildSpec, EndReason, Exit, Limits, StdinPlan, capture,
};

/// Most bytes of each output stream that are looked at and logged.
const KEPT: usize = 4 << 20;

/// The options of one `command` grader.
struct Asked<'a> {
    argv: &'a [String],
    cwd: Option<&'a Path>,
    expected_exit: i32,
    timeout: Duration,
    expected_output: Option<&'a str>,
    forbidden_output: Option<&'a str>,
    env: &'a [(String, String)],
}

/// Runs the command and judges it. One that cannot be started for want of a program on the PATH is an error, as the agent
/// has no part in that; one that the workspace should hold, and does not, is a failure.
pub(super) async fn judge(spec: &GraderSpec, ctx: &GradeContext<'_>, log: &Path) -> Opinion {
    let Some(asked) = asked(spec, ctx.default_timeout) else {
        return error("not_a_command");
    };
    let Some(cwd) = folder(&asked, ctx) else {
        let cwd = asked.cwd.unwrap_or(Path::new("."));
        return fail(format!(
            "command_not_started:{} is not a folder of the workspace",
            cwd.display()
        ));
    };
    let child = child(&asked, ctx, cwd);
    let (ending, output) = capture(&child, KEPT, ctx.cancel).await;
    // A log that cannot be written is no reason to lose a verdict.
    write_file(log, &log_text(&child, &ending, &output)).ok();
    opinion(&asked, &ending, &output)
}

fn asked(spec: &GraderSpec, default_timeout: Duration) -> Option<Asked<'_>> {
    let GraderSpec::Command {
        argv,
        cwd,
        expected_exit,
        timeout,
        expected_output,
        forbidden_output,
        env,
    } = spec
    else {
        return None;
    };
    Some(Asked {
        argv,
        cwd: cwd.as_deref(),
        expected_exit: *expected_exit,
        timeout: timeout.unwrap_or(default_timeout),
        expected_output: expected_output.as_deref(),
        forbidden_output: forbidden_output.as_deref(),
        env,
    })
}

/// Where the command works: a real folder of the workspace, also if the agent put links in the way.
fn folder(asked: &Asked<'_>, ctx: &GradeContext<'_>) -> Option<PathBuf> {
    let cwd = asked.cwd.unwrap_or(Path::new(""));
    inside::resolve(ctx, cwd).filter(|folder| folder.is_dir())
}

fn child(asked: &Asked<'_>, ctx: &GradeContext<'_>, cwd: PathBuf) -> ChildSpec {
    let mut env = ctx.env.to_vec();
    for (name, value) in asked.env {
        env.retain(|(known, _)| known.as_os_str() != name.as_str());
        env.push((name.into(), filled(value, ctx)));
    }
    ChildSpec {
        argv: asked.argv.iter().map(|token| filled(token, ctx)).collect(),
        cwd,
        env,
        stdin: StdinPlan::Null,
        limits: Limits {
            hard: Some(asked.timeout),
            grace: ctx.grace,
            ..Limits::default()
        },
        stdout_to: None,
        stderr_to: None,
        activity_files: Vec::new(),
        marker: None,
        containment: ctx.containment.clone(),
    }
}

/// A token with `{WORKDIR}` (the project's folder) and `{REPO_ROOT}` (the work tree's root) filled in.
fn filled(token: &str, ctx: &GradeContext<'_>) -> OsString {
    let mut out = OsString::new();
    let mut rest = token;
    while let Some(place) = rest.find('{') {
        let (before, after) = rest.split_at(place);
        out.push(before);
        if let Some(tail) = after.strip_prefix("{WORKDIR}") {
            out.push(ctx.project_dir);
            rest = tail;
        } else if let Some(tail) = after.strip_prefix("{REPO_ROOT}") {
            out.push(ctx.root);
            rest = tail;
        } else {
            out.push("{");
            rest = &after[1..];
        }
    }
    out.push(rest);
    out
}

fn opinion(asked: &Asked<'_>, ending: &ChildEnding, output: &CapturedOutput) -> Opinion {
    match (ending.reason, ending.exit) {
        (EndReason::NotStarted, _) => not_started(asked, ending),
        (EndReason::Cancelled, _) => error("cancelled"),
        (EndReason::HardTimeout | EndReason::Stalled, _) => {
            (Grade::Timeout, Some("command_timeout".to_owned()))
        }
        (_, Some(Exit::Signal(signal))) => fail(format!("command_failed:signal={signal}")),
        (_, Some(Exit::Code(code))) if code != asked.expected_exit => {
            fail(format!("command_failed:exit={code}"))
        }
        (_, None) => error("command_not_ended"),
        _ if says(output, asked.expected_output) == Some(false)
            || says(output, asked.forbidden_output) == Some(true) =>
        {
            fail("command_output_mismatch")
        }
        _ => PASS,
    }
}

fn not_started(asked: &Asked<'_>, ending: &ChildEnding) -> Opinion {
    let why = ending.spawn_error.as_deref().unwrap_or("unknown");
    let reason = format!("command_not_started:{why}");
    let program = asked.argv.first().map_or("", String::as_str);
    let of_workspace = program.contains('/') && !program.starts_with('/')
        || program.starts_with("{WORKDIR}")
        || program.starts_with("{REPO_ROOT}");
    if of_workspace {
        fail(reason)
    } else {
        error(reason)
    }
}

/// Whether either stream holds `text`; `None` when nothing is asked.
fn says(output: &CapturedOutput, text: Option<&str>) -> Option<bool> {
    let text = text.filter(|text| !text.is_empty())?;
    let holds = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(text);
    Some(holds(&output.stdout) || holds(&output.stderr))
}

fn log_text(child: &ChildSpec, ending: &ChildEnding, output: &CapturedOutput) -> Vec<u8> {
    let words: Vec<_> = child
        .argv
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let mut text = format!(
        "$ {}\n# in {}\n",
        shell_words::join(words),
        child.cwd.display()
    )
    .into_bytes();
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        text.extend_from_slice(format!("# {name}, {} bytes\n", bytes.len()).as_bytes());
        text.extend_from_slice(bytes);
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            text.push(b'\n');
        }
    }
    let exit = ending
        .exit
        .map_or("none".to_owned(), |exit| format!("{exit:?}"));
    let cut = if output.truncated { ", output cut" } else { "" };
    let error = ending.spawn_error.as_deref().unwrap_or_default();
    let seconds = ending.wall.as_secs_f64();
    let end = format!(
        "# {:?}, exit {exit}, {seconds:.3} s{cut} {error}\n",
        ending.reason
    );
    text.extend_from_slice(end.as_bytes());
    text
}
