//! `proctor init`: a commented suite to start from, for the agents that are here.

use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::cli::args::InitArgs;
use crate::cli::failure::{Failure, Kind, Outcome};
use crate::cli::out::{Colour, Out};
use proctor_agents::{KNOWN_AGENTS, find_on_path, profile};
use proctor_config::AgentKind;

const CONFIG: &str = include_str!("config.template.yaml");
const TASKS: &str = include_str!("tasks.template.yaml");

/// How a kind of project is tested, by a file that gives it away.
const TESTED_BY: [(&str, TestedBy); 7] = [
    (
        "Cargo.toml",
        TestedBy {
            argv: &["cargo", "test"],
            hidden: Some(&Hidden {
                argv: &["cargo", "test", "--test", "graded"],
                file: "graded.rs",
                text: include_str!("graded.rs.txt"),
                twin: ["graded_example", "+ 22, 42", "+ 22, 43"],
            }),
        },
    ),
    ("Package.swift", TestedBy::unnamed(&["swift", "test"])),
    ("go.mod", TestedBy::unnamed(&["go", "test", "./..."])),
    ("package.json", TestedBy::unnamed(&["npm", "test"])),
    (
        "pyproject.toml",
        TestedBy {
            argv: &["python3", "-m", "pytest"],
            hidden: Some(&Hidden {
                argv: &["python3", "-m", "pytest", "-v"],
                file: "test_graded.py",
                text: include_str!("test_graded.py.txt"),
                twin: ["test_graded_example", "+ 22 == 42", "+ 22 == 43"],
            }),
        },
    ),
    (
        "build.gradle.kts",
        TestedBy::unnamed(&["./gradlew", "test"]),
    ),
    ("Makefile", MAKE),
];

const MAKE: TestedBy = TestedBy::unnamed(&["make", "test"]);

/// How a project is tested.
#[derive(Debug, Clone, Copy)]
struct TestedBy {
    argv: &'static [&'static str],
    hidden: Option<&'static Hidden>,
}

/// Hidden tests to start from, where the runner reports tests by name.
#[derive(Debug)]
struct Hidden {
    /// The runner, so that it does.
    argv: &'static [&'static str],
    /// A file of `task_assets/example` that graders lay into `tests`, and its text.
    file: &'static str,
    text: &'static str,
    /// Its test, and the edit that makes it wrong.
    twin: [&'static str; 3],
}

impl TestedBy {
    const fn unnamed(argv: &'static [&'static str]) -> Self {
        Self { argv, hidden: None }
    }
}

/// What a new suite is made of.
struct Found {
    agents: Vec<Agent>,
    /// Folder inside a repository, as the config names it.
    repo_path: &'static str,
    tested_by: TestedBy,
}

struct Agent {
    kind: AgentKind,
    id: &'static str,
    is_here: bool,
}

/// Writes `config.yaml` and `tasks.yaml`, and the schemas that their first lines lead editors to.
pub(in crate::cli) fn run(args: &InitArgs) -> Outcome {
    let found = look(&args.dir);
    let mut files = vec![
        ("config.yaml".to_owned(), config(&found)),
        ("tasks.yaml".to_owned(), tasks(&found)),
        (
            "schemas/config.schema.json".to_owned(),
            schema(&proctor_config::schema_config()),
        ),
        (
            "schemas/tasks.schema.json".to_owned(),
            schema(&proctor_config::schema_tasks()),
        ),
    ];
    let laid = found.tested_by.hidden;
    files.extend(laid.map(|laid| (asset(laid), laid.text.to_owned())));
    let mut out = Out::new(Colour::AUTO);
    refuse_to_overwrite(args, &files)?;
    for (name, text) in &files {
        let path = args.dir.join(name);
        let folder = path.parent().unwrap_or(&args.dir);
        fs::create_dir_all(folder)
            .map_err(|error| Failure::at(format_args!("create {}", folder.display()), error))?;
        if is_as_wanted(&path, text) {
            continue;
        }
        write(&path, text, args.force)
            .map_err(|error| Failure::at(format_args!("write {}", path.display()), error))?;
        out.line(format_args!("wrote {}", path.display()))?;
    }
    out.text(told(&found))
}

/// Nothing is written when one of the files is there, so that no half of a suite is left.
fn refuse_to_overwrite(args: &InitArgs, files: &[(String, String)]) -> Outcome {
    let there: Vec<String> = files
        .iter()
        .map(|(name, text)| (args.dir.join(name), text))
        .filter(|(path, text)| path.symlink_metadata().is_ok() && !is_as_wanted(path, text))
        .map(|(path, _)| path.display().to_string())
        .collect();
    if there.is_empty() || args.force {
        return Ok(());
    }
    let message = format!("already there: {}", there.join(", "));
    Err(Failure::new(Kind::Usage, message)
        .hint("--force writes over it; another folder can be named"))
}

