//! The tokens of a trial once its agent is gone: what its stream told, and what its session files add.

use std::path::PathBuf;

use crate::trial::jail;
use crate::trial::listener::HeardAll;
use crate::trial::preparation::Ready;
use crate::trial::trial_context::TrialContext;
use proctor_agents::{
    SessionTokens, asked_model, profile, session_tokens, settle_fault, settle_model, settle_usage,
};
use proctor_model::Isolation;

/// Completes what was heard: the token counts, the model, and why an agent was silent; gives a sentence where stream and files
/// tell different things.
pub(super) fn settle(
    frame: &TrialContext<'_>,
    ready: &Ready,
    heard: &mut HeardAll,
) -> Option<String> {
    let agent = frame.context.agent(frame.planned);
    let folder = own_folder(frame, ready);
    let mut tokens = folder.map_or_else(SessionTokens::default, |folder| {
        session_tokens(agent.kind, &folder)
    });
    if settle_fault(&mut tokens, &mut heard.report) {
        heard.ended_in_fault = true;
        // A command that hangs could have written it.
        heard.fault_beside_command |= heard.command_open;
    }
    let note = settle_usage(agent.speaks(), tokens, &mut heard.report);
    let asked = asked_model(&ready.invocation.argv);
    settle_model(agent.speaks(), asked, &mut heard.report);
    if heard.report.broke_off {
        heard.report.lacks_what_was_open();
    }
    note
}

/// Whether what an agent keeps in its home is the trial's alone, and goes with it.
pub(super) fn home_is_own(frame: &TrialContext<'_>) -> bool {
    let settings = &frame.context.suite.settings;
    settings.clean_agent_env || frame.context.confinement.level == Isolation::Jail
}

/// The agent's own folder, where it is the trial's: given to it as such, or in the home that a jail shows.
fn own_folder(frame: &TrialContext<'_>, ready: &Ready) -> Option<PathBuf> {
    if let Some(folder) = &ready.invocation.agent_home {
        return Some(folder.clone());
    }
    let usual = profile(frame.context.agent(frame.planned).kind)
        .own_folder?
        .in_home;
    let jailed = frame.context.confinement.level == Isolation::Jail;
    jailed.then(|| jail::home_of_agent(frame).join(usual))
}
