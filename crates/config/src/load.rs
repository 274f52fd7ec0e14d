//! The doors: files to a suite, or to every problem in them at once.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::check::check;
use crate::fields::Fields;
use crate::files::Files;
use crate::ids::{colliding_names, duplicate_ids, unknown_names};
use crate::node::Node;
use crate::paths::Base;
use crate::problem::{Place, Problems, Report};
use crate::scenarios::{Choice, scenarios};
use crate::shape::{Section, Shape};
use crate::tables::{AGENT, CONFIG, EXPECT, MCP, PROJECT, SCENARIO, SUITE, TASK, TASKS};
use crate::tasks::{hex, task};
use crate::unjudged::unjudged;
use crate::{
    Asked, ProjectSource, Suite, TaskSpec, agents, asked, judge, layers, prices, settings, source,
    tree,
};

/// Which files make a suite.
#[derive(Debug, Clone, Copy)]
pub struct LoadRequest<'a> {
    /// The config file.
    pub config: &'a Path,
    /// The tasks file.
    pub tasks: &'a Path,
    /// Whether files that the suite names must exist; false where nothing will be run (`--dry-run`).
    pub check_files: bool,
}

/// The same with the files' bytes, for suites that are not on disk.
#[derive(Debug, Clone, Copy)]
pub struct LoadBytes<'a> {
    /// Names, and whether files must exist.
    pub request: LoadRequest<'a>,
    /// Bytes of the config file.
    pub config: &'a [u8],
    /// Bytes of the tasks file; `None` where no tasks are needed.
    pub tasks: Option<&'a [u8]>,
}

/// Loads a suite.
///
/// # Errors
/// All problems of both files at once, warnings among them.
pub fn load(request: &LoadRequest<'_>) -> Result<Suite, Problems> {
    let config = read(request.config, "`proctor init` writes one to start from");
    let tasks = read(request.tasks, "name another file with --tasks");
    match (config, tasks) {
        (Ok(config), Ok(tasks)) => load_bytes(&LoadBytes {
            request: *request,
            config: &config,
            tasks: Some(&tasks),
        }),
        (config, tasks) => {
            let failed = [config.err(), tasks.err()];
            Err(joined(
                failed.into_iter().flatten().map(Report::into_problems),
            ))
        }
    }
}

/// Loads a config for commands that need no tasks; files that it names need not exist.
///
/// # Errors
/// All problems of the file at once.
pub fn load_config_only(config: &Path) -> Result<Suite, Problems> {
    let bytes = read(config, "name another file with --config").map_err(Report::into_problems)?;
    load_bytes(&LoadBytes {
        request: LoadRequest {
            config,
            tasks: Path::new(""),
            check_files: false,
        },
        config: &bytes,
        tasks: None,
    })
}

/// Loads a suite from bytes.
///
/// # Errors
/// All problems of both at once.
pub fn load_bytes(input: &LoadBytes<'_>) -> Result<Suite, Problems> {
    let request = input.request;
    let mut reports = (Report::new(request.config), Report::new(request.tasks));
    let base = Base::of(request.config);
    let files = Files {
        base: &base,
        checked: request.check_files,
    };
    let suite = config(input, &files, &mut reports.0);
    let tasks = match input.tasks {
        Some(bytes) => {
            let defaults = suite.as_ref().and_then(|(_, defaults)| defaults.as_ref());
            let defaults = defaults.filter(|_| !reports.0.failed());
            let root = parsed(bytes, &mut reports.1);
            let read = root.map(|root| tasks(&root, (&files, defaults), &mut reports.1));
            read.unwrap_or_default()
        }
        None => (Vec::new(), BTreeMap::new()),
    };
    let suite = suite.map(|(suite, _)| whole(suite, tasks));
    let unread = reports.0.failed() || reports.1.failed();
    if let Some(suite) = suite.as_ref().filter(|_| !unread) {
        colliding(suite, input, &mut reports);
        // Read once more for the places alone; what else there is to say of the files was said.
        let config = parsed(input.config, &mut Report::new(input.request.config));
        let tasks = input.tasks.unwrap_or_default();
        let tasks = parsed(tasks, &mut Report::new(input.request.tasks));
        unjudged(suite, (config.as_ref(), tasks.as_ref()), &mut reports);
    }
    let failed = unread || reports.0.failed() || reports.1.failed();
    let problems = joined([reports.0, reports.1].map(Report::into_problems));
    match suite {
        Some(suite) if !failed => Ok(Suite {
            warnings: problems
                .items
                .iter()
                .map(crate::Problem::sentence)
                .collect(),
            ..suite
        }),
        _ => Err(problems),
    }
}

