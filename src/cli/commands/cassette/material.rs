//! What a trial's folder holds of how it went.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cli::commands::cassette::LONGEST_FILE;
use crate::cli::commands::cassette::changes::changes;
use crate::cli::commands::cassette::ending::end;
use crate::cli::commands::cassette::times::line_times;
use crate::cli::failure::{Failure, Kind, Outcome};
use proctor_cassette::{FileChange, Header, Recording};
use proctor_config::AgentKind;
use proctor_model::{AgentEvent, CommandCall};
use proctor_record::{Row, RunDir, TrialDir, read_events, rows};
use proctor_shims::read_log;

/// All that a cassette is made of.
pub(super) struct Material {
    row: Row,
    plays: AgentKind,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    line_times: Vec<Duration>,
    changes: Vec<FileChange>,
    left_out: Vec<String>,
    calls: Vec<CommandCall>,
    workdir: Option<PathBuf>,
}

impl Material {
    /// Reads a trial's folder and its row.
    ///
    /// # Errors
    /// It is no folder of a finished trial, or its raw output is not there.
    pub(super) fn read(folder: &Path) -> Outcome<Self> {
        let (trial, row) = finished_trial(folder)?;
        let output = bytes(&trial.stdout_raw());
        let never_ran = row.schema > 0
            && row.exit_code.is_none()
            && matches!(&output, Err(error) if error.kind() == io::ErrorKind::NotFound);
        let output = if never_ran { Ok(Vec::new()) } else { output };
        let stdout = output.map_err(|error| {
            let failure = Failure::at(
                "read the agent's output",
                format_args!("{}: {error}", trial.stdout_raw().display()),
            );
            failure.hint("only trials that proctor itself ran can be turned into cassettes")
        })?;
        let events = events(&trial);
        let started = events.as_ref().map_or(0, |(started, _)| *started);
        let plays = plays(&row, &stdout);
        let (changes, mut left_out) = changes(&trial)?;
        if never_ran {
            left_out.push("its agent never ran: the cassette ends with 1 at once".to_owned());
        }
        Ok(Self {
            line_times: line_times(
                plays,
                &stdout,
                &events.map(|(_, events)| events).unwrap_or_default(),
                spoke_until(&row),
            ),
            stderr: bytes(&trial.stderr_raw()).unwrap_or_default(),
            changes,
            left_out,
            calls: calls(&trial, started)?,
            workdir: workdir(&trial, &stdout),
            row,
            plays,
            stdout,
        })
    }

    /// What of the agent's work the cassette does not hold, a sentence each.
    pub(super) fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// What the recorder takes.
    pub(super) fn recording(&self, note: Option<String>) -> Recording<'_> {
        let wall = self
            .row
            .wall_time_sec
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        Recording {
            header: Header {
                plays: self.plays,
                recorded: self
                    .row
                    .ts_start
                    .as_deref()
                    .and_then(|stamp| stamp.get(..10))
                    .map(str::to_owned),
                note: note.or_else(|| Some(self.row.run_id.clone())),
                duration_ms: wall.and_then(|wall| u64::try_from(wall.as_millis()).ok()),
            },
            stdout: &self.stdout,
            line_times: &self.line_times,
            stderr: &self.stderr,
            changes: &self.changes,
            calls: &self.calls,
            workdir: self.workdir.as_deref(),
            end: end(&self.row),
        }
    }
}

fn finished_trial(folder: &Path) -> Outcome<(TrialDir, Row)> {
    let refused = |why: &str| {
        Failure::new(Kind::Usage, format!("{}: {why}", folder.display())).hint(
            "name a folder like runs/20261120_101500/trials/claude-shell_primed-login-trial-000",
        )
    };
    let absolute = folder
        .canonicalize()
        .map_err(|error| refused(&error.to_string()))?;
    let name = absolute
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
        .to_owned();
    let run = absolute
        .parent()
        .and_then(Path::parent)
        .ok_or_else(|| refused("is no folder of a trial"))?;
    let run_dir = RunDir::open(run).map_err(|error| refused(&error.to_string()))?;
    let trial = run_dir
        .recorded_trial(&name)
        .ok_or_else(|| refused("is no folder of a trial"))?;
    let all = rows(&run_dir.runs_jsonl())
        .map_err(|error| refused(&format!("is no folder of a trial: {error}")))?;
    // A later row tells it again.
    let its = all.filter_map(|row| row.ok().filter(|row| row.run_id == name));
    match its.last() {
        Some(row) => Ok((trial, row)),
        None => Err(refused(
            "the trial has no row in runs.jsonl: it has not ended",
        )),
    }
}

