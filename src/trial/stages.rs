//! The stages of a trial, in order, and the frame that cleans up whatever happened.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::plan::PlannedTrial;
use crate::trial::app_left;
use crate::trial::asked;
use crate::trial::attest;
use crate::trial::capture::{self, Ended, Left};
use crate::trial::grading::Graded;
use crate::trial::judgement::{AgentEnd, Evidence, agent_end, grade_of, worth_grading};
use crate::trial::last_words;
use crate::trial::listener::HeardAll;
use crate::trial::outcome_builder::{OutcomeBuilder, Stop};
use crate::trial::perform::{Performed, disk_limit, perform};
use crate::trial::preparation::{self, Ready};
use crate::trial::recovered::recover;
use crate::trial::sessions;
use crate::trial::simulator;
use crate::trial::trial_context::TrialContext;
use crate::trial::{ProgressSink, RunContext};
use proctor_agents::Invocation;
use proctor_graders::no_panic;
use proctor_model::{Allowance, Grade, Infra, Progress, TrialOutcome, Verdict};
use proctor_record::{Stage, TrialClock};
use proctor_supervise::{ChildEnding, can_be_worked_in, host_load, memory_kills};
use proctor_workspace::Workspace;

/// Runs one trial, which may spend what it is allowed; total: every way to end is an outcome, and nothing of the workspace is left.
///
/// It works with files while it is polled, at length if there are many: it wants a thread of its own.
pub async fn run_trial(
    context: &RunContext,
    (planned, allowance): (&PlannedTrial, Allowance),
    teller: &ProgressSink,
) -> TrialOutcome {
    let mut frame = TrialContext::new(context, planned, teller).spending(allowance);
    let mut draft = OutcomeBuilder::new(context, planned);
    draft.may_spend(allowance);
    let mut slot = Slot::default();
    teller.tell(Progress::TrialStarted {
        key: planned.key.clone(),
        limit: context
            .suite
            .settings
            .hard_limit(&planned.key.cell.scenario),
    });
    // A panic must not keep the trial from being cleaned up: keys and processes would be left.
    let came = no_panic(Box::pin(stages(&frame, &mut draft, &mut slot))).await;
    let broke_off = !matches!(came, Some(Ok(())));
    match came {
        Some(Ok(())) => {}
        Some(Err(stop)) => draft.stop(stop),
        None => draft.stop(Stop::defect("it panicked; standard error says where")),
    }
    tracing::debug!(trial = planned.key.run_id(), "cleaning up");
    frame.enter("cleanup");
    capture::scrub(&frame, &mut draft);
    clean_up(&frame, slot, &mut draft);
    draft.waited(frame.simulator.waited(), frame.simulator.builds_waited());
    if let Some(problem) = simulator::give_back(&mut frame).await {
        draft.note(problem);
    }
    let mut outcome = draft.finish();
    if broke_off {
        recover(context, planned, &mut outcome);
    }
    outcome
}