/// As `proctor schema` prints it.
fn schema(schema: &serde_json::Value) -> String {
    format!("{schema:#}\n")
}

/// Whether the file is there already, to the byte, and nobody's to edit first: a schema, or a test, that an earlier `init` wrote.
fn is_as_wanted(path: &Path, text: &str) -> bool {
    let is_edited = path
        .extension()
        .is_some_and(|extension| extension == "yaml");
    !is_edited && fs::read(path).is_ok_and(|there| there == text.as_bytes())
}

fn write(path: &Path, text: &str, force: bool) -> io::Result<()> {
    if force {
        // A link is replaced, not followed.
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}

fn look(dir: &Path) -> Found {
    let path =
        std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/local/bin:/usr/bin:/bin"));
    let agents = KNOWN_AGENTS.map(|(kind, id)| Agent {
        kind,
        id,
        is_here: find_on_path(kind, &path).is_some(),
    });
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let repository = dir
        .ancestors()
        .find(|folder| folder.join(".git").exists())
        .map(Path::to_owned);
    let root = repository.unwrap_or(dir);
    Found {
        agents: agents.into(),
        repo_path: "\".\"",
        tested_by: tested_by(&root),
    }
}

fn tested_by(root: &Path) -> TestedBy {
    let found = TESTED_BY.iter().find(|(file, _)| root.join(file).exists());
    found.map_or(MAKE, |(_, tested_by)| *tested_by)
}

/// Agents that are here are written as they run; those that are not, as comments, unless none is here at all: then the
/// usual two are written.
fn config(found: &Found) -> String {
    let none = found.agents.iter().all(|agent| !agent.is_here);
    let agents: String = found
        .agents
        .iter()
        .enumerate()
        .map(|(place, agent)| entry(agent, agent.is_here || (none && place < 2)))
        .collect();
    CONFIG
        .replace("@REPO_PATH@", found.repo_path)
        .replace("@TEST_COMMAND@", &found.tested_by.argv.join(" "))
        .replace("@AGENTS@\n", &agents)
}

fn tasks(found: &Found) -> String {
    let tested_by = found.tested_by;
    let argv = tested_by
        .hidden
        .map_or(tested_by.argv, |hidden| hidden.argv);
    TASKS
        .replace("@TEST_ARGV@", &flow(argv))
        .replace("@HIDDEN@\n", &hidden(tested_by.hidden))
}

fn asset(hidden: &Hidden) -> String {
    format!("task_assets/example/{}", hidden.file)
}

/// The keys of the grader, and of its task, that hide tests and give them a twin.
fn hidden(hidden: Option<&Hidden>) -> String {
    let Some(hidden) = hidden else {
        return NO_HIDDEN.to_owned();
    };
    let (asset, file, [test, from, to]) = (asset(hidden), hidden.file, hidden.twin);
    format!(
        "{WITH_TWIN}          - {{test: {test}, file: tests/{file}, from: \"{from}\", to: \"{to}\"}}\n    grader_files:                  # laid into the tree that graders judge; no agent sees them\n      - {{from: {asset}, to: tests/{file}}}\n"
    )
}

const WITH_TWIN: &str = "        # Code under test can print what a test runner prints. A twin finds out: with this edit, exactly this test must fail.
        # `proctor validate --make-twins` proposes the edits.
        twin:
";

const NO_HIDDEN: &str = "        # Exit code 0 is cheap, and code under test can print what a test runner prints. Lay tests that the agent has not seen
        # by `grader_files`, let the runner report tests by name, and let `proctor validate --make-twins` propose a twin.
        # tests: junit             # the report is {OUT_DIR}/junit.xml
        # twin:
        #   - {test: adds_up, file: tests/graded_test.txt, from: \"42\", to: \"43\"}
    # grader_files:
    #   - {from: task_assets/example/graded_test.txt, to: tests/graded_test.txt}
";

fn entry(agent: &Agent, active: bool) -> String {
    let found = if agent.is_here {
        ""
    } else {
        "  # not found on PATH when this file was written"
    };
    let lines = [
        format!("- id: {}{found}", agent.id),
        format!("  kind: {}", agent.kind.as_str()),
        format!("  command: {}", flow(profile(agent.kind).command)),
        "  # pricing: {input_per_token: 0.000003, output_per_token: 0.000015, cache_read_multiplier: 0.1}".to_owned(),
    ];
    let prefix = if active { "  " } else { "  # " };
    lines.iter().flat_map(|line| [prefix, line, "\n"]).collect()
}

/// A YAML flow list; words that YAML could read as something else are quoted.
fn flow(words: &[&str]) -> String {
    let safe = |word: &str| {
        word.starts_with(|first: char| first.is_ascii_alphabetic())
            && word
                .chars()
                .all(|character| character.is_ascii_alphanumeric() || "-_.".contains(character))
            && !["yes", "no", "on", "off", "true", "false", "null", "y", "n"]
                .contains(&word.to_ascii_lowercase().as_str())
    };
    let quoted = |word: &&str| {
        if safe(word) {
            (*word).to_owned()
        } else {
            format!("\"{word}\"")
        }
    };
    format!(
        "[{}]",
        words.iter().map(quoted).collect::<Vec<_>>().join(", ")
    )
}

fn told(found: &Found) -> String {
    let here: Vec<&str> = found
        .agents
        .iter()
        .filter(|agent| agent.is_here)
        .map(|agent| agent.id)
        .collect();
    let agents = match here.as_slice() {
        [] => {
            "no agent was found on PATH: install one, or name its program in config.yaml".to_owned()
        }
        here => format!("agents found: {}", here.join(", ")),
    };
    format!("{agents}\nnext: edit both files, then `proctor doctor` and `proctor run --dry-run`\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proctor_config::{GraderSpec, LoadRequest, load};

    fn found(claude: bool, codex: bool) -> Found {
        Found {
            agents: vec![
                Agent {
                    kind: AgentKind::ClaudeCode,
                    id: "claude",
                    is_here: claude,
                },
                Agent {
                    kind: AgentKind::Codex,
                    id: "codex",
                    is_here: codex,
                },
            ],
            repo_path: "\".\"",
            tested_by: TestedBy::unnamed(&["go", "test", "./..."]),
        }
    }

    #[test]
    fn a_new_task_has_hidden_tests_with_a_twin_where_tests_are_told_by_name() {
        for (file, test) in [
            ("Cargo.toml", Some("graded_example")),
            ("pyproject.toml", Some("test_graded_example")),
            ("package.json", None),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let dir = folder.path();
            fs::create_dir(dir.join(".git")).unwrap();
            fs::write(dir.join(file), "").unwrap();
            run(&InitArgs {
                dir: dir.to_owned(),
                force: false,
            })
            .unwrap();
            let (config, tasks) = (dir.join("config.yaml"), dir.join("tasks.yaml"));
            let suite = load(&LoadRequest {
                config: &config,
                tasks: &tasks,
                check_files: true,
            });
            let suite = suite.unwrap_or_else(|problems| panic!("{file}: {problems}"));
            let task = &suite.tasks[0];
            let twins = task.graders.iter().flat_map(GraderSpec::twin);
            let twins: Vec<&str> = twins.map(|edit| edit.test.as_str()).collect();
            assert_eq!(twins, Vec::from_iter(test), "{file}");
            assert_eq!(task.grader_files.len(), twins.len());
            assert_eq!(
                task.protected.as_deref(),
                Some(&["tests/**".to_owned()][..])
            );
        }
    }

    #[test]
    fn what_is_written_loads_whoever_is_here() {
        let cases = [
            ((true, true), 2),
            ((true, false), 1),
            ((false, true), 1),
            ((false, false), 2),
        ];
        for ((claude, codex), agents) in cases {
            let folder = tempfile::tempdir().unwrap();
            let dir = folder.path();
            let found = found(claude, codex);
            let (config_path, tasks_path) = (dir.join("config.yaml"), dir.join("tasks.yaml"));
            write(&config_path, &config(&found), false).unwrap();
            write(&tasks_path, &tasks(&found), false).unwrap();
            let request = LoadRequest {
                config: &config_path,
                tasks: &tasks_path,
                check_files: true,
            };
            let suite = load(&request).unwrap_or_else(|problems| panic!("{problems}"));
            assert_eq!(suite.agents.len(), agents, "claude {claude}, codex {codex}");
            assert_eq!(suite.tasks.len(), 1);
            assert!(suite.warnings.is_empty(), "{:?}", suite.warnings);
            assert!(!config(&found).contains('@') && !tasks(&found).contains('@'));
        }
    }

    #[test]
    fn words_that_yaml_would_change_are_quoted() {
        assert_eq!(
            flow(&["go", "-p", "{PROMPT}", "no", "a.b_c-d"]),
            "[go, \"-p\", \"{PROMPT}\", \"no\", a.b_c-d]"
        );
    }
}