/// Says where two cells would share a folder.
fn colliding(suite: &Suite, input: &LoadBytes<'_>, (config, tasks): &mut (Report, Report)) {
    let Some(found) = colliding_names(suite) else {
        return;
    };
    let (bytes, file, report) = match found.list {
        "tasks" => (input.tasks.unwrap_or_default(), input.request.tasks, tasks),
        _ => (input.config, input.request.config, config),
    };
    // Read once more for the place alone; what else there is to say of the file was said.
    let root = parsed(bytes, &mut Report::new(file));
    let list = root
        .as_ref()
        .map(|root| root.get(found.list).unwrap_or(root));
    let entry = list
        .and_then(Node::list)
        .and_then(|list| list.get(found.at));
    let id = entry.and_then(|entry| entry.get("id"));
    let place = id.map(|id| id.place).unwrap_or_default();
    let key = format!("{}[{}].id", found.list, found.at);
    report
        .error(place, &key, found.message)
        .hint("ids are joined with '-': rename an agent, a scenario or a task");
}

/// Bytes of a file, or a report that says why there are none.
pub(super) fn read(path: &Path, hint: &str) -> Result<Vec<u8>, Report> {
    source::read(path).map_err(|error| {
        let mut report = Report::new(path);
        report
            .error(Place::default(), "", format!("cannot be read: {error}"))
            .hint(hint);
        report
    })
}

fn joined(parts: impl IntoIterator<Item = Problems>) -> Problems {
    let mut all = Problems {
        items: Vec::new(),
        untold: 0,
    };
    for part in parts {
        all.items.extend(part.items);
        all.untold += part.untold;
    }
    all
}

/// The tree of a file's bytes.
pub(super) fn parsed(bytes: &[u8], report: &mut Report) -> Option<Node> {
    let text = source::text(bytes, report)?;
    tree::read(text, report)
}

/// The suite with its tasks, and with all that the two files ask.
fn whole(config: Suite, (tasks, values): (Vec<TaskSpec>, BTreeMap<String, String>)) -> Suite {
    let mut suite = Suite { tasks, ..config };
    suite.asked.tasks = values;
    suite.asked.files = asked::files(&suite);
    let tasks = suite.tasks.iter();
    let patches = tasks
        .clone()
        .flat_map(|task| task.reference_patch.iter().chain(&task.alternatives))
        .cloned();
    suite.asked.solutions = patches.collect();
    let laid = tasks.flat_map(|task| &task.grader_files);
    suite.asked.laid = laid.map(|(from, _)| from.clone()).collect();
    suite
}

