//! Where new modules are doubted, and how much.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::*;
use crate::workspace::{Content, LeftFile};

fn grader(argv: &[&str]) -> GraderSpec {
    GraderSpec::Command {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        cwd: None,
        expected_exit: None,
        timeout: None,
        expected_output: None,
        forbidden_output: None,
        env: vec![("PYTHONPATH".to_owned(), "vendored".to_owned())],
        repeats: 1,
        tests: crate::config::TestsSpec::default(),
    }
}

fn file(path: &str) -> ChangedPath {
    let now = LeftFile {
        size: 0,
        sha256: None,
        executable: false,
        content: Content::Bytes(Vec::new()),
    };
    ChangedPath {
        path: PathBuf::from(path),
        now: Now::File(now),
    }
}

fn side() -> PythonSide {
    PythonSide {
        declared: BTreeSet::from(["flask".to_owned()]),
        on_path: BTreeSet::from([PathBuf::from("p/backend")]),
        versions: BTreeSet::from([13]),
        ..PythonSide::default()
    }
}

/// Paths of a base commit whose project is `p`.
fn base() -> BTreeSet<PathBuf> {
    let paths = [
        "pkg/__init__.py",
        "pkg/loose/x.py",
        "app/queue.py",
        "app/x.py",
        "checks/test_a.py",
        "backend/x.py",
        "quality/test_q.py",
        "tests/test_a.py",
        "suite/__init__.py",
        "suite/test_s.py",
    ];
    paths.iter().map(|path| Path::new("p").join(path)).collect()
}

#[test]
fn a_new_module_before_one_of_pythons_own_is_known_where_importing_begins() {
    let paths = base();
    let made = ["p/fresh", "p/src", "p/backend"].map(PathBuf::from).into();
    let layout = Layout::of(&paths, &made);
    let holds_tests = |folder: &Path| folder == Path::new("p/quality");
    let commands: [&[&str]; 3] = [
        &["python3", "-m", "pytest", "checks/test_a.py::test_b", "pkg"],
        &["sh", "-c", "cd app && python -m unittest discover -s tools"],
        &["python3", "-m", "unittest"],
    ];
    let (no, may, yes) = (None, Some(Doubt::Possible), Some(Doubt::Certain));
    for (path, found) in [
        ("argparse.py", [yes, yes, yes]),
        ("p/argparse.py", [yes, yes, yes]),
        ("p/argparse/__init__.py", [yes, yes, yes]),
        ("p/argparse/other.py", [no, no, no]),
        ("p/_json.cpython-313-x86_64-linux-gnu.so", [yes, yes, yes]),
        ("p/pluggy.py", [yes, yes, may]),
        ("p/solution.py", [no, no, no]),
        ("p/argparse.md", [no, no, no]),
        ("p/src/types.py", [may, may, may]),
        ("p/lib/types.py", [yes, yes, yes]),
        ("p/new/types.py", [may, may, may]),
        ("p/fresh/types.py", [no, no, no]),
        ("p/fresh/inner/types.py", [no, no, no]),
        ("p/vendored/types.py", [yes, yes, yes]),
        ("p/checks/types.py", [yes, may, may]),
        ("p/quality/types.py", [yes, yes, yes]),
        ("p/pkg/types.py", [no, no, no]),
        ("p/pkg/new/types.py", [no, no, no]),
        ("p/pkg/loose/types.py", [may, may, may]),
        ("p/app/types.py", [may, yes, may]),
        ("p/app/queue.py", [no, no, no]),
        ("p/backend/types.py", [may, may, may]),
        ("p/parser.py", [no, no, no]),
        ("p/venv/lib/types.py", [no, no, no]),
        ("p/flask.py", [may, may, may]),
        ("p/backend/flask/__init__.py", [may, may, may]),
        ("p/pkg/flask.py", [no, no, no]),
        ("p/java/lang.py", [yes, yes, yes]),
    ] {
        for (command, found) in commands.iter().zip(found) {
            let imports = Imports::of(&[grader(command)], Path::new("p"), &side());
            let told = imports.shadow(&file(path), layout, &holds_tests);
            assert_eq!(told, found, "{path} for {command:?}");
        }
    }
    let link = ChangedPath {
        path: PathBuf::from("p/argparse"),
        now: Now::Link(b"other".to_vec()),
    };
    let imports = Imports::of(&[], Path::new("p"), &PythonSide::default());
    assert_eq!(imports.shadow(&link, layout, &holds_tests), yes);
    assert_eq!(
        imports.shadow(&file("p/parser.py"), layout, &holds_tests),
        may
    );
}

/// What of the base commit a new module is called like: as a file, as a folder, and how sure.
#[test]
fn a_module_is_called_like_another_that_is_imported_from_elsewhere() {
    let (paths, made) = (base(), BTreeSet::new());
    let layout = Layout::of(&paths, &made);
    let imports = Imports::of(&[grader(&["true"])], Path::new("p"), &side());
    let alike = |path: &str, other: &str| {
        let all = imports.called_like(&file(path), layout).into_iter();
        let mut same = all.filter(|it| it.path == Path::new(other));
        same.next().map(|it| (it.as_file, it.as_folder, it.doubt))
    };
    let (may, yes) = (Doubt::Possible, Doubt::Certain);
    for (path, other, found) in [
        // The path holds it by a setting, by custom, or only if somebody goes there.
        (
            "p/backend/tests/test_a.py",
            "p/tests/test_a",
            Some((true, true, yes)),
        ),
        (
            "p/src/tests/test_a.py",
            "p/tests/test_a",
            Some((true, true, yes)),
        ),
        (
            "p/app/tests/test_a.py",
            "p/tests/test_a",
            Some((true, true, may)),
        ),
        (
            "p/src/tests/__init__.py",
            "p/tests",
            Some((false, true, yes)),
        ),
        ("p/backend/tests.py", "p/tests", Some((true, true, yes))),
        // No name of tests.
        ("p/src/app/x.py", "p/app/x", Some((true, true, may))),
        // Folders of tests on the path have one for each module.
        ("p/src/auth.py", "p/backend/auth", Some((true, false, may))),
        // A package is no place where importing begins.
        ("p/pkg/tests/test_a.py", "p/tests/test_a", None),
        ("p/tests/test_b.py", "p/tests/test_b", None),
        ("p/venv/lib/tests/test_a.py", "p/tests/test_a", None),
    ] {
        assert_eq!(alike(path, other), found, "{path}");
    }
}
