//! What a run must never write: the secrets among the variables of the operator and of the suite.

use serde_json::Value;

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
    let keys = suite.judge.iter().flat_map(|judge| &judge.judges);
    let keys = keys.filter_map(|judge| judge.provider.server()?.key_variable.as_deref());
    // Whatever its name, what holds a judge's key is a secret.
    let keys: Vec<(String, String)> = keys
        .filter_map(|name| Some((name.to_owned(), std::env::var(name).ok()?)))
        .collect();
    let inside: Vec<(String, String)> = variables
        .iter()
        .filter_map(|(_, value)| serde_json::from_str(value).ok())
        .flat_map(|settings| texts_of(&settings))
        .collect();
    variables.extend(inside);
    let mut redactor = Redactor::from_variables(
        variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    for (name, value) in keys {
        redactor.add(&name, &value);
    }
    redactor
}

/// The texts in settings that a variable holds whole (opencode's do), each with its key; not those that only name a variable.
fn texts_of(settings: &Value) -> Vec<(String, String)> {
    let Value::Object(fields) = settings else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, value) in fields {
        match value {
            Value::String(text) if !text.contains("{env:") && !text.contains("{file:") => {
                found.push((key.clone(), text.clone()));
            }
            value => found.extend(texts_of(value)),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_inside_of_settings_are_known() {
        let settings = serde_json::json!({
            "provider": {"x": {"options": {"apiKey": "canary-1", "baseURL": "http://x"}, "headers": {"Authorization": "{env:KEY}"}}},
        });
        let found = texts_of(&settings);
        let pair = |key: &str, text: &str| (key.to_owned(), text.to_owned());
        assert_eq!(
            found,
            [pair("apiKey", "canary-1"), pair("baseURL", "http://x")]
        );
        assert!(texts_of(&Value::from("text")).is_empty());
    }
}