async fn stages(
    frame: &TrialContext<'_>,
    draft: &mut OutcomeBuilder,
    slot: &mut Slot,
) -> Result<(), Stop> {
    let workspace = prepare(frame, &mut slot.workspace)?;
    if !frame.mark(Stage::Started, (draft, false)) {
        return Err(Stop::no_room());
    }
    let place = simulator::turn_of_agent(frame).await?;
    let mut ready = preparation::ready(frame, workspace)?;
    slot.secrets = known_secrets(&ready.invocation);
    set_up(frame, workspace, &ready.invocation).await?;
    ready.told = asked::ask(frame, workspace, &mut ready).await?;
    let baseline = preparation::baseline(frame, workspace)?;
    start_servers(frame, workspace, &ready).await?;
    let untouched = workspace
        .noted(&frame.counts())
        .map_err(|error| Stop::setup(error.to_string()))?;
    frame.enter("agent");
    draft.starts_beside(host_load());
    let killed_before = memory_kills();
    let clock = TrialClock::now();
    let Performed {
        ending,
        mut heard,
        seen,
    } = perform(frame, workspace, &ready).await?;
    if let Some(problem) = preparation::mcp_stop(frame, workspace, &ready).await {
        draft.note(format!("mcp.stop_command {problem}"));
    }
    drop(place);
    frame.enter("grading");
    if ending.was_held {
        heard.report.lacks_what_was_open();
    }
    if let Some(note) = sessions::settle(frame, &ready, &mut heard) {
        draft.note(note);
    }
    let mut end = agent_end(&Evidence {
        kind: frame.context.agent(frame.planned).speaks(),
        ending: &ending,
        report: &heard.report,
        ended_in_fault: heard.ended_in_fault,
        memory_ran_out: memory_kills() > killed_before,
    });
    draft.doubt(&end, (&ending, &heard));
    if capture::disk_is_full(workspace, &heard) {
        end.infra = Infra::DiskFull;
    }
    if end.infra != Infra::DiskFull && !can_be_worked_in(&workspace.project_dir) {
        end.infra = Infra::WorkspaceDead;
    }
    draft.agent_ended(&end, &ending);
    if let Some(note) = last_words::note(&end, &frame.trial_dir) {
        draft.note(note);
    }
    tell_limits(frame, (workspace, &ending, &heard), draft);
    let caught = capture::capture(frame, (workspace, &untouched), draft);
    if let Some(fault) = caught.fault {
        draft.failed_by_machine(fault, &mut end);
    }
    let not_started = attest::after(frame, &heard, (seen, draft)).await;
    draft.lacked_servers(not_started, &mut end);
    capture::measure(
        frame,
        heard,
        Ended {
            clock,
            ending: &ending,
            ready: &ready,
        },
        draft,
    )
    .await;
    // Where nobody is to be asked, the row is whole at once: no mark in between, and none of its cost.
    let task = frame.context.task(frame.planned);
    let to_grade = worth_grading(&end) && task.is_some_and(|task| !task.graders.is_empty());
    if to_grade {
        if let Some(reason) = app_left::look(frame).await {
            draft.suspect(reason);
        }
        // Without what the agent left a later start could not go on from here: it runs the trial again.
        if caught.kept && !frame.mark(Stage::AgentEnded, (draft, true)) {
            draft.lacks_room(&mut end);
        }
    }
    let (spent, decided) = draft.stands();
    let left = Left {
        end: &end,
        uncontained: ending.uncontained,
        ready: &ready,
        baseline: baseline.as_ref(),
        captured: caught.captured,
        spent,
        decided,
    };
    let graded = capture::judge(frame, &mut slot.workspace, left).await;
    take_in(frame, (draft, end), (graded, to_grade));
    Ok(())
}

/// Starts what the scenario's agents need beside them, unless a person has stopped the run.
async fn start_servers(
    frame: &TrialContext<'_>,
    workspace: &Workspace,
    ready: &Ready,
) -> Result<(), Stop> {
    let not_started = preparation::mcp_start(frame, workspace, ready).await;
    let cancelled = frame.context.cancel.level() > 0;
    if not_started.is_none() && !cancelled {
        return Ok(());
    }
    // Half a server may be there.
    preparation::mcp_stop(frame, workspace, ready).await;
    Err(match not_started {
        Some(problem) if frame.context.cancel.level() == 0 => {
            Stop::setup(format!("mcp.start_command {problem}"))
        }
        _ => Stop::cancelled(),
    })
}

/// Tells which limits were reached.
fn tell_limits(
    frame: &TrialContext<'_>,
    (workspace, ending, heard): (&Workspace, &ChildEnding, &HeardAll),
    draft: &mut OutcomeBuilder,
) {
    // It is looked at now and then while an agent works, and what a quick one left was not seen.
    if disk_limit(frame, workspace).is_passed() {
        draft.hit("workspace_mib");
    }
    draft.lacked_a_price(ending, heard.unpriced.as_deref());
    draft.guessed_a_price(ending, heard.guessed.as_deref());
    let kept = frame.context.suite.settings.limits.output;
    if ending.stdout_bytes > kept || ending.stderr_bytes > kept {
        draft.hit("output_mib");
    }
    heard.limits_hit.iter().for_each(|limit| draft.hit(limit));
    if frame.context.confinement.was_full(ending) {
        draft.hit("max_processes");
    }
}

