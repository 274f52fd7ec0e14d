//! The agent's own time: it is started, listened to, and its end is awaited.

use serde::Deserialize;

use crate::trial::attest;
use crate::trial::egress;
use crate::trial::jail::{self, Role};
use crate::trial::listener::{Ear, EarParts, HeardAll};
use crate::trial::meter::Meter;
use crate::trial::outcome_builder::{Stop, now};
use crate::trial::preparation::Ready;
use crate::trial::trial_context::TrialContext;
use crate::trial::watch::Watch;
use proctor_agents::{StreamReader, asked_model, server_names};
use proctor_config::{PromptVia, TranscriptMode};
use proctor_gate::Gate;
use proctor_record::{
    Attestation, EventLog, EventLogHeader, RecordError, Transcript, TrialDir, read_file, write_file,
};
use proctor_supervise::{self, ChildEnding, ChildSpec, DiskLimit, Limits, StdinPlan, monotonic_ns};
use proctor_workspace::Workspace;

/// What an agent wrote to `{OUT_JSON}` is read up to this size.
const OUT_JSON: u64 = 16 * 1024 * 1024;

/// What came of an agent's time.
pub(super) struct Performed {
    pub(super) ending: ChildEnding,
    pub(super) heard: HeardAll,
    /// What was in force when it was started.
    pub(super) seen: Attestation,
}

/// Runs the agent.
pub(super) async fn perform(
    frame: &TrialContext<'_>,
    workspace: &Workspace,
    ready: &Ready,
) -> Result<Performed, Stop> {
    let (spec, gate) = child(frame, workspace, ready);
    let ear = ear(frame, ready).map_err(|error| Stop::harness("open the trial's logs", error))?;
    let mut ear = ear.beside(gate);
    write_invocation(frame, (&spec, &ready.invocation.extra_args))
        .map_err(|error| Stop::harness("write invocation.json", error))?;
    let seen = attest::before(frame, (workspace, ready), &spec);
    let ending = proctor_supervise::run(&spec, &mut ear, &frame.context.cancel).await;
    if let Some(file) = read_file(&frame.out_json(), OUT_JSON).filter(|file| !file.is_empty()) {
        ear.read(&file, ending.wall);
        write_file(&frame.trial_dir.agent_output(), &file)
            .map_err(|error| Stop::harness("keep agent_output.json", error))?;
    }
    let heard = ear.finish(ending.wall);
    Ok(Performed {
        ending,
        heard,
        seen,
    })
}

/// How the agent is started, for people who want to do the same by hand: values of variables are left out.
fn write_invocation(
    frame: &TrialContext<'_>,
    (spec, extra_args): (&ChildSpec, &[String]),
) -> Result<(), RecordError> {
    let words = spec.argv.iter().map(|word| word.to_string_lossy());
    let names = spec.env.iter().map(|(name, _)| name.to_string_lossy());
    let text = serde_json::json!({
        "argv": words.collect::<Vec<_>>(),
        "extra_args": extra_args,
        "cwd": spec.cwd.to_string_lossy(),
        "env_names": names.collect::<Vec<_>>(),
        "stdin": if matches!(spec.stdin, StdinPlan::Null) { "nothing" } else { "the prompt" },
    });
    let text = frame
        .context
        .redactor
        .redact_json(&text.to_string())
        .into_owned();
    write_file(&frame.trial_dir.invocation(), text.as_bytes())
}

/// What `{EXTRA_ARGS}` became when the agent of a trial was started; nothing where that was not written down.
pub(super) fn extra_args(trial: &TrialDir) -> Vec<String> {
    #[derive(Deserialize)]
    struct Invoked {
        extra_args: Vec<String>,
    }
    let bytes = read_file(&trial.invocation(), OUT_JSON);
    let invoked = bytes.and_then(|bytes| serde_json::from_slice::<Invoked>(&bytes).ok());
    invoked
        .map(|invoked| invoked.extra_args)
        .unwrap_or_default()
}

