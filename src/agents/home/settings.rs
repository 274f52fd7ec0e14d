//! Settings of agents, changed for a trial: without the operator's MCP servers, and quiet.

use serde_json::{Map, Value, json};

use crate::agents::jsonc::plain_json;
use crate::config::AgentKind;

/// Codex settings less their `mcp_servers`, by lines: tables of that name, and keys of it before any table.
pub(super) fn without_mcp_servers(settings: &str) -> String {
    let mut kept = String::new();
    let mut in_servers = false;
    let mut in_table = false;
    for line in settings.lines() {
        let text = line.trim_start();
        if let Some(table) = text.strip_prefix('[') {
            let name = table.trim_start_matches('[').trim_start();
            in_table = true;
            in_servers = is_mcp_key(name);
        } else if !in_table {
            in_servers = is_mcp_key(text);
        }
        if !in_servers {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn is_mcp_key(text: &str) -> bool {
    let bare = text.trim_start_matches(['"', '\'']);
    bare.strip_prefix("mcp_servers")
        .is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_'))
}

/// The settings of a Gemini CLI or a Qwen Code for a trial: the operator's less their MCP servers, or nothing of them but
/// the way to log in; no statistics, no telemetry, no update. `has_login`: a browser's login was copied.
pub(super) fn quiet(
    kind: AgentKind,
    operator: Option<&str>,
    (with_settings, has_login): (bool, bool),
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
pub(in crate::agents) fn set(settings: &mut Map<String, Value>, name: &str, values: &Value) {
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
