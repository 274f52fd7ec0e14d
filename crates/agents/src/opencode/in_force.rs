//! What opencode itself tells of the settings that it goes by (`opencode debug`): its servers, and what its agent may use.

use std::collections::BTreeSet;
use std::ffi::OsString;

use serde_json::{Map, Value, json};

use crate::answer::{Answer, Asked};
use crate::opencode::tool_rules::{Rule, taking};
use crate::opencode::{OWN_TOOLS, as_written};
use crate::start::{Invocation, OPENCODE_CONTENT};

/// The agent of opencode that works where nobody names one.
const USUAL: &str = "build";
/// What a value is where `opencode debug` hides it.
const HIDDEN: &str = "***";
/// How a value says that it stands for another one, which opencode puts in its place.
const STANDS_FOR: [&str; 2] = ["{env:", "{file:"];
/// Words of `opencode run` after which its settings are others than those of the folder that it is started in.
const ELSEWHERE: [&str; 2] = ["--dir", "--attach"];

/// Its question: first for the settings, then for the agent that will work.
#[derive(Debug)]
pub(crate) struct InForce {
    /// Its command line up to `run`; or why there is none.
    program: Result<Vec<OsString>, String>,
    /// The agent that the command line names.
    named: Option<String>,
    /// The servers that it was given, as they are to be.
    given: Map<String, Value>,
    /// What is put over all other settings: rules in it are the suite's own doing.
    content: Value,
    /// The agent that was asked for last; none while the settings are.
    asked: Option<String>,
}

impl InForce {
    /// The question for an opencode that is to be started so.
    pub(crate) fn of(invocation: &Invocation) -> Self {
        let Invocation { argv, env, .. } = invocation;
        let texts: Vec<&str> = argv
            .iter()
            .map(|word| word.to_str().unwrap_or(""))
            .collect();
        let end = texts.iter().position(|word| *word == "--");
        let words = &texts[..end.unwrap_or(texts.len())];
        let run = words.iter().skip(1).position(|word| *word == "run");
        let program = match run.map(|before| before + 1) {
            None => Err("its command has no word `run`".to_owned()),
            Some(run) => {
                let options = &words[run..];
                let elsewhere = ELSEWHERE.iter().find(|name| value(options, name).is_some());
                match elsewhere {
                    Some(name) => Err(format!("with {name} it goes by settings of another place")),
                    None => Ok(argv[..run].to_vec()),
                }
            }
        };
        let content = env.iter().find(|(name, _)| name == OPENCODE_CONTENT);
        let content = content.and_then(|(_, text)| text.to_str());
        let content: Value = content
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let mut given = content["mcp"].as_object().cloned().unwrap_or_default();
        given.retain(|_, server| is_on(server));
        Self {
            program,
            named: value(words, "--agent").map(str::to_owned),
            given,
            content,
            asked: None,
        }
    }

    /// What it is asked first.
    pub(crate) fn first(&self) -> Asked {
        self.ask(&["config"])
    }

    fn ask(&self, words: &[&str]) -> Asked {
        match &self.program {
            Err(why) => Asked::Untold(why.clone()),
            Ok(program) => {
                let words = ["debug"].iter().chain(words);
                let program = program.iter().cloned();
                Asked::Further(program.chain(words.map(OsString::from)).collect())
            }
        }
    }

    /// What follows from an answer.
    pub(crate) fn heard(&mut self, answer: &Answer) -> Asked {
        let told = serde_json::from_slice(&answer.stdout).ok();
        let told = told.filter(Value::is_object).filter(|_| answer.succeeded);
        match (&self.asked, told) {
            (Some(name), None) if self.is_named(name) && lacks(answer, name) => {
                Asked::Refused(format!(
                    "opencode has no agent {name}, and another one would work in its place; name one that it has (`opencode agent list`); a jail shows an agent in a Markdown file of yours (~/.config/opencode/agents) only where suite.lend names that folder"
                ))
            }
            (_, None) => Asked::Untold(format!("`opencode debug`: {}", answer.ended)),
            (None, Some(settings)) => self.settings(&settings),
            (Some(name), Some(agent)) => self.agent(name, &agent),
        }
    }

    fn is_named(&self, name: &str) -> bool {
        self.named.as_deref() == Some(name) || name != USUAL
    }

    /// The servers must be those that it was given; of the agent it is asked where that may take tools, or may not be there.
    fn settings(&mut self, settings: &Value) -> Asked {
        let servers = &settings["mcp"];
        let foreign = self.foreign(servers);
        if let Some(why) = self.stubborn(&foreign) {
            return Asked::Refused(why);
        }
        if !foreign.is_empty() {
            return Asked::Foreign(foreign);
        }
        if let Some(why) = self.changed(servers) {
            return Asked::Refused(why);
        }
        let by_default = settings["default_agent"].as_str().map(str::to_owned);
        let name = self.named.clone().or(by_default);
        if name.is_none() && self.given.is_empty() {
            return Asked::Fit;
        }
        let name = name.unwrap_or_else(|| USUAL.to_owned());
        let next = self.ask(&["agent", &name]);
        self.asked = Some(name);
        next
    }

    /// Servers that it would start and was not given.
    fn foreign(&self, told: &Value) -> BTreeSet<String> {
        let all = told.as_object().into_iter().flatten();
        let foreign = all.filter(|(name, it)| is_on(it) && !self.given.contains_key(*name));
        foreign.map(|(name, _)| name.clone()).collect()
    }

