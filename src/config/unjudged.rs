//! Checks that ask judges where the config names none: told at the key that asks.

use crate::config::at::At;
use crate::config::node::{Entry, Node};
use crate::config::problem::Report;
use crate::config::{Suite, TaskSpec};

/// The keys that ask judges.
const KEYS: [&str; 4] = [
    "refutes_premise",
    "llm_judge",
    "safety_check",
    "hallucination_check",
];

/// Says where judges are asked though there are none, in the config and in the tasks.
pub(super) fn unjudged(
    suite: &Suite,
    (config, tasks): (Option<&At<'_>>, Option<&At<'_>>),
    reports: &mut (Report, Report),
) {
    if suite.judge.is_some() {
        return;
    }
    let mut by_default = false;
    let asking = suite
        .tasks
        .iter()
        .enumerate()
        .filter(|(_, task)| asks(task));
    for (index, _) in asking {
        match tasks.and_then(|root| in_task(&root.key("tasks").item(index))) {
            Some(found) => say(&found, &mut reports.1),
            None => by_default = true,
        }
    }
    if let Some(root) = config.filter(|_| by_default) {
        let answer = root.key("suite").key("defaults").key("answer");
        let found = in_answer(&answer);
        say(&found.unwrap_or(answer), &mut reports.0);
    }
}

fn say(at: &At<'_>, report: &mut Report) {
    at.error(report, "asks a judge, and the config has no `judge`")
        .hint(
            "say who judges under `judge` of the config, see docs/judge.md, or take the key away",
        );
}

fn asks(task: &TaskSpec) -> bool {
    task.graders
        .iter()
        .any(|grader| grader.questions().next().is_some())
}

/// The first key of a task that asks.
fn in_task<'a>(task: &At<'a>) -> Option<At<'a>> {
    let lists = ["graders", "held_out_graders"].map(|key| task.key(key));
    let graders = lists.iter().flat_map(At::items);
    let mut answers = graders.filter(|grader| grader.key("type").word() == Some("answer"));
    let found = answers.find_map(|grader| in_answer(&grader));
    found.or_else(|| in_answer(&task.key("expect").key("answer")))
}

fn in_answer<'a>(answer: &At<'a>) -> Option<At<'a>> {
    let entries = answer.node().and_then(Node::map).unwrap_or_default();
    let asks = |entry: &&Entry| {
        let off = entry.value.is_null() || entry.value.boolean() == Some(false);
        KEYS.contains(&entry.key.as_str()) && !off
    };
    let entry = entries.iter().find(asks)?;
    Some(answer.key(&entry.key).placed(entry.key_place))
}
