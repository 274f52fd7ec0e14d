//! Before the first agent: everything that can fail for free fails here.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tokio::sync::OnceCell;

use crate::runner::apple;
use crate::runner::judges::judges;
use crate::runner::programs::{Lack, lacking};
use crate::runner::project::project_of;
use crate::runner::references::references;
use crate::runner::secrets::redactor;
use crate::runner::{RunError, RunRequest};
use crate::trial::{
    Attested, Confinement, Guard, PRIVATE, Places, ProgressSink, RunContext, base_environment,
    program_path,
};
use proctor_config::{AgentKind, AgentSpec, Project, Suite};
use proctor_gate::EgressRules;
use proctor_graders::{Tools, system_path};
use proctor_metrics::{MANIFESTS, Upstream, package_name};
use proctor_model::{Isolation, Network, Progress};
use proctor_record::RunDir;
use proctor_shims::watched_tools;
use proctor_supervise::{self, Cancel, Janitor, find_program};
use proctor_workspace::{self, ResolveOptions, Template};

/// All that the trials share, and the folder that goes away after them.
pub(super) struct Preflight {
    pub(super) context: RunContext,
    pub(super) scratch: Scratch,
}

/// The scratch folder of one run.
pub(super) struct Scratch {
    path: PathBuf,
    kept: bool,
    /// Says that it is in use, until this process is gone.
    _claim: fs::File,
    /// Removes what trials were lent if this process dies; why there is none, where one should be.
    janitor: Result<Option<Janitor>, String>,
}

/// However a start ends, nothing of it is left.
impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.kept {
            fs::remove_dir_all(&self.path).ok();
        }
    }
}

impl Scratch {
    /// Makes a folder that only this user can enter; its path is short, since sockets of agents go below it.
    fn create() -> Result<Self, RunError> {
        let folder = tempfile::Builder::new()
            .prefix(proctor_workspace::SCRATCH)
            .tempdir_in(temporary())
            .map_err(|error| RunError::at("create a scratch folder", &error))?;
        let path = folder.keep();
        // macOS hands out a link (/var -> /private/var); agents would see the real path all the same.
        let path = fs::canonicalize(&path).unwrap_or(path);
        let claim = proctor_workspace::claim(&path)
            .map_err(|error| RunError::at("mark the scratch folder", &error))?;
        let janitor = Janitor::of(&path.join(PRIVATE)).map_err(|error| {
            format!("logins that trials are lent would stay if this process is killed: {error}")
        });
        Ok(Self {
            path,
            kept: false,
            _claim: claim,
            janitor,
        })
    }

    /// Removes the folder, unless workspaces are kept in it.
    pub(super) fn close(mut self, keep: bool) -> Option<String> {
        self.kept = true;
        if keep {
            return None;
        }
        let removed = fs::remove_dir_all(&self.path);
        removed
            .err()
            .map(|error| format!("remove {}: {error}", self.path.display()))
    }
}