fn ear(frame: &TrialContext<'_>, ready: &Ready) -> Result<Ear, RecordError> {
    let settings = &frame.context.suite.settings;
    let redactor = &frame.context.redactor;
    let transcript = match settings.transcript_mode {
        TranscriptMode::Minimal => {
            let path = frame.trial_dir.transcript();
            let transcript = Transcript::create(&path, redactor.clone())?;
            Some(transcript.with_room(settings.limits.transcript))
        }
        TranscriptMode::Raw | TranscriptMode::None => None,
    };
    let agent = frame.context.agent(frame.planned);
    let header = EventLogHeader {
        run_id: frame.run_id.clone(),
        agent_kind: agent.speaks().as_str().to_owned(),
        started: now(),
        started_mono_ns: monotonic_ns(),
        ..EventLogHeader::default()
    };
    Ok(Ear::new(EarParts {
        watched: &settings.shims,
        context_calls: frame.context.context_calls,
        watch: Watch::new(&frame.context.upstream, ready.invocation.web_tools),
        tells_all: frame.context.stream,
        meter: Meter::new(
            &frame.context.suite,
            (agent, asked_model(&ready.invocation.argv).as_deref()),
            frame.allowance.trial_usd,
        ),
        reader: reader(frame),
        log: EventLog::create(&frame.trial_dir.events(), &header, redactor.clone())?
            .with_room(settings.limits.events),
        transcript,
        redactor: redactor.clone(),
        teller: frame.teller.clone(),
        key: frame.planned.key.clone(),
    }))
}

/// A reader that knows which MCP servers the agent is given.
fn reader(frame: &TrialContext<'_>) -> StreamReader {
    let config = frame.context.scenario(frame.planned).mcp_config.as_deref();
    let names = config.map(server_names).unwrap_or_default();
    let longest = longest_line(frame);
    let reader = StreamReader::new(frame.context.agent(frame.planned));
    reader.with_servers(&names).with_longest_line(longest)
}

fn longest_line(frame: &TrialContext<'_>) -> usize {
    let kept = &frame.context.suite.settings.limits;
    usize::try_from(kept.line).unwrap_or(usize::MAX)
}

/// What the trial may take of the disk, and where.
pub(super) fn disk_limit(frame: &TrialContext<'_>, workspace: &Workspace) -> DiskLimit {
    DiskLimit {
        folders: vec![workspace.root.clone(), frame.private.clone()],
        most: frame.context.suite.settings.limits.workspace,
    }
}

/// What is started, and the door of its network, if it has one.
pub(super) fn child(
    frame: &TrialContext<'_>,
    workspace: &Workspace,
    ready: &Ready,
) -> (ChildSpec, Option<Gate>) {
    let settings = &frame.context.suite.settings;
    let kept = &settings.limits;
    let scenario = &frame.planned.key.cell.scenario;
    let mut environment = frame
        .around(workspace)
        .for_agent(&ready.invocation, &ready.path);
    for (name, value) in &ready.shell_env {
        environment.insert(name.into(), value.clone());
    }
    let gate = egress::gate(frame, &ready.invocation.argv, &mut environment);
    let ports = gate.as_ref().map(Gate::ports).unwrap_or_default();
    let role = Role::Agent(&ready.invocation.argv, &ports);
    let agent = frame.context.agent(frame.planned);
    let stdin = match (&ready.invocation.stdin, agent.prompt_via) {
        (Some(bytes), _) => StdinPlan::Bytes(bytes.clone()),
        (None, PromptVia::Stdin) => StdinPlan::Bytes(ready.prompt.clone().into_bytes()),
        (None, PromptVia::Argument) => StdinPlan::Null,
    };
    let spec = ChildSpec {
        argv: ready.invocation.argv.clone(),
        cwd: workspace.project_dir.clone(),
        env: environment.into_iter().collect(),
        stdin,
        limits: Limits {
            hard: Some(settings.hard_limit(scenario)),
            stall: settings.stall_limit(scenario),
            silence: settings.silence_limit,
            workplaces: vec![workspace.root.clone(), workspace.project_dir.clone()],
            grace: settings.stop_grace,
            linger: settings.linger,
            drain: settings.drain,
            max_line: longest_line(frame),
            max_kept_bytes: kept.output,
            disk: Some(disk_limit(frame, workspace)),
            ..Limits::default()
        },
        stdout_to: Some(frame.trial_dir.stdout_raw()),
        stderr_to: Some(frame.trial_dir.stderr_raw()),
        activity_files: vec![frame.trial_dir.cmd_log()],
        marker: Some(frame.marker.clone()),
        containment: jail::containment(frame, workspace, role),
    };
    (spec, gate)
}
