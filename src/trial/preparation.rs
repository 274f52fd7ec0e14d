//! Before the agent: the scenario's files, setup commands, shims, the invocation, the baseline snapshot.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use crate::trial::asked::Told;
use crate::trial::environment::program_path;
use crate::trial::jail::{self, Role};
use crate::trial::outcome_builder::Stop;
use crate::trial::sessions::home_is_own;
use crate::trial::simulator::project_told;
use crate::trial::trial_context::{HelperRun, TrialContext};
use proctor_agents::{
    Invocation, InvocationContext, OperatorHome, compose_prompt, copy_settings, invocation_for,
};
use proctor_config::{ScenarioSpec, TaskSpec};
use proctor_graders::{ForbiddenBaseline, capture_baseline};
use proctor_model::Isolation;
use proctor_record::{set_apart, write_file};
use proctor_shims::{LogWay, Overlay};
use proctor_supervise::{
    self, Cancel, CapturedOutput, ChildEnding, ChildSpec, EndReason, Exit, Supervisor, server_of,
};
use proctor_workspace::Workspace;

/// At most this much output of a setup command is kept.
const SETUP_OUTPUT: usize = 256 * 1024;

/// What the agent is started with.
pub(super) struct Ready {
    pub(super) overlay: Overlay,
    pub(super) path: OsString,
    pub(super) prompt: String,
    pub(super) invocation: Invocation,
    /// What the shells of the agent need to keep the overlay in front.
    pub(super) shell_env: Vec<(String, OsString)>,
    /// What the agent told of its settings and servers, where it was asked.
    pub(super) told: Told,
}

/// Lays the overlay and works out how the agent is called.
pub(super) fn ready(frame: &TrialContext<'_>, workspace: &Workspace) -> Result<Ready, Stop> {
    let context = frame.context;
    make_private(&frame.private)
        .and_then(|()| fs::create_dir_all(frame.private.join("o")))
        .map_err(|error| Stop::harness("create the private folder", error))?;
    let overlay = Overlay::install(
        &frame.private.join("s"),
        &context.tools,
        &frame.trial_dir.cmd_log(),
        match context.confinement.level {
            // A file that an agent can write to would be no jail's log.
            Isolation::Jail => LogWay::Socket,
            Isolation::None | Isolation::External => LogWay::SocketOrFile,
        },
    )
    .map_err(|error| Stop::harness("install the shims", error))?;
    overlay.hide(&context.redactor);
    let path = overlay.path_with(&program_path(&context.base_env));
    let scenario = context.scenario(frame.planned);
    let task = context.task(frame.planned);
    let prompt = compose_prompt(task, scenario, &project_told(frame));
    let operator = OperatorHome::from_env();
    let go_between = go_between(frame);
    let asked = InvocationContext {
        agent: context.agent(frame.planned),
        scenario,
        settings: &context.suite.settings,
        mcp: &context.suite.mcp,
        prompt: &prompt,
        workdir: &workspace.project_dir,
        out_json: &frame.out_json(),
        private: &frame.private,
        task: task.map(|task| &task.id),
        baseline: frame.planned.key.baseline,
        index: frame.planned.key.index,
        path: &path,
        home_is_own: home_is_own(frame),
        go_between: go_between.as_deref(),
    };
    let invocation = invocation_for(&asked, &operator);
    let invocation = invocation.map_err(|error| Stop::spawn(error.to_string()))?;
    if context.confinement.level == Isolation::Jail && invocation.private_home.is_none() {
        let kind = context.agent(frame.planned).kind;
        let home = jail::home_of_agent(frame);
        copy_settings(kind, &home, &operator).map_err(|error| Stop::spawn(error.to_string()))?;
    }
    let shell_env = shell_env(frame, &overlay, invocation.private_home.as_deref());
    let shell_env =
        shell_env.map_err(|error| Stop::harness("write shell start-up files", error))?;
    // At once: a killed harness could not do it later.
    let kept = context.redactor.redact(&prompt);
    write_file(&frame.trial_dir.prompt(), kept.as_bytes())
        .map_err(|error| Stop::harness("write prompt.txt", error))?;
    Ok(Ready {
        overlay,
        path,
        prompt,
        invocation,
        shell_env,
        told: Told::default(),
    })
}

