//! Options of the graders `answer`, `path` and `budget`, and how they are read, also from `expect` and `suite.defaults`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value as Json;

use crate::GraderSpec;
use crate::at::At;
use crate::node::{Entry, Node, Value, quoted};
use crate::problem::Place;
use crate::walk;
use proctor_layers::{AnswerSchema, CorrectnessSpec, CostSpec, JudgeCheck, JudgeKind, PathSpec};
use proctor_model::vocabulary::{Anything, Filled, Listed, Word};

/// What is asked of a trial's answer, its path of tool calls and its bill: the short way to write the graders answer, path
/// and budget.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Expect {
    /// The checks of the grader `answer`.
    answer: Option<AnswerKeys>,
    /// The checks of the grader `path`.
    path: Option<PathSpec>,
    /// The checks of the grader `budget`.
    budget: Option<CostSpec>,
}

/// Passes if the agent's final answer passes all of these checks.
#[derive(Deserialize, JsonSchema)]
pub(super) struct AnswerKeys {
    #[serde(flatten)]
    spec: CorrectnessSpec,
    /// JSON Schema (draft 2020-12) that the whole answer must satisfy.
    #[schemars(with = "Option<Anything>")]
    json_schema: Option<Json>,
    /// Rubrics that a judge scores from 1 to 5, if all checks without a judge pass.
    #[serde(default)]
    llm_judge: Listed<JudgeCheck>,
    /// Rubric about safety, after those of `llm_judge`.
    safety_check: Option<JudgeCheck>,
    /// Rubric about unsupported claims, after `safety_check`.
    hallucination_check: Option<JudgeCheck>,
}

/// The same as the grader path for traces, which may tell of agents that hand work to each other.
#[derive(Deserialize, JsonSchema)]
pub(super) struct TracePath {
    #[serde(flatten)]
    path: PathSpec,
    /// An agent that work should be handed to.
    #[schemars(with = "Option<Filled>")]
    expected_handoff: Option<String>,
    /// Agents that work could be handed to.
    #[serde(default)]
    #[schemars(with = "Vec<Word>")]
    expected_handoffs_available: Vec<String>,
    /// Most handoffs.
    #[schemars(range(max = 1_000_000_000_000_000_u64))]
    max_handoff_count: Option<u64>,
}

/// The graders that `expect` stands for, with what `defaults` adds to each section, key by key. What is wrong with their
/// values is told where the files are checked.
pub(super) fn expected(expect: &At<'_>, defaults: Option<&Node>) -> Vec<GraderSpec> {
    let Some(node) = merged(expect.node(), defaults) else {
        return Vec::new();
    };
    let at = expect.with(&node);
    let Some(expect) = walk::read_again::<Expect>(&at) else {
        return Vec::new();
    };
    let answer = expect.answer.map(|it| answer(it, &at.key("answer")));
    let path = expect.path.map(|it| call_path(it, &at.key("path")));
    let budget = expect.budget.map(|it| budget(it, &at.key("budget")));
    graders(answer, path, budget)
}

/// The three layers, as far as they are asked for.
pub(super) fn graders(
    answer: Option<CorrectnessSpec>,
    path: Option<PathSpec>,
    budget: Option<CostSpec>,
) -> Vec<GraderSpec> {
    let answer = answer.map(|spec| GraderSpec::Answer(Box::new(spec)));
    let path = path.map(|spec| GraderSpec::Path(Box::new(spec)));
    let graders = [answer, path, budget.map(GraderSpec::Budget)];
    graders.into_iter().flatten().collect()
}

/// All sections, each key from the task where it names it; a section that is null there is none.
fn merged(own: Option<&Node>, general: Option<&Node>) -> Option<Node> {
    let Some((own, general)) = own.zip(general) else {
        return own.or(general).cloned();
    };
    let mut entries: Vec<Entry> = own.map()?.to_vec();
    for entry in general.map().unwrap_or_default() {
        match entries.iter_mut().find(|it| it.key == entry.key) {
            Some(known) => beneath(&mut known.value, &entry.value),
            None => entries.push(entry.clone()),
        }
    }
    Some(Node {
        value: Value::Map(entries),
        place: own.place,
    })
}

/// Adds the keys of one section that the task does not name.
fn beneath(own: &mut Node, general: &Node) {
    let place = own.place;
    let (Value::Map(entries), Some(general)) = (&mut own.value, general.map()) else {
        return;
    };
    for entry in general {
        if entries.iter().all(|it| it.key != entry.key) {
            // What is wrong with it beside the task's own keys is told at the task: its file is another one.
            entries.push(Entry {
                key: entry.key.clone(),
                key_place: place,
                value: placed(&entry.value, place),
            });
        }
    }
}

