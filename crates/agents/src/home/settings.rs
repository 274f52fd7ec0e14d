//! Settings of agents, changed for a trial: without the operator's MCP servers, and quiet.

use serde_json::{Map, Value, json};

use crate::jsonc::plain_json;
use proctor_config::AgentKind;

/// Codex settings less their `mcp_servers`, tables and dotted keys alike, written anew without comments.
///
/// # Errors
/// What is no TOML, which Codex would not take either.
pub(super) fn without_mcp_servers(settings: &str) -> Result<String, String> {
    let mut settings: toml::Table = toml::from_str(settings).map_err(|error| error.to_string())?;
    settings.remove("mcp_servers");
    toml::to_string(&settings).map_err(|error| error.to_string())
}

/// The settings of a Gemini CLI or a Qwen Code for a trial: the operator's less their MCP servers, or nothing of them but
/// the way to log in; no statistics, no telemetry, no update. `has_login`: a browser's login was copied.
pub(super) fn quiet(
    kind: AgentKind,
    operator: Option<&str>,
    with_settings: bool,
    has_login: bool,
) -> String {
    let known: Option<Map<String, Value>> =
        operator.and_then(|text| serde_json::from_str(&plain_json(text)).ok());
    let known = known.unwrap_or_default();
    let mut settings = if with_settings {
        known
    } else {
        let kept = ["security", "selectedAuthType"];
        let known = known.into_iter();
        known
            .filter(|(name, _)| kept.contains(&name.as_str()))
            .collect()
    };
    for name in ["mcpServers", "mcp", "allowMCPServers", "excludeMCPServers"] {
        settings.remove(name);
    }
    set(
        &mut settings,
        "privacy",
        &json!({"usageStatisticsEnabled": false}),
    );
    set(&mut settings, "telemetry", &json!({"enabled": false}));
    let update = json!({"enableAutoUpdate": false, "disableAutoUpdate": true});
    set(&mut settings, "general", &update);
    let chosen = match (kind, has_login) {
        (AgentKind::Gemini, true) => Some("oauth-personal"),
        // Without a choice it does not even look for its key.
        (AgentKind::Gemini, false) => Some("gemini-api-key"),
        (_, true) => Some("qwen-oauth"),
        (_, false) => None,
    };
    let has_chosen = settings.contains_key("selectedAuthType")
        || settings
            .get("security")
            .and_then(|security| security.pointer("/auth/selectedType"))
            .is_some();
    if let Some(chosen) = chosen.filter(|_| !has_chosen) {
        let auth = json!({"auth": {"selectedType": chosen}});
        set(&mut settings, "security", &auth);
    }
    format!("{:#}\n", Value::Object(settings))
}

/// Sets keys of the object `name`, which is made if it is none; a list that is there is added to.
pub(crate) fn set(settings: &mut Map<String, Value>, name: &str, values: &Value) {
    let entry = settings.entry(name).or_insert_with(|| json!({}));
    if !entry.is_object() {
        *entry = json!({});
    }
    let (Some(entry), Some(values)) = (entry.as_object_mut(), values.as_object()) else {
        return;
    };
    for (key, value) in values {
        match (
            entry.get_mut(key).and_then(Value::as_array_mut),
            value.as_array(),
        ) {
            (Some(known), Some(more)) => {
                let new: Vec<Value> = more
                    .iter()
                    .filter(|one| !known.contains(one))
                    .cloned()
                    .collect();
                known.extend(new);
            }
            _ => {
                entry.insert(key.clone(), value.clone());
            }
        }
    }
}
