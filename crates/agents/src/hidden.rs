//! Tools by which agents work whose calls are in no stream: nobody could judge what they did, or count it.

use proctor_config::{AgentKind, AgentSpec, ScenarioSpec};

/// Claude Code's scripts of agents: the stream has their call, and nothing of what they call in turn.
const WORKFLOW: &str = "Workflow";

/// Whether the calls that a tool of this name makes are in no stream.
#[must_use]
pub fn hides_its_calls(name: &str) -> bool {
    name == WORKFLOW
}

/// The arguments that switch such tools off; none where the command line or the scenario names one and so settles it itself.
pub(super) fn switches(agent: &AgentSpec, scenario: &ScenarioSpec) -> &'static [&'static str] {
    let given = scenario.agent_args.iter().flat_map(|(_, words)| words);
    let mut words = agent.command.iter().chain(given);
    let names_one = words.any(|word| word.contains(WORKFLOW));
    match agent.kind {
        AgentKind::ClaudeCode if !names_one => &["--disallowedTools=Workflow"],
        _ => &[],
    }
}