/// What leads login shells to the overlay: start-up files in the home that the agent sees, if that is the trial's; in the
/// operator's home variables alone.
fn shell_env(
    frame: &TrialContext<'_>,
    overlay: &Overlay,
    private_home: Option<&Path>,
) -> io::Result<Vec<(String, OsString)>> {
    let in_jail = jail::stands_for_home(frame);
    if let Some(home) = private_home.map(Path::to_owned).or(in_jail) {
        fs::create_dir_all(&home)?;
        return overlay.shell_startup(&home);
    }
    let folder = frame.private.join("shell");
    fs::create_dir_all(&folder)?;
    overlay.shell_variables(&folder)
}

/// This program, which stands before the MCP servers of a scenario; not where a wrapper of the operator's may hide it.
pub(super) fn go_between(frame: &TrialContext<'_>) -> Option<PathBuf> {
    let scenario = frame.context.scenario(frame.planned);
    let has_servers = scenario.mcp_config.is_some();
    let reachable = frame.context.confinement.level != Isolation::External;
    (has_servers && reachable)
        .then(|| std::env::current_exe().ok())
        .flatten()
}

/// Makes a trial's private folder, beside those of other trials but not close to them on the disk.
fn make_private(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent()
        && !parent.is_dir()
    {
        fs::create_dir_all(parent)?;
        set_apart(parent);
    }
    fs::create_dir_all(folder)
}

/// Copies the files of a scenario into the workspace.
pub(super) fn lay_files(scenario: &ScenarioSpec, project_dir: &Path) -> io::Result<()> {
    for (from, to) in &scenario.files {
        lay(from, &project_dir.join(to))?;
    }
    Ok(())
}

fn lay(from: &Path, to: &Path) -> io::Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            lay(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent)?;
    }
    fs::copy(from, to).map(drop)
}

/// Runs the setup commands of a task; the first that fails ends the trial before any money is spent. What they print goes
/// to `log_file`.
pub(super) async fn set_up(
    frame: &TrialContext<'_>,
    workspace: &Workspace,
    (task, extra_args, log_file): (&TaskSpec, &[String], &Path),
) -> Result<(), Stop> {
    let mut log = String::new();
    let mut failed = None;
    for command in &task.setup_commands {
        let environment = frame.around(workspace).for_harness(extra_args);
        let limit = frame.context.suite.settings.setup_timeout;
        let mut spec = frame.helper(
            command,
            HelperRun {
                cwd: &workspace.project_dir,
                environment,
                limit,
            },
        );
        spec.containment = jail::containment(frame, workspace, Role::Setup);
        let (ending, output) =
            proctor_supervise::capture(&spec, SETUP_OUTPUT, &frame.context.cancel).await;
        log.push_str(&told(command, &ending, &output));
        if ending.reason == EndReason::Cancelled {
            return Err(Stop::cancelled());
        }
        if !ending.succeeded() {
            failed = Some(format!("setup command {command:?}: {}", why(&ending)));
            break;
        }
    }
    if !log.is_empty() {
        let log = frame.context.redactor.redact(&log);
        write_file(log_file, log.as_bytes())
            .map_err(|error| Stop::harness("write the log of setup", error))?;
    }
    failed.map_or(Ok(()), |message| Err(Stop::setup(message)))
}

/// Refuses a workspace whose files of Git LFS are still pointers after setup, unless the project may do without.
pub(super) fn has_its_files(frame: &TrialContext<'_>, workspace: &Workspace) -> Result<(), Stop> {
    if frame.context.suite.project.allow_lfs_pointers {
        return Ok(());
    }
    let pointers = workspace.lfs_pointers(&frame.context.source.lfs_pointers);
    pointers.first().map_or(Ok(()), |first| {
        Err(Stop::setup(format!(
            "{} Git LFS file(s), the first {}, are pointers after setup: let setup_commands bring them, or set project.allow_lfs_pointers",
            pointers.len(),
            first.display()
        )))
    })
}

/// Starts what `mcp.start_command` says; gives what went wrong, if anything. What it leaves running stays until
/// [`mcp_stop`].
pub(super) async fn mcp_start(
    frame: &TrialContext<'_>,
    workspace: &Workspace,
    ready: &Ready,
) -> Option<String> {
    let mut spec = mcp_spec(
        frame,
        workspace,
        (ready, &frame.context.suite.mcp.start_command),
    )?;
    spec.limits.spare_leftovers = true;
    mcp_command(&spec, &frame.context.cancel).await
}

