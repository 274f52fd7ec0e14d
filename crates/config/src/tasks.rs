//! `tasks:` as they are read, with their graders and their digests.

use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::fields::{Fields, command};
use crate::files::Files;
use crate::node::Node;
use crate::problem::Report;
use crate::scenarios::laid_files;
use crate::settings::{hosts, network};
use crate::tables::GRADERS;
use crate::twins;
use crate::{GraderSpec, IosTestOptions, TaskKind, TaskSpec, TestFormat, TestsSpec};
use crate::{layers, measured};
use proctor_model::TaskId;

/// One of `tasks:`, under which `suite.defaults` lies; none when the check found its id wrong.
pub(super) fn task(
    fields: &Fields<'_>,
    (node, defaults): (&Node, Option<&Node>),
    files: &Files<'_>,
    report: &mut Report,
) -> Option<TaskSpec> {
    let reference_patch = fields.path_value("reference_patch", files.base);
    if let Some(path) = &reference_patch {
        files.file(path, &(fields, "reference_patch"), report);
    }
    let alternatives = alternatives(fields, files, report);
    let mut all = graders(("graders", fields), files, report);
    let expect = (fields.get("expect"), fields.path("expect"));
    let expected = layers::expected((expect.0, &expect.1), defaults, files, report);
    all.extend(expected.into_iter().map(|spec| (spec, false)));
    let held_out = graders(("held_out_graders", fields), files, report);
    let held_out_count = held_out.len();
    all.extend(held_out);
    let sharing = all.iter().enumerate();
    let sharing = sharing.filter(|(_, (_, shares))| *shares);
    let sharing = sharing.map(|(place, _)| place).collect();
    let graders: Vec<GraderSpec> = all.into_iter().map(|(spec, _)| spec).collect();
    let impossible = fields.boolean("impossible");
    if impossible && reference_patch.is_some() {
        report
            .error(
                fields.place_of("impossible"),
                &fields.path("impossible"),
                "contradicts reference_patch",
            )
            .hint("an impossible task has no solution: leave one of the two out");
    }
    if node.map().is_some() && graders.is_empty() {
        warn_of_no_graders(fields, report);
    }
    let kind = match fields.text_or_empty("kind").as_str() {
        "regression" => TaskKind::Regression,
        _ => TaskKind::Capability,
    };
    let setup_commands = fields.items("setup_commands").iter().map(command).collect();
    let grader_files = laid_files(&(fields, "grader_files"), files, report);
    for key in ["graders", "held_out_graders"] {
        for (kind, options) in fields.tagged(key, GRADERS) {
            if matches!(kind, "command" | "ios_test_pass") {
                twins::check(&options, &grader_files, files, report);
            }
        }
    }
    let named: Vec<PathBuf> = reference_patch
        .iter()
        .chain(&alternatives)
        .cloned()
        .chain(references(&graders))
        .collect();
    let laid = grader_files
        .iter()
        .map(|(from, _)| from.clone())
        .collect::<Vec<_>>();
    let id = fields.text("id")?;
    if id == "baseline" {
        let message = "the id \"baseline\" is kept for baseline runs";
        report.error(fields.place_of("id"), &fields.path("id"), message);
    }
    Some(TaskSpec {
        id: TaskId::new(id).ok()?,
        description: fields.text_or_empty("description"),
        prompt: fields.text_or_empty("prompt"),
        kind,
        setup_commands,
        carry: fields.words("carry"),
        protected: fields.get("protected").map(|_| fields.words("protected")),
        allowed_changes: fields
            .get("allowed_changes")
            .map(|_| fields.words("allowed_changes")),
        digest: digest((node, defaults), named.into_iter().chain(laid)),
        grader_files,
        graders,
        held_out: held_out_count,
        sharing,
        impossible,
        network: fields.text("network").map(|word| network(&word)),
        hosts: hosts(fields),
        reference_patch,
        alternatives,
    })
}

/// Patches of further right solutions.
fn alternatives(fields: &Fields<'_>, files: &Files<'_>, report: &mut Report) -> Vec<PathBuf> {
    let written = fields.items("alternatives").iter().enumerate();
    let patches = written.filter_map(|(index, node)| {
        let path = files.base.resolve(node.word()?);
        let key = format!("{}[{index}]", fields.path("alternatives"));
        files.expect_item(&path, (node, &key), report);
        Some(path)
    });
    patches.collect()
}

