//! What a run must never write: the secrets among the variables of the operator and of the suite.

use crate::agents::server_variables;
use crate::config::Suite;
use crate::record::Redactor;

/// Knows the values of all variables whose names say that they are secret: the operator's, the agents', the scenarios',
/// the suite's, and those of MCP servers with their headers.
pub(super) fn redactor(suite: &Suite) -> Redactor {
    let operator = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let servers = suite
        .scenarios
        .iter()
        .filter_map(|scenario| scenario.mcp_config.as_deref())
        .flat_map(server_variables);
    let mut variables: Vec<(String, String)> = operator.chain(servers).collect();
    let agents = suite.agents.iter().chain(&suite.further_agents);
    let agents = agents.map(|agent| &agent.env);
    let scenarios = suite.scenarios.iter().map(|scenario| &scenario.env);
    for written in agents
        .chain(scenarios)
        .chain([&suite.settings.env, &suite.mcp.env])
    {
        variables.extend(written.clone());
    }
    Redactor::from_variables(
        variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    )
}
