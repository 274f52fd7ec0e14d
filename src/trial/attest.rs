//! Looks at what a trial really runs: programs by their content, settings in force, and what the agent says of itself.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::trial::environment::program_path;
use crate::trial::jail;
use crate::trial::launched::programs;
use crate::trial::listener::HeardAll;
use crate::trial::mcp_seen;
use crate::trial::outcome_builder::OutcomeBuilder;
use crate::trial::preparation::Ready;
use crate::trial::steering::{
    CLAUDE_FILES, CODEX_FILES, HOME_FILES, MACHINE_FILES, NAMED_FILES, Stamp, WORKSPACE_FILES,
    digest, files, stamp,
};
use crate::trial::trial_context::TrialContext;
use proctor_agents::{VersionSurroundings, server_names, version};
use proctor_config::AgentKind;
use proctor_model::Isolation;
use proctor_record::{Arms, Attestation, ProgramSeen, RunDir, text_digest};
use proctor_supervise::ChildSpec;
use proctor_workspace::{Workspace, sha256_hex, sha256_of};

/// Names of tools, servers and models are kept up to this many characters, and so many of them.
const LONGEST_NAME: usize = 200;
pub(super) const MOST_NAMES: usize = 1_000;

/// What all trials of a run know of agents: the first trial of each arm, and programs that were read before.
#[derive(Debug)]
pub struct Attested {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    arms: Arms,
    programs: HashMap<PathBuf, Known>,
    /// What `--version` said, by digest.
    versions: HashMap<String, Option<String>>,
}

#[derive(Debug)]
struct Known {
    stamp: Stamp,
    sha256: String,
}