fn warn_of_no_graders(fields: &Fields<'_>, report: &mut Report) {
    let written = fields.get("graders");
    if written.is_none_or(|node| node.list().is_some_and(<[Node]>::is_empty)) {
        report
            .warning(fields.place(), &fields.path("graders"), "there are none")
            .hint("success then says only that the agent ended with exit code 0");
    }
}

/// The files that graders compare with.
fn references(graders: &[GraderSpec]) -> Vec<PathBuf> {
    let references = graders.iter().filter_map(|grader| match grader {
        GraderSpec::ScreenshotCompare { reference_path, .. } => Some(reference_path.clone()),
        GraderSpec::Privacy(options) => options.strings_file.clone(),
        _ => None,
    });
    let answers = graders.iter().filter_map(|grader| match grader {
        GraderSpec::Answer(spec) => Some(&spec.judges),
        _ => None,
    });
    let contexts = answers.flatten().filter_map(|it| it.context_file.clone());
    references.chain(contexts).collect()
}

/// SHA-256 over the task's value (comments and layout aside), what lies under it, and the files that it names.
fn digest(
    (node, defaults): (&Node, Option<&Node>),
    named: impl Iterator<Item = PathBuf>,
) -> String {
    let mut hasher = Sha256::new();
    hasher.update(node.to_json().to_string());
    if let Some(defaults) = defaults {
        hasher.update(defaults.to_json().to_string());
    }
    for path in named.flat_map(|path| files_below(&path)) {
        let bytes = if path.is_file() {
            std::fs::read(path).unwrap_or_default()
        } else {
            Vec::new()
        };
        hasher.update(b"\0");
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    }
    hex(&hasher.finalize())
}

/// A file itself, or the files in a folder, by name.
fn files_below(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(path) else {
        return vec![path.to_owned()];
    };
    let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries
        .iter()
        .flat_map(|entry| files_below(entry))
        .collect()
}

/// Bytes in hex, as `sha256sum` prints them.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all text");
        text
    })
}

