//! The doors: files to a suite, or to every problem in them at once.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::config::agents::{self, AgentKeys};
use crate::config::at::At;
use crate::config::files::Files;
use crate::config::ids::{colliding_names, duplicate_ids, unknown_names};
use crate::config::judge::{self, JudgeKeys};
use crate::config::layers::{self, Expect};
use crate::config::node::{Entry, Node, Value};
use crate::config::paths::Base;
use crate::config::prices::{self, PriceKeys};
use crate::config::problem::{Place, Problems, Report};
use crate::config::scenarios::{Choice, ScenarioKeys, scenarios};
use crate::config::settings::{self, ProjectKeys, SuiteKeys};
use crate::config::tasks::{TasksFile, hex, task, warn_of_no_graders};
use crate::config::unjudged::unjudged;
use crate::config::vocabulary::Listed;
use crate::config::{
    Asked, McpSettings, Problem, ProjectSource, Suite, TaskSpec, asked, source, tree, walk,
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

/// A suite: what is measured, on what, with which agents, and how.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ConfigFile {
    /// Run-level settings.
    #[schemars(extend("default" = {}))]
    suite: SuiteKeys,
    /// What the agents work on.
    #[schemars(with = "ProjectKeys")]
    project: Option<ProjectKeys>,
    /// The agents, one entry each.
    #[schemars(with = "Listed<AgentKeys>", length(min = 1))]
    agents: Option<Listed<AgentKeys>>,
    /// Scenarios beside the built-in ones (shell_unprimed, shell_primed, mcp_unprimed, mcp_unprimed_v2); an entry with the id
    /// of a built-in one changes it.
    #[serde(default)]
    scenarios: Listed<ScenarioKeys>,
    /// The MCP server of the built-in MCP scenarios.
    #[schemars(extend("default" = {}))]
    mcp: McpSettings,
    /// Prices by model, in USD per million tokens; they come before those that proctor ships. A `*` in a name stands for
    /// anything.
    prices: Option<PriceKeys>,
    /// Who judges answers by a rubric, where a task asks for that.
    judge: Option<JudgeKeys>,
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
    let root = parsed(input.config, &mut reports.0);
    let config_at = root.as_ref().map(|root| At::new(root, ""));
    let suite = config_at
        .as_ref()
        .and_then(|at| config(at, input, &files, &mut reports.0));
    let defaults = config_at
        .as_ref()
        .and_then(|at| at.key("suite").key("defaults").node());
    let defaults = defaults.filter(|_| !reports.0.failed());
    let root = input
        .tasks
        .and_then(|bytes| tasks_root(bytes, &mut reports.1));
    let tasks_at = root.as_ref().map(|root| At::new(root, ""));
    let read = tasks_at
        .as_ref()
        .map(|at| tasks(at, (&files, defaults), &mut reports.1));
    let suite = suite.map(|suite| whole(suite, read.unwrap_or_default()));
    if let Some(suite) = suite
        .as_ref()
        .filter(|_| !reports.0.failed() && !reports.1.failed())
    {
        let roots = (config_at.as_ref(), tasks_at.as_ref());
        colliding(suite, roots, &mut reports);
        unjudged(suite, roots, &mut reports);
    }
    let failed = reports.0.failed() || reports.1.failed();
    let problems = joined([reports.0, reports.1].map(Report::into_problems));
    match suite {
        Some(suite) if !failed => Ok(Suite {
            warnings: problems.items.iter().map(Problem::sentence).collect(),
            ..suite
        }),
        _ => Err(problems),
    }
}