/// Bytes of a regular file of the run directory.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let found = fs::symlink_metadata(path)?;
    if !found.is_file() || found.len() > LONGEST_FILE {
        return Err(io::Error::other("is no regular file, or too large"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(LONGEST_FILE)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// When the agent was started on the monotonic clock, and what it said; a log that is not there costs only times.
fn events(trial: &TrialDir) -> Option<(u64, Vec<AgentEvent>)> {
    let reader = read_events(&trial.events()).ok()?;
    let started = reader.header().started_mono_ns;
    Some((started, reader.filter_map(Result::ok).collect()))
}

/// When an agent that ran into its hard limit, and into no limit of silence, said its last.
fn spoke_until(row: &Row) -> Option<Duration> {
    let hard = row.termination.as_deref() == Some("hard_timeout");
    let wall = row.wall_time_sec.filter(|_| hard)?;
    Duration::try_from_secs_f64(wall).ok()
}

/// Whose format the output is in. The row of a played trial does not say it, the output does.
fn plays(row: &Row, stdout: &[u8]) -> AgentKind {
    let recorded = row.agent_kind.as_deref();
    let known = AgentKind::ALL
        .into_iter()
        .find(|kind| Some(kind.as_str()) == recorded);
    match known {
        Some(kind) if kind != AgentKind::Replay => kind,
        _ if holds(stdout, br#""type":"thread.started""#) => AgentKind::Codex,
        _ if holds(stdout, br#""qwen_code_version":"#) => AgentKind::Qwen,
        _ if holds(stdout, br#""type":"system""#) => AgentKind::ClaudeCode,
        _ if holds(stdout, br#""type":"init""#) => AgentKind::Gemini,
        _ if holds(stdout, br#""type":"step_start""#) => AgentKind::Opencode,
        _ if holds(stdout, br#""type":"session.mcp_"#) => AgentKind::Copilot,
        _ => AgentKind::Command,
    }
}

/// Whether one of the first lines holds `words`.
fn holds(stdout: &[u8], words: &[u8]) -> bool {
    let mut lines = stdout.split(|byte| *byte == b'\n').take(5);
    lines.any(|line| line.windows(words.len()).any(|part| part == words))
}

fn calls(trial: &TrialDir, started_mono_ns: u64) -> Outcome<Vec<CommandCall>> {
    let path = trial.cmd_log();
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let log = read_log(&path, started_mono_ns)
        .map_err(|error| Failure::at(format_args!("read {}", path.display()), error))?;
    Ok(log.calls)
}

/// The folder that the agent worked in, as far as it was told.
fn workdir(trial: &TrialDir, stdout: &[u8]) -> Option<PathBuf> {
    let told = |value: serde_json::Value| {
        let folder = value
            .get("workdir")
            .or_else(|| value.get("cwd"))?
            .as_str()?;
        folder.starts_with('/').then(|| PathBuf::from(folder))
    };
    let invocation = bytes(&trial.invocation()).ok();
    let invocation = invocation
        .and_then(|bytes| serde_json::from_slice(&bytes).ok())
        .and_then(told);
    let mut lines = stdout.split(|byte| *byte == b'\n').take(5);
    invocation.or_else(|| lines.find_map(|line| told(serde_json::from_slice(line).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_played_trial_is_known_by_its_output() {
        let replayed = Row {
            agent_kind: Some("replay".to_owned()),
            ..Row::default()
        };
        let cases: [(&[u8], AgentKind); 3] = [
            (b"{\"type\":\"thread.started\"}\n", AgentKind::Codex),
            (
                b"{\"type\":\"system\",\"subtype\":\"init\"}\n",
                AgentKind::ClaudeCode,
            ),
            (b"hello\n", AgentKind::Command),
        ];
        for (stdout, kind) in cases {
            assert_eq!(plays(&replayed, stdout), kind);
        }
        let told = Row {
            agent_kind: Some("codex_cli".to_owned()),
            ..Row::default()
        };
        assert_eq!(plays(&told, b"hello\n"), AgentKind::Codex);
    }
}