/// Takes in what the graders said, unless a person or the machine kept them from it.
fn take_in(
    frame: &TrialContext<'_>,
    (draft, mut end): (&mut OutcomeBuilder, AgentEnd),
    (graded, asked): (Graded, bool),
) {
    if asked && frame.context.cancel.level() > 0 && was_cut(&graded.verdicts) {
        return draft.awaits_grading();
    }
    if let Some(fault) = graded.fault {
        // What the agent left can be graded later where it is on disk and marked so.
        if asked && frame.trial_dir.mark_of(Stage::AgentEnded).is_some() {
            return draft.awaits_another_machine((fault, graded.why()), &mut end);
        }
        draft.failed_by_machine(fault, &mut end);
    }
    if capture::graders_lacked_room(frame, &graded) {
        draft.lacks_room(&mut end);
    }
    draft.graded(&end, graded);
    if frame.context.cancel.level() == 0 {
        // Without room for it what was judged stands: the row has some set aside.
        let has_room = frame.mark(Stage::Graded, (draft, false));
        if asked && has_room {
            capture::prune(frame, draft);
        }
    }
}

/// Whether graders that a person stopped came to no end.
pub(super) fn was_cut(verdicts: &[Verdict]) -> bool {
    matches!(grade_of(verdicts), Grade::Error | Grade::NotGraded)
}

/// All that comes before an agent may see its tree and its simulator.
async fn set_up(
    frame: &TrialContext<'_>,
    workspace: &Workspace,
    invocation: &Invocation,
) -> Result<(), Stop> {
    if let Some(task) = frame.context.task(frame.planned) {
        frame.enter("setup");
        let log = frame.trial_dir.setup_log();
        preparation::set_up(frame, workspace, (task, &invocation.extra_args, &log)).await?;
    }
    preparation::has_its_files(frame, workspace)?;
    simulator::make_ready(frame).await
}

fn prepare<'a>(
    frame: &TrialContext<'_>,
    slot: &'a mut Option<Workspace>,
) -> Result<&'a Workspace, Stop> {
    frame.enter("workspace");
    frame
        .trial_dir
        .create()
        .map_err(|error| Stop::harness("create the trial's folder", error))?;
    let parent = frame.context.scratch.join("w");
    let workspace = frame
        .context
        .template
        .prepare(&parent, &frame.short_name)
        .map_err(|error| Stop::setup(format!("workspace: {error}")))?;
    let workspace = slot.insert(workspace);
    preparation::lay_files(
        frame.context.scenario(frame.planned),
        &workspace.project_dir,
    )
    .map_err(|error| Stop::setup(format!("lay the scenario's files: {error}")))?;
    Ok(workspace)
}

/// What a trial has for itself, to be removed when it ends.
#[derive(Default)]
struct Slot {
    workspace: Option<Workspace>,
    /// The files with credentials in the private folder; `None` where there may be more than we know of.
    secrets: Option<Vec<PathBuf>>,
}

/// An agent with a home of its own may have left credentials anywhere in it.
fn known_secrets(invocation: &Invocation) -> Option<Vec<PathBuf>> {
    let has_home = invocation.private_home.is_some() || invocation.agent_home.is_some();
    (!has_home).then(|| invocation.private_files.clone())
}

/// Removes what the trial had for itself; credentials first and at once, since they must not outlive it.
fn clean_up(frame: &TrialContext<'_>, slot: Slot, draft: &mut OutcomeBuilder) {
    let bare = slot.secrets.is_some_and(|secrets| all_removed(&secrets));
    let keep = frame.context.suite.settings.keep_workdirs;
    let problems = match slot.workspace {
        Some(workspace) if bare && !keep => workspace.discard_with(&frame.private),
        workspace => {
            if let Err(problem) = remove_all(&frame.private) {
                draft.note(problem);
            }
            match workspace {
                Some(workspace) if keep => {
                    vec![format!("workdir kept: {}", workspace.keep().display())]
                }
                Some(workspace) => workspace.discard(),
                None => Vec::new(),
            }
        }
    };
    for problem in problems {
        draft.note(problem);
    }
}

fn all_removed(files: &[PathBuf]) -> bool {
    files.iter().all(|file| match fs::remove_file(file) {
        Ok(()) => true,
        Err(error) => error.kind() == ErrorKind::NotFound,
    })
}

fn remove_all(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("remove {}: {error}", folder.display()))
        }
        _ => Ok(()),
    }
}