/// Looks at everything that the run needs, and builds what its trials share.
pub(super) async fn preflight(
    request: &RunRequest,
    run_dir: RunDir,
    cancel: Cancel,
) -> Result<Preflight, RunError> {
    let suite = request.suite.clone();
    let operator_env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let mut base_env = base_environment(&operator_env, &suite.settings.env_pass);
    let redactor = redactor(&suite);
    let judges = judges(&suite, &run_dir, (&operator_env, &redactor))?;
    let references = references(&suite)?;
    let path = program_path(&base_env);
    let apple = apple::set_up(&suite, &mut base_env, &cancel).await?;
    // What a killed run left is nobody's any more; what cannot be removed is told by `doctor`, not here.
    let temporary = temporary();
    let swept = proctor_workspace::sweep_stale(&temporary);
    tracing::debug!(removed = ?swept.removed, left = ?swept.left, "swept what dead runs left");
    sweep_unmarked(&temporary);
    let scratch = Scratch::create()?;
    has_room_for_sockets(&suite, &scratch.path)?;
    let built = build_tree(request, &scratch.path);
    let (mut source, template) = match built {
        Ok(built) => built,
        Err(error) => {
            drop(scratch.close(false));
            return Err(error);
        }
    };
    source
        .warnings
        .extend(scratch.janitor.as_ref().err().cloned());
    source.warnings.extend(pointers(&suite.project, &source));
    if suite.settings.agent_sees_suite_root {
        source.warnings.push(SEES_SUITE.to_owned());
    }
    let graders_path = system_path(&path, &[&scratch.path]);
    let guards = match guards(&suite, &source, &template) {
        Ok(guards) => guards,
        Err(problem) => {
            drop(scratch.close(false));
            return Err(problem);
        }
    };
    let confinement = Confinement::settle(
        &Places {
            suite: &suite,
            repository: &source.repo_root,
            run: run_dir.root(),
            scratch: &scratch.path,
            environment: &base_env,
        },
        proctor_supervise::probe,
    );
    let confinement = match confinement {
        Ok(confinement) => confinement,
        Err((why, advice)) => {
            drop(scratch.close(false));
            return Err(RunError::Missing(vec![format!(
                "suite.isolation is required and cannot be had: {why}; {advice}"
            )]));
        }
    };
    if let Some(why) = no_network_without_jail(&suite, &confinement) {
        drop(scratch.close(false));
        return Err(RunError::Missing(vec![why]));
    }
    let way_out = match way_out(&suite, &operator_env) {
        Ok(way_out) => way_out,
        Err(why) => {
            drop(scratch.close(false));
            return Err(RunError::Missing(vec![why]));
        }
    };
    let mut context = RunContext {
        judges,
        references,
        way_out,
        apple,
        upstream: upstream(&suite, &source, &template),
        confinement,
        attested: Attested::open(&run_dir),
        run_dir,
        source,
        template,
        guards,
        grader_tools: Tools::find(suite.tasks.iter(), &graders_path),
        tools: watched_tools(&suite.settings.shims, &path),
        redactor,
        shim_cost: OnceCell::new(),
        ccusage_failed: OnceLock::new(),
        base_env,
        operator_env,
        scratch: scratch.path.clone(),
        jobs: request.jobs,
        stream: request.stream,
        context_calls: context_calls(&suite),
        cancel,
        suite,
    };
    let told = apple::before_trials(&mut context).await;
    context.source.warnings.extend(told);
    Ok(Preflight { context, scratch })
}

/// What each task keeps from its agents.
fn guards(
    suite: &Suite,
    source: &proctor_workspace::Source,
    template: &Template,
) -> Result<Vec<Guard>, RunError> {
    let base = template.base();
    let tasks = suite.tasks.iter();
    let guards = tasks.map(|task| Guard::of(task, &source.subdir, &base));
    let guards = guards.collect::<Result<Vec<_>, _>>();
    guards.map_err(|problem| RunError::Project(format!("project: {problem}")))
}

/// Where solutions can be fetched: as the suite says, else the project's remotes and the names in its manifests.
fn upstream(suite: &Suite, source: &proctor_workspace::Source, template: &Template) -> Upstream {
    if let Some(patterns) = &suite.settings.upstream {
        return Upstream::new(patterns);
    }
    let base = template.base();
    let names = MANIFESTS.iter().filter_map(|file| {
        let bytes = base.file(&source.subdir.join(file))?;
        package_name(file, std::str::from_utf8(&bytes).ok()?)
    });
    Upstream::new(source.remotes.iter().cloned().chain(names))
}

/// How doors of networks reach the world: as the operator's own programs do.
fn way_out(suite: &Suite, operator: &[(OsString, OsString)]) -> Result<EgressRules, String> {
    if suite
        .narrowed(|network| network == Network::Provider)
        .is_none()
    {
        return Ok(EgressRules::default());
    }
    EgressRules::of(|wanted| {
        let found = operator.iter().find(|(name, _)| name == wanted);
        found.and_then(|(_, value)| value.to_str().map(str::to_owned))
    })
}