/// Graders, and whether each works in the tree that the one before it left.
fn graders(
    (key, fields): (&str, &Fields<'_>),
    files: &Files<'_>,
    report: &mut Report,
) -> Vec<(GraderSpec, bool)> {
    let graders = fields.tagged(key, GRADERS).into_iter();
    graders
        .filter_map(|(word, options)| {
            let spec = grader(word, &options, files, report)?;
            let shares = spec.looks_at_tree() && options.boolean("shares_tree");
            Some((spec, shares))
        })
        .collect()
}

/// Says so where a glob cannot mean what its writer thought.
fn idle_glob(glob: &str, options: &Fields<'_>, report: &mut Report) {
    let (why, hint) = if glob.starts_with(['/', '~']) || glob.split('/').any(|part| part == "..") {
        (
            "never matches: globs are matched against paths inside of the repository",
            "write it from the root of the repository or from the folder of repo_path",
        )
    } else if glob.starts_with('!') {
        (
            "is a name that begins with `!`: nothing is negated",
            "list what is forbidden, and leave out what is not",
        )
    } else {
        return;
    };
    let key = options.path("forbidden_globs");
    let place = options.place_of("forbidden_globs");
    report
        .warning(place, &key, format!("\"{glob}\" {why}"))
        .hint(hint);
}

fn grader(
    name: &str,
    options: &Fields<'_>,
    files: &Files<'_>,
    report: &mut Report,
) -> Option<GraderSpec> {
    let relative = |name: &str| options.text(name).map(PathBuf::from);
    Some(match name {
        "git_diff_forbidden" => {
            let forbidden_globs = options.words("forbidden_globs");
            for glob in &forbidden_globs {
                idle_glob(glob, options, report);
            }
            GraderSpec::GitDiffForbidden { forbidden_globs }
        }
        "command" => command_grader(options, report)?,
        "screenshot_exists" => GraderSpec::ScreenshotExists {
            path: relative("path")?,
        },
        "screenshot_compare" => {
            let reference_path = options.path_value("reference_path", files.base)?;
            files.file(&reference_path, &(options, "reference_path"), report);
            GraderSpec::ScreenshotCompare {
                path: relative("path")?,
                reference_path,
                threshold: options.count("threshold"),
            }
        }
        "ios_test_pass" => {
            own_arguments(options, report);
            GraderSpec::IosTestPass(ios_test(options))
        }
        "ios_install_check" => GraderSpec::IosInstallCheck {
            from_tree: options.boolean("from_tree"),
        },
        "ios_launch_check" => GraderSpec::IosLaunchCheck {
            from_tree: options.boolean("from_tree"),
        },
        "retrieval" => GraderSpec::Retrieval(measured::retrieval(options, report)?),
        "privacy" => GraderSpec::Privacy(measured::privacy(options, files, report)),
        name => return layers::grader(name, options, files, report),
    })
}

fn command_grader(options: &Fields<'_>, report: &mut Report) -> Option<GraderSpec> {
    let written = match (options.get("argv"), options.get("command")) {
        (Some(node), None) | (None, Some(node)) => node,
        (Some(_), Some(_)) => {
            report
                .error(
                    options.place_of("command"),
                    &options.path("command"),
                    "contradicts argv",
                )
                .hint("they mean the same: keep one");
            return None;
        }
        (None, None) => {
            report
                .error(options.place(), &options.path("argv"), "is missing")
                .hint("give the program and its arguments as a list");
            return None;
        }
    };
    let argv = command(written);
    if argv
        .first()
        .is_some_and(|program| program.trim().is_empty())
    {
        report.error(
            written.place,
            &options.path("argv"),
            "must start with a program",
        );
    }
    Some(GraderSpec::Command {
        argv,
        cwd: options.text("cwd").map(PathBuf::from),
        expected_exit: i32::try_from(options.whole("expected_exit")).unwrap_or_default(),
        timeout: options.seconds("timeout_sec"),
        expected_output: options.text("expected_output"),
        forbidden_output: options.text("forbidden_output"),
        env: options.environment("env").into_iter().collect(),
        repeats: options.count("repeats"),
        tests: TestsSpec {
            format: test_format(&options.text_or_empty("tests")),
            report: options.text_or_empty("test_report").into(),
            expect: options.words("expect_tests"),
            twin: twins::twin(options),
        },
    })
}

fn test_format(word: &str) -> TestFormat {
    let mut known = TestFormat::ALL.into_iter();
    let found = known.find(|(name, _)| *name == word);
    found.map_or(TestFormat::Auto, |(_, format)| format)
}

/// Refuses arguments of `xcodebuild` that the grader gives by itself: a second destination is nobody's lease, and a second place for
/// results is none that is looked at.
fn own_arguments(options: &Fields<'_>, report: &mut Report) {
    const OWN: [(&str, &str); 3] = [
        (
            "-destination",
            "name it in destination of this grader, so that its simulator is lent",
        ),
        (
            "-derivedDataPath",
            "leave it out: each build of a grader has its own",
        ),
        (
            "-resultBundlePath",
            "leave it out: results count from the grader's own bundle alone",
        ),
    ];
    for word in options.words("xcodebuild_args") {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        let Some((name, hint)) = OWN.iter().find(|(own, _)| *own == name) else {
            continue;
        };
        let (place, key) = (
            options.place_of("xcodebuild_args"),
            options.path("xcodebuild_args"),
        );
        let why = format!("holds {name}, which the grader gives by itself");
        report.error(place, &key, why).hint(*hint);
    }
}

fn ios_test(options: &Fields<'_>) -> IosTestOptions {
    IosTestOptions {
        scheme: options.text("scheme"),
        workspace: options.text("workspace"),
        project: options.text("project"),
        destination: options.text("destination"),
        only_testing: options.words("only_testing"),
        skip_testing: options.words("skip_testing"),
        test_plan: options.text("test_plan"),
        xcodebuild_args: options.words("xcodebuild_args"),
        timeout: options.seconds("timeout_sec"),
        twin: twins::twin(options),
    }
}
