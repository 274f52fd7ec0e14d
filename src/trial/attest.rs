//! Which agent a trial really ran: what was in force, with what the agent says of itself.

use std::path::Path;

use crate::trial::environment::program_path;
use crate::trial::mcp_seen;
use crate::trial::names::{MOST_NAMES, short};
use crate::trial::perform::Performed;
use crate::trial::trial_context::TrialContext;
use proctor_agents::{VersionSurroundings, version};
use proctor_config::AgentKind;
use proctor_record::{Attestation, Difference};

/// Which agent it was.
pub(super) struct Identity {
    /// Digest of all that is known of it.
    pub(super) digest: String,
    /// What of it is not as in the first trial of its arm.
    pub(super) differences: Vec<Difference>,
    /// A sentence for each MCP server of the scenario that never started.
    pub(super) not_started: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// Adds what the agent said, keeps all of it, and compares it with the first trial of the arm.
pub(super) async fn attest(trial: &TrialContext<'_>, performed: &Performed) -> Identity {
    let context = trial.context;
    let observed = &performed.observed;
    let mut seen = performed.attestation.clone();
    let report = &observed.report;
    let models = report.models.iter();
    seen.models = models.map(|name| short(without_window(name))).collect();
    let further = report.further_models.iter();
    seen.further_models = further.map(|name| short(name)).collect();
    let tools = observed.seen.tools.iter().take(MOST_NAMES);
    seen.tools = tools.map(|name| short(name)).collect();
    let not_started = mcp_seen::add(trial, observed, &mut seen);
    if let Some(version) = &report.cli_version {
        seen.cli_version = Some(short(version));
        seen.cli_version_by = Some("stream".to_owned());
    } else if let Some(version) = asked_version(trial, &seen).await {
        seen.cli_version = Some(version);
        seen.cli_version_by = Some("--version".to_owned());
    }
    let key = &trial.planned.key;
    let kind = if key.baseline { "baseline" } else { "trials" };
    let arm = format!("{}/{}/{kind}", key.cell.agent, key.cell.scenario);
    let kept = trial.trial_dir.attest(&seen, &context.redactor);
    let (differences, remembered) =
        context
            .attested
            .lock()
            .arms
            .compare(&arm, &seen, &context.run_dir, &context.redactor);
    let problems = [kept, remembered].into_iter().filter_map(Result::err);
    Identity {
        digest: seen.digest(),
        differences,
        not_started,
        notes: problems.map(|problem| problem.to_string()).collect(),
    }
}

/// What `--version` says, asked once per program of a run; unknown programs are not asked.
async fn asked_version(trial: &TrialContext<'_>, seen: &Attestation) -> Option<String> {
    let agent = trial.context.agent(trial.planned);
    if matches!(agent.kind, AgentKind::Command | AgentKind::Replay) {
        return None;
    }
    let first = seen.programs.first()?;
    let content: Vec<&str> = seen
        .programs
        .iter()
        .map(|one| one.sha256.as_str())
        .collect();
    let content = content.join(" ");
    let known = trial
        .context
        .attested
        .lock()
        .versions
        .get(&content)
        .cloned();
    if let Some(known) = known {
        return known;
    }
    let program = Path::new(&first.path);
    // Without the shims: it is not the agent that calls here.
    let path = program_path(&trial.context.base_env);
    let surroundings = VersionSurroundings {
        path: &path,
        home: &trial.context.scratch,
        isolation: trial.context.confinement.level,
        cancel: &trial.context.cancel,
    };
    let answer = version(program, surroundings).await;
    let mut state = trial.context.attested.lock();
    state.versions.insert(content, answer.clone());
    answer
}

/// A model without the size of its window, which Claude Code adds where it says what it asks for, and not where one answers
/// (`claude-opus-4-8[1m]`).
fn without_window(model: &str) -> &str {
    let bare = model
        .strip_suffix(']')
        .and_then(|model| model.rsplit_once('['));
    bare.map_or(model, |(bare, _)| bare)
}