/// Runs `mcp.stop_command`, and ends whatever of the server is left then. Also where a person asked to stop once: nothing else
/// ends a server that has left its session.
pub(super) async fn mcp_stop(
    frame: &TrialContext<'_>,
    workspace: &Workspace,
    ready: &Ready,
) -> Option<String> {
    let mcp = &frame.context.suite.mcp;
    // Without a stop command the server is ended by its mark, which any child of the same mark does at its end.
    let nothing = ["true".to_owned()];
    let command = if mcp.stop_command.is_empty() {
        mcp_spec(frame, workspace, (ready, &mcp.start_command))?;
        &nothing[..]
    } else {
        &mcp.stop_command
    };
    let spec = mcp_spec(frame, workspace, (ready, command))?;
    let at_once = Cancel::new();
    let mut stopping = std::pin::pin!(mcp_command(&spec, &at_once));
    tokio::select! {
        told = &mut stopping => told,
        () = frame.context.cancel.reached(2) => {
            at_once.request();
            stopping.await
        }
    }
}

fn mcp_spec(
    frame: &TrialContext<'_>,
    workspace: &Workspace,
    (ready, command): (&Ready, &[String]),
) -> Option<ChildSpec> {
    let applies = frame.context.suite.mcp.enabled
        && frame.context.scenario(frame.planned).mcp_config.is_some();
    if command.is_empty() || !applies {
        return None;
    }
    let around = frame.around(workspace);
    let environment = around.for_mcp(&ready.invocation.extra_args, &ready.path);
    let run = HelperRun {
        cwd: &workspace.project_dir,
        environment,
        limit: MCP_LIMIT,
    };
    let mut spec = frame.helper(command, run);
    spec.marker = Some(server_of(&frame.marker));
    Some(spec)
}

async fn mcp_command(spec: &ChildSpec, cancel: &Cancel) -> Option<String> {
    let (ending, output) = proctor_supervise::capture(spec, SETUP_OUTPUT, cancel).await;
    if ending.succeeded() {
        return None;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    Some(format!("{:?}: {} {last}", spec.argv, why(&ending)))
}

/// Limit of `mcp.start_command` and `mcp.stop_command`.
const MCP_LIMIT: Duration = Duration::from_secs(120);

/// Takes the snapshot of forbidden files, after setup.
pub(super) fn baseline(
    frame: &TrialContext<'_>,
    workspace: &Workspace,
) -> Result<Option<ForbiddenBaseline>, Stop> {
    let Some(task) = frame.context.task(frame.planned) else {
        return Ok(None);
    };
    let subdir = &frame.context.source.subdir;
    let baseline = capture_baseline(&task.graders, &workspace.root, subdir)
        .map_err(|error| Stop::harness("snapshot the forbidden files", error))?;
    if let Some(baseline) = &baseline {
        let text = serde_json::to_vec_pretty(baseline)
            .map_err(|error| Stop::harness("write forbidden_baseline.json", error))?;
        write_file(&frame.trial_dir.forbidden_baseline(), &text)
            .map_err(|error| Stop::harness("write forbidden_baseline.json", error))?;
    }
    Ok(baseline)
}

/// How a helper ended, in words.
pub(super) fn why(ending: &ChildEnding) -> String {
    match (&ending.reason, &ending.exit) {
        (EndReason::NotStarted, _) => ending
            .spawn_error
            .clone()
            .unwrap_or_else(|| "could not be started".to_owned()),
        (EndReason::HardTimeout, _) => "ran into its time limit".to_owned(),
        _ if ending.supervisor == Supervisor::Killed => {
            "its supervisor was killed, by the command itself or by somebody else, so it was ended"
                .to_owned()
        }
        (_, Some(Exit::Code(code))) => format!("exit code {code}"),
        (_, Some(Exit::Signal(signal))) => format!("ended by signal {signal}"),
        (reason, None) => format!("{reason:?}"),
    }
}

fn told(command: &[String], ending: &ChildEnding, output: &CapturedOutput) -> String {
    format!(
        "$ {}\n{}{}[{}, {:.3} s]\n",
        shell_words::join(command),
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        why(ending),
        ending.wall.as_secs_f64()
    )
}
