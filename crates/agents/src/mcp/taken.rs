//! Settings of the operator or the project that take tools of a scenario's servers away.

use std::path::Path;

use serde_json::Value;

use crate::InvocationError;
use crate::home::OperatorHome;
use crate::mcp::further::{opencode_files, opencode_settings};
use crate::mcp::gemini::{gemini_files, gemini_rules};
use crate::mcp::merged::named_by_operator;
use crate::mcp::server_names;
use crate::opencode::as_written;
use proctor_config::{AgentKind, AgentSpec, ScenarioSpec, Settings};

/// Refuses settings that would take tools of a scenario's servers away from opencode or Gemini CLI. What a file that the suite
/// itself names says is the suite's own doing.
///
/// # Errors
/// The file and the key, and what to do.
pub fn tools_taken(
    (agent, scenario, settings): (&AgentSpec, &ScenarioSpec, &Settings),
    operator: &OperatorHome,
    workdir: &Path,
) -> Result<(), InvocationError> {
    let names = scenario.mcp_config.as_deref().map(server_names);
    let names = names.unwrap_or_default();
    let home = operator.shown_under(settings);
    let files = match agent.kind {
        _ if names.is_empty() => Vec::new(),
        AgentKind::Opencode => opencode_files(&home, workdir, named_by_operator(operator, workdir)),
        AgentKind::Gemini => gemini_files(&home, workdir),
        _ => Vec::new(),
    };
    for file in files {
        let (rules, begins): (_, fn(&str) -> String) = match agent.kind {
            AgentKind::Opencode => (opencode_rules(&file, &asked_agent(agent)), as_written),
            _ => (gemini_rules(&file), |server| format!("mcp_{server}_")),
        };
        for name in &names {
            if let Some(key) = taking(&rules, &begins(name)) {
                let problem = format!(
                    "{key} takes tools of the scenario's server {name} away; take the key out while you measure"
                );
                return Err(InvocationError::Mcp {
                    path: file,
                    problem,
                });
            }
        }
    }
    Ok(())
}

/// A rule: its key, the names of tools that it speaks of, and whether it takes them.
pub(crate) type Rule = (String, String, bool);

/// The key of the last rule that takes a tool whose name begins so; a later one that gives all of them back undoes it.
pub(crate) fn taking<'r>(rules: &'r [Rule], begin: &str) -> Option<&'r str> {
    let mut found = None;
    for (key, pattern, takes) in rules {
        if *takes && may_match(pattern, begin) {
            found = Some(key.as_str());
        } else if !takes && matches_all(pattern, begin) {
            found = None;
        }
    }
    found
}

/// Whether a pattern with `*` and `?` matches any name that begins so.
fn may_match(pattern: &str, begin: &str) -> bool {
    let mut pattern = pattern.chars();
    for letter in begin.chars() {
        match pattern.next() {
            Some('*') => return true,
            Some(one) if one == '?' || one == letter => {}
            _ => return false,
        }
    }
    true
}

/// Whether it matches all names that begin so.
fn matches_all(pattern: &str, begin: &str) -> bool {
    pattern
        .strip_suffix('*')
        .is_some_and(|stem| begin.starts_with(stem))
}

/// The agent of opencode that a command asks for.
fn asked_agent(agent: &AgentSpec) -> String {
    let mut words = agent.command.iter().skip_while(|word| *word != "--agent");
    let joined = agent.command.iter();
    let mut joined = joined.filter_map(|word| word.strip_prefix("--agent="));
    let asked = words
        .nth(1)
        .map(String::as_str)
        .or_else(|| joined.next_back());
    asked.unwrap_or("build").to_owned()
}

/// The rules of a file of opencode's, those of its agent last: `tools`, which say yes or no, stand behind `permission`.
fn opencode_rules(file: &Path, agent: &str) -> Vec<Rule> {
    let settings = opencode_settings(file);
    let mut rules = Vec::new();
    let mut add = |at: &str, settings: &Value| {
        let tools = settings.get("tools").and_then(Value::as_object);
        for (pattern, says) in tools.into_iter().flatten() {
            let key = format!("{at}tools.{pattern}");
            rules.extend(says.as_bool().map(|says| (key, pattern.clone(), !says)));
        }
        let permission = settings.get("permission");
        if permission.is_some_and(|all| all == "deny") {
            rules.push((format!("{at}permission"), "*".to_owned(), true));
        }
        for (pattern, says) in permission.and_then(Value::as_object).into_iter().flatten() {
            let key = format!("{at}permission.{pattern}");
            let says = says.as_str().or_else(|| says["*"].as_str());
            rules.extend(says.map(|says| (key, pattern.clone(), says == "deny")));
        }
    };
    add("", &settings);
    for of_agents in ["mode", "agent"] {
        add(
            &format!("{of_agents}.{agent}."),
            &settings[of_agents][agent],
        );
    }
    rules
}
