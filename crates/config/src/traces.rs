//! Specs that recorded traces are held to: AgentCI's, a tasks file, or the three layers alone.

use std::path::{Path, PathBuf};

use crate::check::{check, join};
use crate::fields::Fields;
use crate::files::Files;
use crate::load::{defaults_of, parsed, read, sha256, tasks_of};
use crate::node::{Entry, Node, Value};
use crate::paths::Base;
use crate::problem::{Place, Problem, Problems, Report};
use crate::shape::{Section, Shape};
use crate::tables::traces::{ABOUT_RUNS, AGENTCI, NOT_MADE, QUERY};
use crate::tables::{ANSWER, BUDGET, EXPECT, TRACE_PATH};
use crate::{GraderSpec, layers};
use proctor_layers::{CorrectnessSpec, Panel};

/// The config whose defaults lie under the tasks beside it.
const CONFIG_NAME: &str = "config.yaml";

/// What traces are held to.
#[derive(Debug, Clone)]
pub struct TraceSpec {
    /// Name of the agent, where the spec tells it.
    pub agent: Option<String>,
    /// Folder of baselines, absolute, where the spec tells it.
    pub baseline_dir: Option<PathBuf>,
    /// What was asked, each with what its trace is held to.
    pub queries: Vec<TraceQuery>,
    /// SHA-256 of the file.
    pub digest: String,
    /// What of it is not used, and other warnings.
    pub warnings: Vec<String>,
    /// Whether it is a tasks file, under which the defaults of a suite lie.
    pub is_tasks: bool,
}

/// What one trace is held to.
#[derive(Debug, Clone)]
pub struct TraceQuery {
    /// The task, in a tasks file.
    pub task: Option<String>,
    /// What was asked; nothing where any trace is meant.
    pub query: Option<String>,
    /// `answer`, `path` and `budget`, as far as asked for.
    pub layers: Vec<GraderSpec>,
}

/// Loads a spec for traces; `config` is the suite whose defaults lie under a tasks file, if it is not the one beside it.
///
/// # Errors
/// All problems of the file at once; checks that are not made here are some.
pub fn load_trace_spec(path: &Path, config: Option<&Path>) -> Result<TraceSpec, Problems> {
    let bytes = read(
        path,
        "give a spec: AgentCI's, a tasks file, or answer, path and budget alone",
    )
    .map_err(Report::into_problems)?;
    let mut report = Report::new(path);
    let base = Base::of(path);
    let files = Files {
        base: &base,
        checked: true,
    };
    let root = parsed(&bytes, &mut report);
    let is_tasks = matches!(root.as_ref().map(form), Some(Form::Tasks));
    let defaults = match root.as_ref().map(form) {
        Some(Form::Tasks) => {
            let beside = path.with_file_name(CONFIG_NAME);
            defaults_of(config.unwrap_or(&beside), &files)?
        }
        _ => None,
    };
    let spec = root.map(|root| match form(&root) {
        Form::AgentCi => agentci(root, &files, &mut report),
        Form::Tasks => of_tasks(&root, (&files, defaults.as_ref()), &mut report),
        Form::Layers => alone(&root, &files, &mut report),
    });
    let failed = report.failed();
    let problems = report.into_problems();
    match spec {
        Some(spec) if !failed => Ok(TraceSpec {
            digest: sha256(&bytes),
            warnings: problems.items.iter().map(Problem::sentence).collect(),
            is_tasks,
            ..spec
        }),
        _ => Err(problems),
    }
}

enum Form {
    AgentCi,
    Tasks,
    Layers,
}

fn form(root: &Node) -> Form {
    let has = |keys: &[&str]| keys.iter().any(|key| root.get(key).is_some());
    if root.list().is_some() || has(&["tasks"]) {
        Form::Tasks
    } else if has(&["answer", "path", "budget"]) && !has(&["queries"]) {
        Form::Layers
    } else {
        Form::AgentCi
    }
}

fn empty(queries: Vec<TraceQuery>) -> TraceSpec {
    TraceSpec {
        agent: None,
        baseline_dir: None,
        queries,
        digest: String::new(),
        warnings: Vec::new(),
        is_tasks: false,
    }
}

/// The layers alone, for any trace.
fn alone(root: &Node, files: &Files<'_>, report: &mut Report) -> TraceSpec {
    check(root, &Shape::Object(&EXPECT), "", report);
    let layers = layers::expected((Some(root), ""), None, files, report);
    empty(vec![TraceQuery {
        task: None,
        query: None,
        layers,
    }])
}

