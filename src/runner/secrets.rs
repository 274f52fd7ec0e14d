//! What a run must never write: the secrets among the variables of the operator and of the suite, and in the logins of its
//! agents.

use std::collections::BTreeSet;
use std::ffi::OsString;

use serde_json::Value;

use crate::agents::{OperatorHome, login_texts, server_variables, texts_of};
use crate::config::{AgentKind, Suite};
use crate::judge::keys;
use crate::record::Redactor;

/// Knows the values of all variables whose names say that they are secret: the operator's, the agents', the scenarios',
/// the suite's, and those of MCP servers with their headers; and what logs the suite's agents in, as it lies on disk now.
pub(super) fn redactor(suite: &Suite) -> Redactor {
    let environment: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    let operator = environment
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
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
    let inside: Vec<(String, String)> = variables
        .iter()
        .filter_map(|(_, value)| serde_json::from_str(value).ok())
        .flat_map(|settings: Value| texts_of(&settings))
        .map(|(keys, text)| (keys.rsplit('/').next().unwrap_or_default().to_owned(), text))
        .collect();
    variables.extend(inside);
    let operator = OperatorHome::from_env();
    let agents = suite.agents.iter().chain(&suite.further_agents);
    let kinds: BTreeSet<&str> = agents.map(|agent| agent.kind.as_str()).collect();
    let kinds = AgentKind::ALL
        .into_iter()
        .filter(|kind| kinds.contains(kind.as_str()));
    variables.extend(kinds.flat_map(|kind| login_texts(kind, &operator)));
    let mut redactor = Redactor::from_variables(
        variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    // Whatever its name, what holds a judge's key is a secret.
    for (name, value) in suite
        .judge
        .iter()
        .flat_map(|judge| keys(judge, &environment))
    {
        redactor.add(name, value);
    }
    redactor
}