/// Why a suite that takes the network away cannot run here, if so: only a jail can do that.
fn no_network_without_jail(suite: &Suite, confinement: &Confinement) -> Option<String> {
    if confinement.level == Isolation::Jail {
        return None;
    }
    let graders = || {
        let network = suite.settings.grader_network;
        let key = "suite.grader_network".to_owned();
        (network != Network::Host).then_some((key, network))
    };
    let narrowed = suite.narrowed(|network| network != Network::Host);
    let (key, network) = narrowed.or_else(graders)?;
    Some(format!(
        "{key} is `{}`, which only a jail can do, and the level is {}: let your wrapper take the network away and say `host`, or see `proctor doctor`",
        network.as_str(),
        confinement.level.as_str()
    ))
}

/// The longest path of a socket, its closing NUL aside.
const LONGEST_SOCKET: usize = if cfg!(target_vendor = "apple") {
    103
} else {
    107
};

/// What agents put below a scratch folder: a trial's `TMPDIR`, and in it the longest path of a socket that was seen (Claude Code's).
const SOCKET_BELOW: &str = "/p/0123456789/tmp/cc-socks/4194304.sock";

/// Where scratch folders go: `TMPDIR`, but on Apple's systems, whose own is too long for sockets, `/tmp`.
fn temporary() -> PathBuf {
    let own = std::env::temp_dir();
    let is_long = own.as_os_str().len() + proctor_workspace::SCRATCH.len() + 6 + SOCKET_BELOW.len()
        > LONGEST_SOCKET;
    if cfg!(target_vendor = "apple") && is_long {
        return PathBuf::from("/tmp");
    }
    own
}

/// Agents that get a `TMPDIR` of their own listen on sockets in it, which fails silently where the path is too long.
fn has_room_for_sockets(suite: &Suite, scratch: &Path) -> Result<(), RunError> {
    let length = scratch.as_os_str().len() + SOCKET_BELOW.len();
    let listens = |agent: &AgentSpec| !matches!(agent.kind, AgentKind::Command | AgentKind::Replay);
    if length <= LONGEST_SOCKET
        || !suite.settings.clean_agent_env
        || !suite.agents.iter().any(listens)
    {
        return Ok(());
    }
    Err(RunError::Sockets {
        scratch: scratch.to_owned(),
        over: length - LONGEST_SOCKET,
        most: LONGEST_SOCKET,
    })
}

/// Removes the scratch folders of runs that were killed before they could mark them: they are empty, and old.
fn sweep_unmarked(temporary: &Path) {
    for folder in fs::read_dir(temporary).into_iter().flatten().flatten() {
        let ours = folder
            .file_name()
            .to_string_lossy()
            .starts_with(proctor_workspace::SCRATCH);
        let age = folder
            .metadata()
            .and_then(|metadata| metadata.modified())
            .ok();
        let age = age.and_then(|modified| modified.elapsed().ok());
        if ours && age.is_some_and(|age| age > proctor_workspace::FORGOTTEN) {
            // Does nothing to a folder that holds anything, and nothing to those of others.
            let removed = fs::remove_dir(folder.path());
            tracing::debug!(folder = %folder.path().display(), ?removed, "swept an empty scratch folder");
        }
    }
}

/// Said where agents are shown the suite, and kept as a note of the run.
pub(super) const SEES_SUITE: &str =
    "agents see EVAL_SUITE_ROOT, the way to the reference solutions (suite.agent_sees_suite_root)";

/// A warning of files that are only pointers in the workspaces.
fn pointers(project: &Project, source: &proctor_workspace::Source) -> Option<String> {
    let first = source.lfs_pointers.first()?;
    let end = if project.allow_lfs_pointers {
        ", as project.allow_lfs_pointers allows"
    } else {
        ": no agent is started unless setup_commands bring them, or project.allow_lfs_pointers says that no task needs them"
    };
    Some(format!(
        "{} Git LFS file(s), the first {}, are pointers in the workspaces{end}",
        source.lfs_pointers.len(),
        first.display()
    ))
}

