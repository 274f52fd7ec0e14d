//! Before the agent: the scenario's files, setup commands, shims, the invocation, the baseline snapshot.

use std::ffi::OsString;
use std::path::Path;
use std::{fs, io};

use crate::agents::{Invocation, InvocationContext, compose_prompt, invocation};
use crate::config::{ScenarioSpec, TaskSpec};
use crate::graders::{ForbiddenBaseline, capture_baseline};
use crate::record::write_file;
use crate::shims::Overlay;
use crate::supervise::{self, CapturedOutput, ChildEnding, EndReason, Exit};
use crate::trial::draft::Stop;
use crate::trial::environment::program_path;
use crate::trial::frame::{Frame, HelperRun};
use crate::workspace::Workspace;

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
}

/// Lays the overlay and works out how the agent is called.
pub(super) fn ready(frame: &Frame<'_>, workspace: &Workspace) -> Result<Ready, Stop> {
    let context = frame.context;
    fs::create_dir_all(&frame.private)
        .map_err(|error| Stop::harness("create the private folder", error))?;
    let overlay = Overlay::install(
        &frame.private.join("s"),
        &context.tools,
        &frame.trial_dir.cmd_log(),
    )
    .map_err(|error| Stop::harness("install the shims", error))?;
    let path = overlay.path_with(&program_path(&context.base_env));
    let scenario = context.scenario(frame.planned);
    let task = context.task(frame.planned);
    let prompt = compose_prompt(task, scenario, &context.suite.project);
    let invocation = invocation(&InvocationContext {
        agent: context.agent(frame.planned),
        scenario,
        settings: &context.suite.settings,
        mcp: &context.suite.mcp,
        prompt: &prompt,
        workdir: &workspace.project_dir,
        out_json: &frame.trial_dir.agent_output(),
        private: &frame.private,
        task: task.map(|task| &task.id),
        baseline: frame.planned.key.baseline,
        index: frame.planned.key.index,
        path: &path,
    })
    .map_err(|error| Stop::spawn(error.to_string()))?;
    let shell_env = match &invocation.private_home {
        Some(home) => overlay
            .shell_startup(home)
            .map_err(|error| Stop::harness("write shell start-up files", error))?,
        None => Vec::new(),
    };
    write_file(&frame.trial_dir.prompt(), prompt.as_bytes())
        .map_err(|error| Stop::harness("write prompt.txt", error))?;
    Ok(Ready {
        overlay,
        path,
        prompt,
        invocation,
        shell_env,
    })
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

/// Runs the setup commands of a task; the first that fails ends the trial before any money is spent.
pub(super) async fn set_up(
    frame: &Frame<'_>,
    workspace: &Workspace,
    task: &TaskSpec,
    extra_args: &[String],
) -> Result<(), Stop> {
    let mut log = String::new();
    let mut failed = None;
    for command in &task.setup_commands {
        let environment = frame.around(workspace).for_harness(extra_args);
        let limit = frame.context.suite.settings.setup_timeout;
        let spec = frame.helper(
            command,
            HelperRun {
                cwd: &workspace.project_dir,
                environment,
                limit,
            },
        );
        let (ending, output) = supervise::capture(&spec, SETUP_OUTPUT, &frame.context.cancel).await;
        log.push_str(&told(command, &ending, &output));
        if ending.reason == EndReason::Cancelled {
            return Err(Stop::cancelled());
        }
        if !went_well(&ending) {
            failed = Some(format!("setup command {command:?}: {}", why(&ending)));
            break;
        }
    }
    if !log.is_empty() {
        let log = frame.context.redactor.redact(&log);
        write_file(&frame.trial_dir.setup_log(), log.as_bytes())
            .map_err(|error| Stop::harness("write setup.log", error))?;
    }
    failed.map_or(Ok(()), |message| Err(Stop::setup(message)))
}

/// Runs `mcp.start_command` or `mcp.stop_command`; gives what went wrong, if anything.
pub(super) async fn mcp_command(
    frame: &Frame<'_>,
    workspace: &Workspace,
    run: McpRun<'_>,
) -> Option<String> {
    let applies = frame.context.suite.mcp.enabled
        && frame.context.scenario(frame.planned).mcp_config.is_some();
    if run.command.is_empty() || !applies {
        return None;
    }
    let environment = frame
        .around(workspace)
        .for_mcp(&run.ready.invocation.extra_args, &run.ready.path);
    let limit = std::time::Duration::from_secs(120);
    let spec = frame.helper(
        run.command,
        HelperRun {
            cwd: &workspace.project_dir,
            environment,
            limit,
        },
    );
    let (ending, _) = supervise::capture(&spec, SETUP_OUTPUT, &frame.context.cancel).await;
    (!went_well(&ending)).then(|| format!("{:?}: {}", run.command, why(&ending)))
}

/// Which MCP command, and what the agent is started with.
pub(super) struct McpRun<'a> {
    pub(super) command: &'a [String],
    pub(super) ready: &'a Ready,
}

/// Takes the snapshot of forbidden files, after setup.
pub(super) fn baseline(
    frame: &Frame<'_>,
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

/// Whether a helper exited with 0.
pub(super) fn went_well(ending: &ChildEnding) -> bool {
    ending.reason == EndReason::Exited && ending.exit == Some(Exit::Code(0))
}

/// How a helper ended, in words.
pub(super) fn why(ending: &ChildEnding) -> String {
    match (&ending.reason, &ending.exit) {
        (EndReason::NotStarted, _) => ending
            .spawn_error
            .clone()
            .unwrap_or_else(|| "could not be started".to_owned()),
        (EndReason::HardTimeout, _) => "ran into its time limit".to_owned(),
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
