//! Options of the graders `answer`, `path` and `budget`, and how they are read, also from `expect` and `suite.defaults`.

use crate::GraderSpec;
use crate::fields::Fields;
use crate::files::Files;
use crate::node::{Entry, Node, Value, quoted};
use crate::problem::{Place, Report};
use crate::shape::Section;
use crate::tables::{ANSWER, BUDGET, EXPECT, FORBIDDEN_CALL, PATH, RUBRIC};
use proctor_layers::{
    AnswerSchema, CallPattern, CorrectnessSpec, CostSpec, JudgeCheck, JudgeKind, MatchMode, Panel,
    PathRule, PathSpec, Pattern, PatternError, Similarity, Threshold,
};

/// A grader of the short way.
const LAYERS: [(&str, &Section); 3] = [("answer", &ANSWER), ("path", &PATH), ("budget", &BUDGET)];

/// The graders that `expect` stands for, with what `defaults` adds to each section, key by key.
pub(super) fn expected(
    (expect, path): (Option<&Node>, &str),
    defaults: Option<&Node>,
    files: &Files<'_>,
    report: &mut Report,
) -> Vec<GraderSpec> {
    let (own, general) = (
        Fields::new(expect, &EXPECT, path),
        Fields::new(defaults, &EXPECT, path),
    );
    let mut graders = Vec::new();
    for (name, section) in LAYERS {
        let taken_away = own.is_written(name) && own.get(name).is_none();
        let general = general.get(name).filter(|_| !taken_away);
        let Some(node) = merged(own.get(name), general) else {
            continue;
        };
        let options = Fields::new(Some(&node), section, &own.path(name));
        graders.extend(grader(name, &options, files, report));
    }
    graders
}