/// The layers of a tasks file, with the defaults of the config beside it. Other graders need a tree that was worked in.
fn of_tasks(
    root: &Node,
    (files, defaults): (&Files<'_>, Option<&Node>),
    report: &mut Report,
) -> TraceSpec {
    let tasks = tasks_of(root, (files, defaults), report);
    let mut queries = Vec::new();
    for task in tasks {
        let (layers, others): (Vec<_>, Vec<_>) =
            task.graders.into_iter().partition(GraderSpec::is_layer);
        if !others.is_empty() {
            let names: Vec<&str> = others.iter().map(GraderSpec::type_name).collect();
            let message = format!("not asked, since they need a tree: {}", names.join(", "));
            let key = format!("graders of {}", task.id);
            report.warning(Place::default(), &key, message);
        }
        queries.push(TraceQuery {
            task: Some(task.id.to_string()),
            query: Some(task.prompt),
            layers,
        });
    }
    empty(queries)
}

/// AgentCI's own spec.
fn agentci(root: Node, files: &Files<'_>, report: &mut Report) -> TraceSpec {
    let root = set_aside(root, report);
    check(&root, &Shape::Object(&AGENTCI), "", report);
    let fields = Fields::new(Some(&root), &AGENTCI, "");
    if fields
        .number("version")
        .is_some_and(|version| (version - 1.0).abs() > f64::EPSILON)
    {
        let place = fields.place_of("version");
        report
            .error(place, "version", "is not 1")
            .hint("a newer version of the format is not known here");
    }
    let mut queries = Vec::new();
    let mut seen: Vec<(String, usize)> = Vec::new();
    for (index, node) in fields.items("queries").iter().enumerate() {
        let path = format!("queries[{index}]");
        let query = Fields::new(Some(node), &QUERY, &path);
        for idle in ["description", "tags"] {
            query.get(idle);
        }
        let text = query.text_or_empty("query");
        let first = seen.iter().find(|(it, _)| *it == text.trim());
        if let Some((_, line)) = first.filter(|(it, _)| !it.is_empty()) {
            let message = format!("is asked twice, first at line {line}");
            report
                .error(query.place_of("query"), &join(&path, "query"), message)
                .hint("traces are found by what was asked: keep one, or ask differently");
        }
        seen.push((text.trim().to_owned(), query.place_of("query").line));
        queries.push(TraceQuery {
            task: None,
            query: Some(text),
            layers: trace_layers(&query, files, report),
        });
    }
    TraceSpec {
        agent: fields.text("agent"),
        baseline_dir: Some(
            fields
                .path_value("baseline_dir", files.base)
                .unwrap_or_else(|| files.base.resolve("golden")),
        ),
        ..empty(queries)
    }
}

/// The tree without keys that no trace is held to, with defaults under every query; what asks for checks that are not
/// made is refused.
fn set_aside(root: Node, report: &mut Report) -> Node {
    let Value::Map(mut entries) = root.value else {
        return root;
    };
    entries.retain(|entry| {
        let idle = ABOUT_RUNS.contains(&entry.key.as_str());
        if idle && !entry.value.is_null() {
            report.warning(
                entry.key_place,
                &entry.key,
                "is not used: no trace is held to it",
            );
        }
        let refused = refuse(entry, "", report);
        !idle && !refused
    });
    let defaults = entries.iter_mut().find(|entry| entry.key == "defaults");
    let defaults = defaults.map(|entry| {
        without_refused(&mut entry.value, "defaults", report);
        entry.value.clone()
    });
    if let Some(entry) = entries.iter_mut().find(|entry| entry.key == "queries")
        && let Value::List(items) = &mut entry.value.value
    {
        for (index, item) in items.iter_mut().enumerate() {
            without_refused(item, &format!("queries[{index}]"), report);
            if let Some(defaults) = &defaults {
                lay_under(item, defaults);
            }
        }
    }
    Node {
        value: Value::Map(entries),
        place: root.place,
    }
}

fn without_refused(node: &mut Node, path: &str, report: &mut Report) {
    if let Value::Map(entries) = &mut node.value {
        entries.retain(|entry| !refuse(entry, path, report));
    }
}

/// Whether a key asks for what is not done here; says so.
fn refuse(entry: &Entry, path: &str, report: &mut Report) -> bool {
    let found = NOT_MADE.into_iter().find(|(key, _)| *key == entry.key);
    let Some((key, hint)) = found else {
        return false;
    };
    let empty = entry.value.is_null() || entry.value.list().is_some_and(<[Node]>::is_empty);
    if !empty {
        let key = join(path, key);
        report
            .error(
                entry.key_place,
                &key,
                "asks for checks that are not made here",
            )
            .hint(hint);
    }
    true
}

/// Adds what a mapping does not say itself, mappings in it included.
fn lay_under(node: &mut Node, defaults: &Node) {
    let (Value::Map(own), Some(general)) = (&mut node.value, defaults.map()) else {
        return;
    };
    for entry in general {
        match own.iter_mut().find(|it| it.key == entry.key) {
            None => own.push(entry.clone()),
            Some(known) => lay_under(&mut known.value, &entry.value),
        }
    }
}

fn trace_layers(query: &Fields<'_>, files: &Files<'_>, report: &mut Report) -> Vec<GraderSpec> {
    let mut found = Vec::new();
    let named: [(&str, &'static Section); 3] = [
        ("correctness", &ANSWER),
        ("path", &TRACE_PATH),
        ("cost", &BUDGET),
    ];
    for (key, section) in named {
        if query.get(key).is_none() {
            continue;
        }
        let options = query.section(key, section);
        found.push(match key {
            "correctness" => GraderSpec::Answer(Box::new(CorrectnessSpec {
                panel: Panel::Mean,
                ..layers::answer(&options, files, report)
            })),
            "path" => GraderSpec::Path(Box::new(layers::trace_path(&options, report))),
            _ => GraderSpec::Budget(layers::budget(&options, report)),
        });
    }
    found
}
