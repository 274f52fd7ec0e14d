//! Checks that ask judges where the config names none: told at the key that asks.

use crate::at::At;
use crate::node::{Entry, Node};
use crate::{Suite, TaskSpec};

/// The keys that ask judges.
const KEYS: [&str; 4] = [
    "refutes_premise",
    "llm_judge",
    "safety_check",
    "hallucination_check",
];

/// Says where judges are asked though there are none, in the config and in the tasks.
pub(super) fn unjudged(suite: &Suite, config: &At<'_>, tasks: &At<'_>) {
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
        match in_task(&tasks.key("tasks").item(index)) {
            Some(found) => say(&found),
            None => by_default = true,
        }
    }
    if by_default {
        let answer = config.key("suite").key("defaults").key("answer");
        say(&in_answer(&answer).unwrap_or(answer));
    }
}

fn say(at: &At<'_>) {
    at.error("asks a judge, and the config has no `judge`")
        .hint(
            "say who judges under `judge` of the config, see docs/checks.md, or take the key away",
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