/// The suite of the config file, and what it lays under every task.
fn config(
    input: &LoadBytes<'_>,
    files: &Files<'_>,
    report: &mut Report,
) -> Option<(Suite, Option<Node>)> {
    let root = parsed(input.config, report)?;
    check(&root, &Shape::Object(&CONFIG), "", report);
    root.map()?;
    let asked = Asked {
        config: asked::values(&root),
        ..Asked::default()
    };
    let root = Fields::new(Some(&root), &CONFIG, "");
    let suite = root.section("suite", &SUITE);
    let agent_fields = root.sections("agents", &AGENT);
    let scenario_fields = root.sections("scenarios", &SCENARIO);
    let mcp = settings::mcp(&root.section("mcp", &MCP), files.base);
    let project = root
        .get("project")
        .and_then(|_| settings::project(&root.section("project", &PROJECT), files, report));
    let folder = project.as_ref().map(|project| match &project.source {
        ProjectSource::Repository(folder) | ProjectSource::Template(folder) => folder.as_path(),
    });
    let choice = Choice {
        suite: &suite,
        mcp: &root.section("mcp", &MCP),
        project: folder,
    };
    let scenarios = scenarios(&scenario_fields, &choice, files, report);
    duplicate_ids("agent", &agent_fields, report);
    duplicate_ids("scenario", &scenario_fields, report);
    unknown_names(&suite, (&agent_fields, &scenario_fields), report);
    let agents = agent_fields
        .iter()
        .filter_map(|fields| agents::agent(fields, files, report))
        .collect();
    let prices = prices::prices(root.get("prices"), suite.boolean("default_prices"), report);
    let defaults = suite.get("defaults").cloned();
    // They are read here too, so that what is wrong with them is told at their own place.
    let named = (defaults.as_ref(), suite.path("defaults"));
    layers::expected((named.0, &named.1), None, files, report);
    let suite = Suite {
        judge: judge::judge(&root, (files.base, &prices), report),
        config_path: input.request.config.to_owned(),
        config_dir: files.base.folder().to_owned(),
        tasks_path: input.request.tasks.to_owned(),
        config_digest: sha256(input.config),
        tasks_digest: input.tasks.map(sha256).unwrap_or_default(),
        asked,
        settings: settings::settings(&suite, files, report),
        project: project?,
        agents,
        further_agents: Vec::new(),
        scenarios: scenarios.run,
        further_scenarios: scenarios.further,
        left_out: scenarios.left_out,
        mcp,
        prices,
        tasks: Vec::new(),
        warnings: Vec::new(),
    };
    Some((suite, defaults))
}

fn tasks(
    root: &Node,
    (files, defaults): (&Files<'_>, Option<&Node>),
    report: &mut Report,
) -> (Vec<TaskSpec>, BTreeMap<String, String>) {
    const LIST: Shape = section_shape(&TASKS);
    let list = if root.list().is_some() {
        check(root, &LIST, "tasks", report);
        Some(root)
    } else {
        check(root, &Shape::Object(&TASKS), "", report);
        let fields = Fields::new(Some(root), &TASKS, "");
        fields.get("tasks")
    };
    let items = list.and_then(Node::list).unwrap_or_default();
    let fields: Vec<Fields<'_>> = items
        .iter()
        .enumerate()
        .map(|(index, item)| Fields::new(Some(item), &TASK, &format!("tasks[{index}]")))
        .collect();
    duplicate_ids("task", &fields, report);
    let tasks = fields
        .iter()
        .zip(items)
        .filter_map(|(fields, node)| task(fields, (node, defaults), files, report))
        .collect();
    (tasks, list.map(asked::values).unwrap_or_default())
}

/// The tasks of a file, with these defaults of a suite under each.
pub(super) fn tasks_of(
    root: &Node,
    (files, defaults): (&Files<'_>, Option<&Node>),
    report: &mut Report,
) -> Vec<TaskSpec> {
    tasks(root, (files, defaults), report).0
}

/// `suite.defaults` of a config file; nothing where there is no such file, or it has none.
pub(super) fn defaults_of(path: &Path, files: &Files<'_>) -> Result<Option<Node>, Problems> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = read(path, "it lies beside the tasks").map_err(Report::into_problems)?;
    let mut report = Report::new(path);
    let root = parsed(&bytes, &mut report);
    let defaults = root
        .as_ref()
        .and_then(|root| root.get("suite")?.get("defaults"));
    if let Some(defaults) = defaults {
        check(
            defaults,
            &Shape::Object(&EXPECT),
            "suite.defaults",
            &mut report,
        );
        layers::expected((Some(defaults), "suite.defaults"), None, files, &mut report);
    }
    if report.failed() {
        return Err(report.into_problems());
    }
    Ok(defaults.cloned())
}

/// The shape of a section's only key.
const fn section_shape(section: &Section) -> Shape {
    section.keys[0].shape
}

/// SHA-256 of a file.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
