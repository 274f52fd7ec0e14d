//! Checks that ask judges where the config names none: told at the key that asks.

use crate::node::Node;
use crate::problem::{Place, Report};
use crate::{GraderSpec, Suite, TaskSpec};

/// The keys that ask judges.
const KEYS: [&str; 4] = [
    "refutes_premise",
    "llm_judge",
    "safety_check",
    "hallucination_check",
];

/// Says where judges are asked though there are none. `trees` are the config's and that of the tasks, `reports` likewise.
pub(super) fn unjudged(
    suite: &Suite,
    (config, tasks): (Option<&Node>, Option<&Node>),
    reports: &mut (Report, Report),
) {
    if suite.judge.is_some() {
        return;
    }
    let list = tasks.map(|root| root.get("tasks").unwrap_or(root));
    let items = list.and_then(Node::list).unwrap_or_default();
    let mut by_default = false;
    for (index, task) in suite.tasks.iter().enumerate() {
        if !asks(task) {
            continue;
        }
        let found = items
            .get(index)
            .and_then(|node| in_task(node, &format!("tasks[{index}]")));
        match found {
            Some((place, key)) => say(&mut reports.1, place, &key),
            None => by_default = true,
        }
    }
    if by_default {
        let defaults = config.and_then(|root| root.get("suite")?.get("defaults"));
        let found =
            defaults.and_then(|node| in_answer(node.get("answer")?, "suite.defaults.answer"));
        let (place, key) = found.unwrap_or((Place::default(), "suite.defaults.answer".to_owned()));
        say(&mut reports.0, place, &key);
    }
}

fn say(report: &mut Report, place: Place, key: &str) {
    report
        .error(place, key, "asks a judge, and the config has no `judge`")
        .hint(
            "say who judges under `judge` of the config, see docs/judge.md, or take the key away",
        );
}

fn asks(task: &TaskSpec) -> bool {
    task.graders.iter().any(|grader| match grader {
        GraderSpec::Answer(spec) => spec.questions().next().is_some(),
        _ => false,
    })
}

/// The first key of a task that asks.
fn in_task(task: &Node, path: &str) -> Option<(Place, String)> {
    let graders = task.get("graders").and_then(Node::list);
    let mut graders = graders.unwrap_or_default().iter().enumerate();
    let of_graders = graders.find_map(|(index, grader)| {
        let is_answer = grader.get("type").and_then(Node::text) == Some("answer");
        is_answer.then(|| in_answer(grader, &format!("{path}.graders[{index}]")))?
    });
    of_graders.or_else(|| {
        let answer = task.get("expect")?.get("answer")?;
        in_answer(answer, &format!("{path}.expect.answer"))
    })
}

fn in_answer(answer: &Node, path: &str) -> Option<(Place, String)> {
    let entries = answer.map().unwrap_or_default().iter();
    let mut asking = entries.filter(|entry| {
        let off = entry.value.is_null() || entry.value.boolean() == Some(false);
        KEYS.contains(&entry.key.as_str()) && !off
    });
    asking
        .next()
        .map(|entry| (entry.key_place, format!("{path}.{}", entry.key)))
}