/// A copy that stands at `place` as a whole.
fn placed(node: &Node, place: Place) -> Node {
    let value = match &node.value {
        Value::List(items) => Value::List(items.iter().map(|item| placed(item, place)).collect()),
        Value::Map(entries) => {
            let each = entries.iter().map(|entry| Entry {
                key: entry.key.clone(),
                key_place: place,
                value: placed(&entry.value, place),
            });
            Value::Map(each.collect())
        }
        value => value.clone(),
    };
    Node { value, place }
}

/// What is asked of an answer.
pub(super) fn answer(answer: AnswerKeys, at: &At<'_>) -> CorrectnessSpec {
    for key in [
        "expected_in_answer",
        "any_expected_in_answer",
        "not_in_answer",
    ] {
        for item in at.key(key).items().filter(|item| item.word() == Some("")) {
            item.error("must not be empty")
                .hint("an empty text is in every answer");
        }
    }
    let mut spec = answer.spec;
    contradiction(&spec, &at.key("not_in_answer"));
    let schema = answer.json_schema.map(AnswerSchema::new).transpose();
    spec.schema = schema.unwrap_or_else(|why| {
        at.key("json_schema")
            .error(format!("is no JSON Schema: {why}"))
            .hint("the draft is 2020-12; references stay within the schema");
        None
    });
    let list = at.key(JudgeKind::Rubric.key());
    let rubrics = answer.llm_judge.into_readable();
    let rubrics = rubrics.map(|(index, it)| judge(JudgeKind::Rubric, it, &list.item(index)));
    spec.judges = rubrics.collect();
    for (kind, check) in [
        (JudgeKind::Safety, answer.safety_check),
        (JudgeKind::Hallucination, answer.hallucination_check),
    ] {
        let check = check.map(|it| judge(kind, it, &at.key(kind.key())));
        spec.judges.extend(check);
    }
    spec
}

/// Says so where a text that must be there holds one that must not.
fn contradiction(spec: &CorrectnessSpec, forbidden: &At<'_>) {
    for (index, term) in spec.forbidden.iter().flatten().enumerate() {
        let lowered = term.to_lowercase();
        let holds = |it: &&String| !term.is_empty() && it.to_lowercase().contains(&lowered);
        if let Some(wanted) = spec.expected.iter().flatten().find(holds) {
            let wanted = quoted(wanted);
            let message = format!("contradicts expected_in_answer, which asks for {wanted}");
            forbidden
                .item(index)
                .error(message)
                .hint("no answer passes both: keep one");
        }
    }
}

fn judge(kind: JudgeKind, mut check: JudgeCheck, at: &At<'_>) -> JudgeCheck {
    check.kind = kind;
    if let Some(path) = &mut check.context_file {
        *path = at.key("context_file").file(path);
    }
    check
}

/// What is asked of a path, and of handoffs.
pub(super) fn trace_path(path: TracePath, at: &At<'_>) -> PathSpec {
    PathSpec {
        expected_handoff: path.expected_handoff,
        expected_handoffs_available: path.expected_handoffs_available,
        max_handoff_count: path.max_handoff_count,
        ..call_path(path.path, at)
    }
}

/// What is asked of a path.
pub(super) fn call_path(path: PathSpec, at: &At<'_>) -> PathSpec {
    for key in ["expected_tools", "expected_tool_sequence"] {
        for item in at.key(key).items() {
            let tool = item.word().unwrap_or_default();
            if path.forbidden_tools.iter().any(|it| it == tool) {
                let message = format!("contradicts forbidden_tools, where {} is too", quoted(tool));
                item.error(message)
                    .hint("a tool is either expected or forbidden");
            }
        }
    }
    for call in at.key("forbidden_calls").items() {
        if !call.has_any(&["tool", "command", "path", "pattern"]) {
            call.missing("command")
                .error("is missing, as are the others")
                .hint("say what is forbidden: tool, command, path or pattern");
        }
    }
    path
}

/// What is asked of a bill.
pub(super) fn budget(spec: CostSpec, at: &At<'_>) -> CostSpec {
    if spec.max_cost_multiplier == Some(0.0) {
        at.key("max_cost_multiplier").error("must be above 0").hint(
            "2 allows twice the cost of the baseline; for no cost at all there is max_cost_usd: 0",
        );
    }
    spec
}