    /// One of these that was switched off, and is on all the same.
    fn stubborn(&self, foreign: &BTreeSet<String>) -> Option<String> {
        let is_off = |name: &&String| self.content["mcp"].get(*name).is_some();
        foreign.iter().find(is_off).map(|name| format!(
            "opencode would start the MCP server {name}, which the scenario does not name, from settings that stand above those of a run; take it out of them while you measure (`opencode debug config` shows what is in force with the environment of the trial)"
        ))
    }

    fn changed(&self, told: &Value) -> Option<String> {
        self.given.iter().find_map(|(name, given)| {
            let key = unlike(given, &told[name])?;
            Some(format!(
                "opencode would not take the scenario's MCP server {name} as it is: other settings change mcp.{name}{key}; take that out of them while you measure (`opencode debug config` shows what is in force with the environment of the trial)"
            ))
        })
    }

    /// Whether the suite itself has a rule for these tools.
    fn is_own(&self, agent: &str, (_, tools, _): &Rule) -> bool {
        let places = [&self.content, &self.content["agent"][agent]];
        let mut rules = places
            .iter()
            .flat_map(|at| [&at["permission"], &at["tools"]]);
        rules.any(|rules| !rules[tools].is_null())
    }

    fn agent(&self, name: &str, agent: &Value) -> Asked {
        if agent["mode"] == "subagent" {
            return Asked::Refused(format!(
                "the agent {name} of opencode is a sub-agent, and another one would work in its place; name a primary one (`opencode agent list`)"
            ));
        }
        let Some(rules) = agent["permission"].as_array() else {
            return Asked::Untold("`opencode debug agent` told no permissions".to_owned());
        };
        let rules = rules.iter().filter_map(rule);
        let rules: Vec<Rule> = rules.filter(|rule| !self.is_own(name, rule)).collect();
        let mut servers = self.given.keys();
        let taken = servers.find_map(|server| {
            let key = taking(&rules, &as_written(server))?;
            Some(format!(
                "{key} in the settings of opencode takes tools of the scenario's server {server} away from the agent {name}; take the rule out while you measure (`opencode debug agent {name}` shows what is in force with the environment of the trial)"
            ))
        });
        taken.map_or(Asked::Fit, Asked::Refused)
    }
}

/// Switches these servers off, above all other settings.
pub fn without_servers(invocation: &mut Invocation, servers: &BTreeSet<String>) {
    let mut env = invocation.env.iter_mut();
    let Some((_, text)) = env.find(|(name, _)| name == OPENCODE_CONTENT) else {
        return;
    };
    let content = text
        .to_str()
        .and_then(|text| serde_json::from_str(text).ok());
    let mut content: Value = content.unwrap_or_default();
    for name in servers {
        content["mcp"][name] = json!({"enabled": false});
    }
    *text = content.to_string().into();
}

/// A rule that says something of MCP tools, which are asked for with the pattern `*`.
fn rule(told: &Value) -> Option<Rule> {
    let [tools, pattern, action] =
        ["permission", "pattern", "action"].map(|key| told[key].as_str());
    let tools = tools.filter(|tools| !OWN_TOOLS.contains(tools))?;
    let takes = action? == "deny";
    let key = format!("permission.{tools}: {}", action?);
    (pattern? == "*").then(|| (key, tools.to_owned(), takes))
}

/// Whether a server is started.
fn is_on(server: &Value) -> bool {
    server["enabled"] != false
}

/// Whether it says that it has no agent of this name.
fn lacks(answer: &Answer, name: &str) -> bool {
    String::from_utf8_lossy(&answer.stderr).contains(&format!("{name} not found"))
}

/// The value of an option, which stands behind it or with `=` in the same word; the last one.
fn value<'a>(words: &[&'a str], option: &str) -> Option<&'a str> {
    let behind = words.windows(2).filter(|pair| pair[0] == option);
    let behind = behind.map(|pair| pair[1]);
    let joined = words.iter().filter_map(|word| {
        let rest = word.strip_prefix(option)?;
        rest.strip_prefix('=')
    });
    behind.chain(joined).last()
}

/// The first key, with a dot before each of its parts, that is not in both or not the same.
fn unlike(given: &Value, told: &Value) -> Option<String> {
    match (given, told) {
        (Value::Object(given), Value::Object(told)) => {
            let empty = Value::Null;
            let keys = given.keys().chain(told.keys());
            keys.map(|key| {
                let of = |map: &Map<String, Value>| map.get(key).unwrap_or(&empty).clone();
                unlike(&of(given), &of(told)).map(|rest| format!(".{key}{rest}"))
            })
            .find_map(|key| key)
        }
        (Value::Array(given), Value::Array(told)) if given.len() == told.len() => {
            let mut pairs = given.iter().zip(told);
            pairs.find_map(|(given, told)| unlike(given, told))
        }
        (Value::Object(given), Value::Null) if given.is_empty() => None,
        (Value::Number(given), Value::Number(told)) => {
            (given.as_f64() != told.as_f64()).then(String::new)
        }
        (Value::String(given), Value::String(told)) => {
            let is_shown =
                !told.contains(HIDDEN) && !STANDS_FOR.iter().any(|it| given.contains(it));
            (is_shown && given != told).then(String::new)
        }
        (given, told) => (given != told).then(String::new),
    }
}

#[cfg(test)]
mod tests;