impl Attested {
    /// What earlier starts of the run knew of its arms.
    #[must_use]
    pub fn open(run: &RunDir) -> Self {
        let state = State {
            arms: Arms::open(run),
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at everything that is in force now, right before the agent is started.
pub(super) fn before(
    frame: &TrialContext<'_>,
    (workspace, ready): (&Workspace, &Ready),
    spec: &ChildSpec,
) -> Attestation {
    let agent = frame.context.agent(frame.planned);
    let names = spec.env.iter().map(|(name, _)| name.to_string_lossy());
    let scenario = frame.context.scenario(frame.planned);
    let servers = scenario.mcp_config.as_deref().map(server_names);
    let mut seen = Attestation {
        workspace_files: files(&workspace.project_dir, "", &WORKSPACE_FILES)
            .into_iter()
            .collect(),
        config_files: config_files(frame, ready, &spec.env)
            .into_iter()
            .chain(above(frame, &workspace.root))
            .chain(named_settings(frame, spec))
            .collect(),
        env_names: names.map(std::borrow::Cow::into_owned).collect(),
        mcp_expected: servers.into_iter().flatten().collect(),
        settings_untold: ready.told.untold.clone(),
        mcp_servers: ready.told.servers.clone(),
        ..Attestation::default()
    };
    // A replay is this very program, which the run's metadata names.
    if agent.kind != AgentKind::Replay {
        let found = programs(&spec.argv, (&ready.path, &spec.cwd));
        let mut state = frame.context.attested.lock();
        let found = found.iter().filter_map(|path| state.program(path));
        seen.programs = found.collect();
    }
    seen
}

/// Adds what the agent said, keeps all of it, and tells what is not as in the first trial of the arm. Returns a sentence for
/// each MCP server of the scenario that never started.
pub(super) async fn after(
    frame: &TrialContext<'_>,
    heard: &HeardAll,
    (mut seen, draft): (Attestation, &mut OutcomeBuilder),
) -> Vec<String> {
    let context = frame.context;
    let report = &heard.report;
    let models = report.models.iter();
    seen.models = models.map(|name| short(without_window(name))).collect();
    seen.further_models = report
        .further_models
        .iter()
        .map(|name| short(name))
        .collect();
    seen.tools = heard
        .seen
        .tools
        .iter()
        .take(MOST_NAMES)
        .map(|name| short(name))
        .collect();
    let not_started = mcp_seen::add(frame, heard, &mut seen);
    if let Some(version) = &report.cli_version {
        seen.cli_version = Some(short(version));
        seen.cli_version_by = Some("stream".to_owned());
    } else if let Some(version) = asked_version(frame, &seen).await {
        seen.cli_version = Some(version);
        seen.cli_version_by = Some("--version".to_owned());
    }
    let key = &frame.planned.key;
    let kind = if key.baseline { "baseline" } else { "trials" };
    let arm = format!("{}/{}/{kind}", key.cell.agent, key.cell.scenario);
    let kept = frame.trial_dir.attest(&seen, &context.redactor);
    let place = (&context.run_dir, &context.redactor);
    let (differences, remembered) = context.attested.lock().arms.compare(&arm, &seen, place);
    draft.attested(seen.digest(), differences);
    for problem in [kept, remembered].into_iter().filter_map(Result::err) {
        draft.note(problem.to_string());
    }
    not_started
}

/// What `--version` says, asked once per program of a run; unknown programs are not asked.
async fn asked_version(frame: &TrialContext<'_>, seen: &Attestation) -> Option<String> {
    let agent = frame.context.agent(frame.planned);
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
    let known = frame
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
    let path = program_path(&frame.context.base_env);
    let surroundings = VersionSurroundings {
        path: &path,
        home: &frame.context.scratch,
        isolation: frame.context.confinement.level,
        cancel: &frame.context.cancel,
    };
    let told = version(program, surroundings).await;
    let mut state = frame.context.attested.lock();
    state.versions.insert(content, told.clone());
    told
}

impl State {
    /// A program by its content, which is read once as long as its file stays the same.
    fn program(&mut self, path: &Path) -> Option<ProgramSeen> {
        let about = fs::metadata(path).ok().filter(Metadata::is_file)?;
        let stamp = stamp(&about);
        let known = self.programs.get(path).filter(|known| known.stamp == stamp);
        let sha256 = if let Some(known) = known {
            known.sha256.clone()
        } else {
            let digest = sha256_of(&mut File::open(path).ok()?).ok()?;
            let sha256 = sha256_hex(&digest);
            let known = Known {
                stamp,
                sha256: sha256.clone(),
            };
            self.programs.insert(path.to_owned(), known);
            sha256
        };
        Some(ProgramSeen {
            path: path.to_string_lossy().into_owned(),
            sha256,
            bytes: about.len(),
        })
    }
}

/// What steers an agent in the folders above its workspace, where many agents look, too: by whole paths.
fn above(frame: &TrialContext<'_>, root: &Path) -> Vec<(String, String)> {
    // A jail shows none of these folders but the outermost.
    let jailed = frame.context.confinement.level == Isolation::Jail;
    let folders = root.ancestors().skip(1);
    let seen = folders.filter(|folder| !jailed || folder.parent().is_none());
    let found = seen.flat_map(|folder| {
        let shown = folder.display().to_string();
        let prefix = format!("above:{}/", shown.trim_end_matches('/'));
        files(folder, &prefix, &WORKSPACE_FILES)
    });
    found.collect()
}

/// The files that steer the agent outside of its workspace.
fn config_files(
    frame: &TrialContext<'_>,
    ready: &Ready,
    env: &[(OsString, OsString)],
) -> BTreeMap<String, String> {
    let value = |wanted: &str| {
        let found = env.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| PathBuf::from(value))
    };
    let jailed = frame.context.confinement.level == Isolation::Jail;
    let home = match &ready.invocation.private_home {
        Some(home) => Some(home.clone()),
        None if jailed => Some(jail::home_of_agent(frame)),
        None => value("HOME"),
    };
    let below = |variable: &str, folder: &str| {
        value(variable).or_else(|| home.as_ref().map(|home| home.join(folder)))
    };
    let places: [(Option<PathBuf>, &str, &[&str]); 3] = [
        (below("CODEX_HOME", ".codex"), ".codex/", &CODEX_FILES),
        (
            below("CLAUDE_CONFIG_DIR", ".claude"),
            ".claude/",
            &CLAUDE_FILES,
        ),
        (home.clone(), "", &HOME_FILES),
    ];
    let scenario = frame.context.scenario(frame.planned).mcp_config.as_deref();
    let mcp = scenario.and_then(|file| Some(("mcp_config".to_owned(), digest(file)?)));
    let found = places.into_iter().flat_map(|(folder, prefix, names)| {
        folder.into_iter().flat_map(move |folder| {
            let lent = lent_from(frame, &folder);
            let seen = move |name: &&str| {
                let shown = lent.as_ref().map(|home| home.join(name));
                let shown = shown.filter(|path| is_lent(frame, path));
                let file = shown.unwrap_or_else(|| folder.join(name));
                let digest = digest_in(frame, &file)?;
                Some((format!("home/{prefix}{name}"), digest))
            };
            names.iter().filter_map(seen)
        })
    });
    found.chain(mcp).chain(of_the_machine(frame)).collect()
}

/// The digest of a file in the agent's home. What the harness itself put there may name folders of this trial, which are called
/// differently in each.
fn digest_in(frame: &TrialContext<'_>, file: &Path) -> Option<String> {
    let digest = digest(file)?;
    let text = fs::read_to_string(file).unwrap_or_default();
    if !text.contains(&frame.short_name) {
        return Some(digest);
    }
    let scratch = frame.context.scratch.display().to_string();
    let text = text.replace(&scratch, "SCRATCH");
    Some(text_digest(&text.replace(&frame.short_name, "TRIAL")))
}

/// Settings to which opencode's variables lead, by these.
fn named_settings(frame: &TrialContext<'_>, spec: &ChildSpec) -> Vec<(String, String)> {
    if frame.context.agent(frame.planned).kind != AgentKind::Opencode {
        return Vec::new();
    }
    let value = |wanted: &str| {
        let found = spec.env.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| PathBuf::from(value))
    };
    let confinement = &frame.context.confinement;
    let is_seen = |file: &Path| {
        let inside = |real: PathBuf| real.starts_with(&spec.cwd);
        confinement.shows(file) || fs::canonicalize(file).is_ok_and(inside)
    };
    let seen = |name: &&str| {
        let mut parts = name.splitn(2, '/');
        let named = value(parts.next()?).filter(|named| !named.as_os_str().is_empty())?;
        let mut file = spec.cwd.join(named);
        file.extend(parts);
        let digest = digest(&file).filter(|_| is_seen(&file))?;
        Some(((*name).to_owned(), digest))
    };
    NAMED_FILES.iter().filter_map(seen).collect()
}

/// Settings of the machine that the agent reads, by whole paths.
fn of_the_machine(frame: &TrialContext<'_>) -> Vec<(String, String)> {
    let confinement = &frame.context.confinement;
    // A wrapper of the operator's may show another machine.
    let is_seen = |file: &Path| confinement.level != Isolation::External && confinement.shows(file);
    let files = MACHINE_FILES.iter().map(Path::new);
    let seen = files.filter(|file| is_seen(file));
    seen.filter_map(|file| Some((format!("machine:{}", file.display()), digest(file)?)))
        .collect()
}

/// Where the operator's files lie that a jail may show in this folder of the home that stands for the operator's.
fn lent_from(frame: &TrialContext<'_>, folder: &Path) -> Option<PathBuf> {
    let stands = jail::stands_for_home(frame)?;
    let inside = folder.strip_prefix(stands).ok()?;
    Some(frame.context.confinement.home.as_ref()?.join(inside))
}

/// Whether an agent sees this file of the operator's; where it is attached, an empty one lies in the trial's home.
fn is_lent(frame: &TrialContext<'_>, file: &Path) -> bool {
    fs::canonicalize(file).is_ok_and(|real| frame.context.confinement.is_lent(&real))
}

/// A model without the size of its window, which Claude Code adds where it says what it asks for, and not where one answers
/// (`claude-opus-4-8[1m]`).
fn without_window(model: &str) -> &str {
    let bare = model
        .strip_suffix(']')
        .and_then(|model| model.rsplit_once('['));
    bare.map_or(model, |(bare, _)| bare)
}

/// A name that somebody else chose, for one line.
pub(super) fn short(name: &str) -> String {
    let plain = name.chars().take(LONGEST_NAME);
    plain
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect()
}