/// A warning of agents that went on when the harness that had started them was killed: they may still spend.
pub(super) fn orphans() -> Option<String> {
    const TOLD: usize = 5;
    let left = proctor_supervise::left_by_dead_harnesses();
    let shown = left.iter().take(TOLD).map(|one| {
        let words: String = one.argv.chars().take(60).collect();
        format!("{} ({})", one.pid, words.escape_debug())
    });
    let shown: Vec<String> = shown.collect();
    (!left.is_empty()).then(|| {
        format!(
            "{} process(es) of a run that was killed are still alive; end them by hand: {}",
            left.len(),
            shown.join(", ")
        )
    })
}

fn build_tree(
    request: &RunRequest,
    scratch: &Path,
) -> Result<(proctor_workspace::Source, Template), RunError> {
    let settings = &request.suite.settings;
    let options = ResolveOptions {
        fetch: settings.fetch_remote,
        scratch,
    };
    let suite = &request.suite;
    let source = project_of(suite, options).map_err(|error| RunError::project(suite, &error))?;
    let template = Template::build(&source, scratch, settings.workspace)
        .map_err(|error| RunError::project(suite, &error))?;
    Ok((source, template))
}

/// Looks for the agents' programs: each that is missing is a sentence that names it and what to do.
///
/// # Errors
/// Some are not on PATH.
pub(super) fn find_agents(request: &RunRequest) -> Result<(), RunError> {
    let operator_env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let base_env = base_environment(&operator_env, &request.suite.settings.env_pass);
    let path = program_path(&base_env);
    let real = request
        .suite
        .agents
        .iter()
        .filter(|agent| agent.kind != AgentKind::Replay);
    let missing: Vec<String> = real
        .filter_map(|agent| missing_program(agent, &path, &request.suite.config_dir))
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(RunError::Missing(missing))
    }
}

/// Looks for the programs of setup commands and graders. Those that an earlier setup command may bring are told.
///
/// # Errors
/// Some tasks could only fail here.
pub(super) async fn find_programs(
    request: &RunRequest,
    teller: &ProgressSink,
) -> Result<(), RunError> {
    let (certain, possible): (Vec<Lack>, Vec<Lack>) = lacking(&request.suite)
        .await
        .into_iter()
        .partition(|lack| lack.is_certain);
    if !certain.is_empty() {
        return Err(RunError::Missing(
            certain.iter().map(Lack::sentence).collect(),
        ));
    }
    for lack in possible {
        let text = format!(
            "unless an earlier setup command brings it: {}",
            lack.sentence()
        );
        teller.tell(Progress::Notice { text });
    }
    Ok(())
}

fn missing_program(agent: &AgentSpec, path: &OsStr, config_dir: &Path) -> Option<String> {
    let program = agent
        .command
        .first()
        .filter(|program| !program.contains('{'))?;
    if find_program(OsStr::new(program), path, config_dir).is_some() {
        return None;
    }
    let advice = "install it, or leave the agent out with --agents";
    Some(format!(
        "agent {}: {program} is not on PATH; {advice}",
        agent.id
    ))
}

/// `EVAL_TOOL_ERROR_CONTEXT_CALLS` of `suite.env`, else of the operator; 2 by default.
fn context_calls(suite: &Suite) -> usize {
    const NAME: &str = "EVAL_TOOL_ERROR_CONTEXT_CALLS";
    let asked = suite.settings.env.get(NAME).cloned();
    let asked = asked.or_else(|| std::env::var(NAME).ok());
    asked.and_then(|text| text.parse().ok()).unwrap_or(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runner::samples;

    #[test]
    fn the_suite_says_how_many_calls_after_an_error_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let kept = |env: &str| {
            let config = format!(
                "suite: {{output_root: runs{env}}}\nproject: {{repo_path: .}}\nagents: [{{id: a, kind: command, command: ['true', '{{PROMPT}}']}}]\n"
            );
            context_calls(&samples::suite(folder.path(), &config))
        };
        assert_eq!(kept(", env: {EVAL_TOOL_ERROR_CONTEXT_CALLS: '5'}"), 5);
        assert_eq!(kept(""), 2);
    }
}