/// Says where two cells would share a folder.
fn colliding(
    suite: &Suite,
    (config, tasks): (Option<&At<'_>>, Option<&At<'_>>),
    reports: &mut (Report, Report),
) {
    let Some(found) = colliding_names(suite) else {
        return;
    };
    let (root, report) = match found.list {
        "tasks" => (tasks, &mut reports.1),
        _ => (config, &mut reports.0),
    };
    if let Some(root) = root {
        let at = root.key(found.list).item(found.at).key("id");
        at.error(report, found.message)
            .hint("ids are joined with '-': rename an agent, a scenario or a task");
    }
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

/// The tree of a tasks file; a list alone is the value of `tasks`.
fn tasks_root(bytes: &[u8], report: &mut Report) -> Option<Node> {
    let root = parsed(bytes, report)?;
    Some(as_tasks(root))
}

/// The mapping with `tasks` that a list stands for.
pub(super) fn as_tasks(root: Node) -> Node {
    if root.list().is_none() {
        return root;
    }
    let place = root.place;
    let entry = Entry {
        key: "tasks".to_owned(),
        key_place: place,
        value: root,
    };
    Node {
        value: Value::Map(vec![entry]),
        place,
    }
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

/// The suite of the config file.
fn config(
    at: &At<'_>,
    input: &LoadBytes<'_>,
    files: &Files<'_>,
    report: &mut Report,
) -> Option<Suite> {
    let keys: Option<ConfigFile> = walk::read(at, report);
    duplicate_ids("agent", &at.key("agents"), report);
    duplicate_ids("scenario", &at.key("scenarios"), report);
    unknown_names(at, report);
    let keys = keys?;
    let project = keys.project;
    let project = project.and_then(|it| settings::project(it, &at.key("project"), files, report));
    let folder = project.as_ref().map(|project| match &project.source {
        ProjectSource::Repository(folder) | ProjectSource::Template(folder) => folder.as_path(),
    });
    let choice = Choice {
        root: at,
        mcp_enabled: keys.mcp.enabled,
        project: folder,
    };
    let scenarios = scenarios(&keys.scenarios, &choice, files, report);
    let list = at.key("agents");
    let agents = keys.agents.unwrap_or_default().into_readable();
    let agents = agents.map(|(index, it)| agents::agent(it, &list.item(index), files, report));
    let agents = agents.collect();
    let shipped = keys.suite.default_prices;
    let own = keys.prices.unwrap_or_default();
    let prices = prices::prices(own, &at.key("prices"), shipped, report);
    // They are read here too, so that what is wrong with them is told at their own place.
    let suite = at.key("suite");
    let defaults = suite.key("defaults");
    layers::expected((defaults.node(), &defaults.path), None, files, report);
    let judges = (files.base, &prices);
    Some(Suite {
        judge: keys
            .judge
            .map(|it| judge::judge(it, &at.key("judge"), judges, report)),
        config_path: input.request.config.to_owned(),
        config_dir: files.base.folder().to_owned(),
        tasks_path: input.request.tasks.to_owned(),
        config_digest: sha256(input.config),
        tasks_digest: input.tasks.map(sha256).unwrap_or_default(),
        asked: Asked {
            config: at.node().map(asked::values).unwrap_or_default(),
            ..Asked::default()
        },
        settings: settings::settings(keys.suite, &suite, files, report),
        project: project?,
        agents,
        further_agents: Vec::new(),
        scenarios: scenarios.run,
        further_scenarios: scenarios.further,
        left_out: scenarios.left_out,
        mcp: settings::mcp(keys.mcp, files.base),
        prices,
        tasks: Vec::new(),
        warnings: Vec::new(),
    })
}

/// The tasks of a file, with these defaults of a suite under each, and the file value by value.
pub(super) fn tasks(
    at: &At<'_>,
    (files, defaults): (&Files<'_>, Option<&Node>),
    report: &mut Report,
) -> (Vec<TaskSpec>, BTreeMap<String, String>) {
    let keys: Option<TasksFile> = walk::read(at, report);
    let list = at.key("tasks");
    duplicate_ids("task", &list, report);
    let readable = keys.map(|keys| keys.tasks).unwrap_or_default();
    let mut tasks: BTreeMap<usize, TaskSpec> = readable
        .into_readable()
        .map(|(index, keys)| {
            let at = list.item(index);
            (index, task(keys, (&at, defaults), files, report))
        })
        .collect();
    for (index, item) in list.items().enumerate() {
        warn_of_no_graders(&item, tasks.get(&index), report);
    }
    let values = list.node().map(asked::values).unwrap_or_default();
    (std::mem::take(&mut tasks).into_values().collect(), values)
}

/// `suite.defaults` of a config file; nothing where there is no such file, or it has none.
pub(super) fn defaults_of(path: &Path, files: &Files<'_>) -> Result<Option<Node>, Problems> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = read(path, "it lies beside the tasks").map_err(Report::into_problems)?;
    let mut report = Report::new(path);
    let root = parsed(&bytes, &mut report);
    let at = root
        .as_ref()
        .map(|root| At::new(root, "").key("suite").key("defaults"));
    if let Some(at) = &at {
        walk::read::<Expect>(at, &mut report);
        layers::expected((at.node(), &at.path), None, files, &mut report);
    }
    if report.failed() {
        return Err(report.into_problems());
    }
    Ok(at.and_then(|at| at.node().cloned()))
}

/// SHA-256 of a file.
pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}
