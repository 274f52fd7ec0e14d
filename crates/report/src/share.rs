//! A folder that can be given away: the rows and reports of a run, without who ran it, where, and on what paths.

use std::path::Path;

use serde_json::Value;

use crate::nameless::{Nameless, Whereabouts, of_path};
use crate::{RebuildOptions, ReportError, rebuild};
use proctor_record::{
    AgentMetadata, Journal, METADATA_SCHEMA, Redactor, Row, RunDir, RunMetadata, rows, write_file,
};

/// What a reader of the folder should know.
const READ_ME: &str = "\
# A run of proctor, to be shared

`runs.jsonl`, `runs.csv` and the summaries hold every trial. Left out on purpose: transcripts, raw output and all other files of the
trials, prompts, command lines, the config, and whatever leftover processes were called. Paths, user and host names were taken
out of texts. `proctor rebuild --run .` makes the reports again; the chain of digests is that of this folder, not of the original run.
";

/// Makes `to` from a run; `whereabouts` is what is known of who ran it and where, beside what the run itself says.
///
/// # Errors
/// When `to` is there and not empty, or something cannot be read or written.
pub fn share(run: &RunDir, to: &Path, whereabouts: Whereabouts) -> Result<RunDir, ReportError> {
    let metadata = RunMetadata::read(run)
        .unwrap_or_default()
        .unwrap_or_default();
    let nameless = Nameless::new(&known(run, &metadata, whereabouts));
    let shared = RunDir::create_at(to)?;
    let (mut journal, _) = Journal::open(&shared)?;
    let rows: Vec<Row> = rows(&run.runs_jsonl())?
        .filter_map(Result::ok)
        .map(|row| without_places(row, &nameless))
        .collect();
    journal.append_all(rows.iter())?;
    let kept = RunMetadata {
        // The last row of this folder, which `verify` asks for.
        journal_head: (!rows.is_empty()).then(|| journal.head().to_owned()),
        journal_rows: Some(journal.rows()),
        ..kept(&metadata, &nameless)
    };
    kept.write(&shared, &Redactor::default())?;
    write_file(&shared.root().join("README.md"), READ_ME.as_bytes())?;
    let options = RebuildOptions {
        in_place: true,
        summary_cache_strata: true,
        backfill_errors: false,
    };
    rebuild(&shared, options)?;
    Ok(shared)
}

/// What the run says of where it was.
fn known(run: &RunDir, metadata: &RunMetadata, mut known: Whereabouts) -> Whereabouts {
    let mut add = |name, place: Option<String>| {
        known.places.extend(place.map(|place| (name, place)));
    };
    add("<run>", Some(of_path(run.root())));
    add("<project>", metadata.repo_path.clone());
    let config = metadata.config_path.as_deref().map(Path::new);
    add("<suite>", config.and_then(Path::parent).map(of_path));
    known
}

/// A row without what its trial left on this machine; texts without places and names.
fn without_places(row: Row, nameless: &Nameless) -> Row {
    let row = Row {
        leftovers: None,
        transcript_path: None,
        agent_output_json_path: None,
        command_log_path: None,
        mcp_tool_log_path: None,
        tool_error_log_path: None,
        tool_error_context_log_path: None,
        provider_usage: None,
        artifacts_sha256: None,
        prev_sha256: None,
        ..row
    };
    let told = serde_json::to_value(&row).map(|value| without_names(value, nameless));
    // A row that was read can be written and read again.
    told.and_then(serde_json::from_value).unwrap_or_default()
}

/// Every text of a value, keys aside.
fn without_names(value: Value, nameless: &Nameless) -> Value {
    match value {
        Value::String(text) => Value::String(nameless.told(&text)),
        Value::Array(items) => {
            let items = items.into_iter();
            Value::Array(items.map(|item| without_names(item, nameless)).collect())
        }
        Value::Object(entries) => {
            let entries = entries.into_iter();
            let entries = entries.map(|(key, value)| (key, without_names(value, nameless)));
            Value::Object(entries.collect())
        }
        plain => plain,
    }
}

/// The metadata that may be known: an allow-list, so that a new key is not shared before somebody decides so.
fn kept(metadata: &RunMetadata, nameless: &Nameless) -> RunMetadata {
    let agents = metadata.agents.iter().map(|agent| AgentMetadata {
        id: agent.id.clone(),
        kind: agent.kind.clone(),
        version: agent
            .version
            .as_deref()
            .map(|version| nameless.told(version)),
        ..AgentMetadata::default()
    });
    RunMetadata {
        schema: METADATA_SCHEMA,
        started: metadata.started.clone(),
        finished: metadata.finished.clone(),
        proctor_version: metadata.proctor_version.clone(),
        host_os: metadata.host_os.clone(),
        host_arch: metadata.host_arch.clone(),
        recorded: metadata.recorded,
        base_commit: metadata.base_commit.clone(),
        agents: agents.collect(),
        config_digest: metadata.config_digest.clone(),
        tasks_digest: metadata.tasks_digest.clone(),
        task_digests: metadata.task_digests.clone(),
        workspace: metadata.workspace.clone(),
        isolation: metadata.isolation.clone(),
        notes: metadata
            .notes
            .iter()
            .map(|note| nameless.told(note))
            .collect(),
        ..RunMetadata::default()
    }
}

/// The name of this machine and of its user, and the home, as far as they are known.
#[must_use]
pub fn whereabouts_here() -> Whereabouts {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Whereabouts {
        places: variable("HOME")
            .map(|home| ("~", home))
            .into_iter()
            .collect(),
        users: [variable("USER"), variable("LOGNAME")]
            .into_iter()
            .flatten()
            .collect(),
        hosts: std::iter::once(proctor_record::host())
            .chain(variable("HOSTNAME"))
            .collect(),
    }
}
