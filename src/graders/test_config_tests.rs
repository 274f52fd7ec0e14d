//! Which changes of a manifest are told, and which are honest work.

use super::*;

const PACKAGE: &str = r#"{"name":"a","scripts":{"test":"jest","build":"tsc"},"dependencies":{"left":"1"},"devDependencies":{"jest":"29"}}"#;
const CARGO: &str =
    "[package]\nname = \"a\"\n[dependencies]\nserde = \"1\"\n[[test]]\nname = \"t\"\n";
const PYTHON: &str =
    "[project]\nname = 'a'\ndependencies = ['x']\n[tool.pytest.ini_options]\naddopts = '-q'\n";
const GO: &str = "module a\nrequire b v1\n";
const SETUP: &str = "setup(name='a', tests_require=['x'])\n";

/// File, content before, what in it becomes what, and what is told.
#[rustfmt::skip]
const CASES: &[[&str; 5]] = &[
    ["package.json", PACKAGE, "\"left\":\"1\"", "\"left\":\"2\",\"right\":\"^1\"", ""],
    ["package.json", PACKAGE, "\"name\":\"a\"", "\"name\":\"b\",\"license\":\"MIT\"", ""],
    ["package.json", PACKAGE, "\"jest\",\"build", "\"true\",\"build", "scripts.test"],
    ["package.json", PACKAGE, "\"name\":\"a\"", "\"jest\":{\"testMatch\":[]}", "jest.testMatch"],
    ["package.json", PACKAGE, "\"jest\":\"29\"", "\"jest\":\"file:./fake\"", "devDependencies.jest"],
    ["package.json", PACKAGE, "{", "[", "unreadable"],
    ["sub/Cargo.toml", CARGO, "serde = \"1\"", "serde = \"2\"\nlog = { version = \"1\", features = [] }", ""],
    ["Cargo.toml", CARGO, "name = \"t\"", "name = \"t\"\nharness = false", "test"],
    ["Cargo.toml", CARGO, "name = \"a\"", "name = \"a\"\nautotests = false", "package.autotests"],
    ["Cargo.toml", CARGO, "serde = \"1\"", "serde = { path = \"fake\" }", "dependencies.serde"],
    ["Cargo.toml", CARGO, "[[test]]", "[dev_dependencies]\nx = { path = \"x\" }\n[[test]]", "dev_dependencies.x"],
    ["Cargo.toml", CARGO, "[[test]]", "[target.'cfg(unix)'.dev-dependencies]\nx = { git = \"x\" }\n[[test]]", "target.cfg(unix).dev-dependencies.x"],
    ["Cargo.toml", CARGO, "[[test]]", "[target.'cfg(unix)'.dependencies]\nx = \"1\"\n[[test]]", ""],
    ["Cargo.toml", CARGO, "name = \"a\"", "name = \"a\"\nbuild = \"b.rs\"\nlinks = \"z\"", "package.build package.links"],
    ["Cargo.toml", CARGO, "name = \"a\"", "name = \"a\"\nbuild = false", "package.build"],
    ["Cargo.toml", CARGO, "[[test]]", "[lib]\nproc-macro = true\n[[test]]", "lib.proc-macro"],
    ["Cargo.toml", CARGO, "[[test]]", "[profile.test]\nopt-level = 1\n[[test]]", "profile.test"],
    ["pyproject.toml", PYTHON, "['x']", "['x', 'y']", ""],
    ["pyproject.toml", PYTHON, "'-q'", "'-q --deselect t'", "tool.pytest.ini_options"],
    ["pyproject.toml", PYTHON, "[tool.pytest", "[\"tool\".\"py\\u0074est\"", ""],
    ["go.mod", GO, "v1", "v2", ""],
    ["go.mod", GO, "require", "replace b => ./b\nrequire", "replace"],
    ["setup.py", SETUP, "['x']", "[]", "test"],
    ["README.md", SETUP, "['x']", "[]", ""],
];

#[test]
fn parts_that_decide_how_tests_run_are_told_apart_from_the_rest() {
    for [name, before, from, to, told] in CASES {
        let now = before.replacen(*from, to, 1);
        assert_ne!(&now, before, "{name}: {from}");
        let found = changed_test_config(
            Path::new(name),
            Some(before.as_bytes()),
            Some(now.as_bytes()),
        );
        assert_eq!(&found.join(" "), told, "{name}: {from} -> {to}");
    }
}

#[test]
fn a_new_manifest_may_have_scripts_and_none_that_configures_a_runner() {
    let found =
        |name: &str, text: &str| changed_test_config(Path::new(name), None, Some(text.as_bytes()));
    assert_eq!(found("package.json", PACKAGE), Vec::<String>::new());
    assert_eq!(
        found("package.json", "{\"jest\":{\"rootDir\":\"x\"}}"),
        ["jest.rootDir"]
    );
    for (text, told) in [
        ("[package]\nname = 'a'\nbuild = 'b.rs'\n", "package.build"),
        (
            "[package]\nname = 'a'\n[lib]\nproc-macro = true\n",
            "lib.proc-macro",
        ),
        ("[package]\nname = 'a'\nbuild = false\n", ""),
        ("[package]\nname = 'a'\n[dependencies]\nx = '1'\n", ""),
    ] {
        assert_eq!(found("evil/Cargo.toml", text).join(" "), told, "{text}");
    }
    let gone = changed_test_config(Path::new("pyproject.toml"), Some(PYTHON.as_bytes()), None);
    assert_eq!(gone, ["tool.pytest.ini_options"]);
    for name in WATCHED.iter().flat_map(|watched| watched.names) {
        assert!(says_how_tests_run(Path::new(name)));
        assert!(!changed_test_config(Path::new(name), Some(b""), Some(b"\xff")).is_empty());
    }
}
