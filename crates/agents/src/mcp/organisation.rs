//! Settings that opencode fetches from an organisation to which somebody is logged in: no run knows them beforehand.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::InvocationError;
use crate::home::OperatorHome;
use proctor_config::{AgentSpec, ScenarioSpec, Settings};

/// The variable with logins that opencode takes instead of its file.
const LOGINS: &str = "OPENCODE_AUTH_CONTENT";

/// Refuses a login of the type `wellknown`: opencode asks its address for settings before each run, and nothing switches the MCP
/// servers in them off. The login is the agent's also in a home of the trial's own, where it is copied.
///
/// # Errors
/// The file and the login, and what to do.
pub(super) fn refuse_organisation(
    (agent, scenario, settings): (&AgentSpec, &ScenarioSpec, &Settings),
    operator: &OperatorHome,
) -> Result<(), InvocationError> {
    let sets = [&agent.env, &scenario.env, &settings.env];
    let set = |name| sets.iter().find_map(|env| env.get(name));
    let folder = match set("XDG_DATA_HOME") {
        Some(data) => Some(Path::new(data).join("opencode")),
        None => operator.opencode.clone(),
    };
    let file = folder.map(|folder| folder.join("auth.json"));
    let (path, text) = match (set(LOGINS), file) {
        (Some(text), _) => (PathBuf::from(LOGINS), text.clone()),
        (None, Some(file)) => {
            let text = fs::read_to_string(&file).unwrap_or_default();
            (file, text)
        }
        (None, None) => return Ok(()),
    };
    let logins: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
    let mut logins = logins.iter();
    let Some((name, _)) = logins.find(|(_, login)| login["type"] == "wellknown") else {
        return Ok(());
    };
    let problem = format!(
        "{name}: with this login (type wellknown) opencode takes settings and MCP servers from that address, which no run can switch off; log out of it while you measure (opencode auth logout), or start proctor with an XDG_DATA_HOME whose opencode/auth.json has other logins alone"
    );
    Err(InvocationError::Mcp { path, problem })
}