/// One section, each key from the task where it names it.
fn merged(own: Option<&Node>, general: Option<&Node>) -> Option<Node> {
    let (own, general) = match (own, general) {
        (None, None) => return None,
        (Some(only), None) | (None, Some(only)) => return Some(only.clone()),
        (Some(own), Some(general)) => (own, general),
    };
    let mut entries: Vec<Entry> = own.map()?.to_vec();
    for entry in general.map().unwrap_or_default() {
        if own.get(&entry.key).is_none() {
            // What is wrong with it beside the task's own keys is told at the task: its file is another one.
            let value = placed(&entry.value, own.place);
            entries.push(Entry {
                key: entry.key.clone(),
                key_place: own.place,
                value,
            });
        }
    }
    Some(Node {
        value: Value::Map(entries),
        place: own.place,
    })
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

/// One of the three graders.
pub(super) fn grader(
    name: &str,
    options: &Fields<'_>,
    files: &Files<'_>,
    report: &mut Report,
) -> Option<GraderSpec> {
    match name {
        "answer" => Some(GraderSpec::Answer(Box::new(answer(options, files, report)))),
        "path" => Some(GraderSpec::Path(Box::new(path(options, report)))),
        "budget" => Some(GraderSpec::Budget(budget(options, report))),
        _ => None,
    }
}

/// Reads what is asked of an answer.
pub(super) fn answer(
    options: &Fields<'_>,
    files: &Files<'_>,
    report: &mut Report,
) -> CorrectnessSpec {
    let mut terms = |key: &str| {
        options.get(key)?;
        for (index, item) in options.items(key).iter().enumerate() {
            if item.text() == Some("") {
                let path = format!("{}[{index}]", options.path(key));
                report
                    .error(item.place, &path, "must not be empty")
                    .hint("an empty text is in every answer");
            }
        }
        Some(options.words(key))
    };
    let expected = terms("expected_in_answer");
    let any_expected = terms("any_expected_in_answer");
    let forbidden = terms("not_in_answer");
    contradiction(options, (expected.as_deref(), forbidden.as_deref()), report);
    let schema = options
        .get("json_schema")
        .filter(|node| node.map().is_some());
    let schema = schema.map(Node::to_json);
    let schema = schema.map(AnswerSchema::new).transpose();
    let schema = schema.unwrap_or_else(|why| {
        let place = options.place_of("json_schema");
        report
            .error(
                place,
                &options.path("json_schema"),
                format!("is no JSON Schema: {why}"),
            )
            .hint("the draft is 2020-12 unless $schema names another; nothing is fetched");
        None
    });
    CorrectnessSpec {
        expected,
        any_expected,
        forbidden,
        exact: options.text("exact_match"),
        pattern: pattern(options, "regex_match", report),
        schema,
        judges: judges(options, files, report),
        panel: Panel::default(),
        refutes_premise: options.boolean("refutes_premise"),
    }
}

/// Says so where a text that must be there holds one that must not.
fn contradiction(
    options: &Fields<'_>,
    (expected, forbidden): (Option<&[String]>, Option<&[String]>),
    report: &mut Report,
) {
    for (index, term) in forbidden.unwrap_or_default().iter().enumerate() {
        let lowered = term.to_lowercase();
        let mut all = expected.unwrap_or_default().iter();
        let holds = |it: &&String| !term.is_empty() && it.to_lowercase().contains(&lowered);
        if let Some(wanted) = all.find(holds) {
            let place = options.items("not_in_answer")[index].place;
            let path = format!("{}[{index}]", options.path("not_in_answer"));
            let message = format!(
                "contradicts expected_in_answer, which asks for {}",
                quoted(wanted)
            );
            report
                .error(place, &path, message)
                .hint("no answer passes both: keep one");
        }
    }
}

fn pattern(options: &Fields<'_>, key: &str, report: &mut Report) -> Option<Pattern> {
    let written = options.text(key)?;
    let refused = |error: &PatternError| {
        let message = format!("is no pattern: {error}");
        report
            .error(options.place_of(key), &options.path(key), message)
            .hint(error.hint);
    };
    Pattern::new(&written).inspect_err(refused).ok()
}

fn judges(options: &Fields<'_>, files: &Files<'_>, report: &mut Report) -> Vec<JudgeCheck> {
    let rubrics = options.sections("llm_judge", &RUBRIC);
    let mut all: Vec<(JudgeKind, Fields<'_>)> = rubrics
        .into_iter()
        .map(|rubric| (JudgeKind::Rubric, rubric))
        .collect();
    for kind in [JudgeKind::Safety, JudgeKind::Hallucination] {
        if options.get(kind.key()).is_some() {
            all.push((kind, options.section(kind.key(), &RUBRIC)));
        }
    }
    all.into_iter()
        .map(|(kind, rubric)| judge(kind, &rubric, files, report))
        .collect()
}

fn judge(
    kind: JudgeKind,
    rubric: &Fields<'_>,
    files: &Files<'_>,
    report: &mut Report,
) -> JudgeCheck {
    let context_file = rubric.path_value("context_file", files.base);
    if let Some(path) = &context_file {
        files.file(path, &(rubric, "context_file"), report);
    }
    let threshold = rubric.number("threshold").and_then(Threshold::new);
    let examples = rubric.items("few_shot_examples").iter();
    JudgeCheck {
        kind,
        rule: rubric.text_or_empty("rule"),
        scale: rubric.words("scale"),
        threshold: threshold.unwrap_or_default(),
        context_file,
        examples: examples.map(|node| node.to_json().to_string()).collect(),
        panel: Panel::default(),
    }
}

/// The same with what is asked of handoffs.
pub(super) fn trace_path(options: &Fields<'_>, report: &mut Report) -> PathSpec {
    let most = options.get("max_handoff_count");
    PathSpec {
        expected_handoff: options.text("expected_handoff"),
        expected_handoffs_available: options.words("expected_handoffs_available"),
        max_handoff_count: most.map(|_| options.whole("max_handoff_count")),
        ..path(options, report)
    }
}

/// Reads what is asked of a path.
pub(super) fn path(options: &Fields<'_>, report: &mut Report) -> PathSpec {
    let list = |key: &str| options.get(key).map(|_| options.words(key));
    let count = |key: &str| options.get(key).map(|_| options.whole(key));
    let forbidden_tools = options.words("forbidden_tools");
    for key in ["expected_tools", "expected_tool_sequence"] {
        for (index, node) in options.items(key).iter().enumerate() {
            let tool = node.word().unwrap_or_default();
            if forbidden_tools.iter().any(|it| it == tool) {
                let path = format!("{}[{index}]", options.path(key));
                let message = format!("contradicts forbidden_tools, where {} is too", quoted(tool));
                report
                    .error(node.place, &path, message)
                    .hint("a tool is either expected or forbidden");
            }
        }
    }
    let mode = options.text_or_empty("match_mode");
    let mode = MatchMode::ALL.into_iter().find(|(word, _)| *word == mode);
    let similarity = options.text_or_empty("similarity");
    let similarity = Similarity::ALL
        .into_iter()
        .find(|(word, _)| *word == similarity);
    PathSpec {
        max_tool_calls: count("max_tool_calls"),
        forbidden_tools,
        forbidden_calls: forbidden_calls(options, report),
        expected_tools: list("expected_tools"),
        min_tool_recall: options.number("min_tool_recall"),
        min_tool_precision: options.number("min_tool_precision"),
        min_sequence_similarity: options.number("min_sequence_similarity"),
        similarity: similarity.map(|(_, way)| way).unwrap_or_default(),
        max_loops: options.whole("max_loops"),
        max_loops_same_args: count("max_loops_same_args"),
        expected_tool_sequence: list("expected_tool_sequence"),
        match_mode: mode.map(|(_, mode)| mode).unwrap_or_default(),
        ..PathSpec::default()
    }
}

fn forbidden_calls(options: &Fields<'_>, report: &mut Report) -> Vec<CallPattern> {
    let rules = options.sections("forbidden_calls", &FORBIDDEN_CALL);
    let each = rules.iter().map(|rule| {
        let command = rule.text("command").unwrap_or_default();
        let command = shell_words::split(&command).unwrap_or_else(|_| {
            report.error(
                rule.place_of("command"),
                &rule.path("command"),
                "has a quote that is not closed",
            );
            Vec::new()
        });
        let path = rule.text("path").and_then(|glob| PathRule::new(&glob).ok());
        let read = CallPattern {
            tool: rule.text("tool"),
            command,
            path,
            pattern: pattern(rule, "pattern", report),
        };
        let written = ["tool", "command", "path", "pattern"];
        if written.into_iter().all(|key| rule.get(key).is_none()) {
            report
                .error(
                    rule.place(),
                    &rule.path("command"),
                    "is missing, as are the others",
                )
                .hint("say what is forbidden: tool, command, path or pattern");
        }
        read
    });
    each.collect()
}

/// Reads what is asked of a bill.
pub(super) fn budget(options: &Fields<'_>, report: &mut Report) -> CostSpec {
    let count = |key: &str| options.get(key).map(|_| options.whole(key));
    let multiplier = options.number("max_cost_multiplier");
    if multiplier == Some(0.0) {
        report
            .error(
                options.place_of("max_cost_multiplier"),
                &options.path("max_cost_multiplier"),
                "must be above 0",
            )
            .hint("2 allows twice the cost of the baseline; for no cost at all there is max_cost_usd: 0");
    }
    CostSpec {
        max_cost_multiplier: multiplier,
        max_total_tokens: count("max_total_tokens"),
        max_llm_calls: count("max_llm_calls"),
        max_latency_ms: count("max_latency_ms"),
        max_cost_usd: options.number("max_cost_usd"),
    }
}
