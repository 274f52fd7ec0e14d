//! Which changes of a manifest are told, and which are honest work.

use super::*;

/// What is told, where nothing lies beside the file.
fn told(name: &str, before: Option<&str>, now: Option<&str>) -> Vec<String> {
    let (before, now) = (before.map(str::as_bytes), now.map(str::as_bytes));
    changed_test_config(Path::new(name), (before, now), &|_| None)
}

const PACKAGE: &str = r#"{"name":"a","scripts":{"test":"jest","build":"tsc"},"dependencies":{"left":"1"},"devDependencies":{"jest":"29"}}"#;
const CARGO: &str =
    "[package]\nname = \"a\"\n[dependencies]\nserde = \"1\"\n[[test]]\nname = \"t\"\n";
const PYTHON: &str =
    "[project]\nname = 'a'\ndependencies = ['x']\n[tool.pytest.ini_options]\naddopts = '-q'\n";
const GO: &str = "module a\nrequire b v1\n";
const GO_BLOCK: &str = "module a\nrequire b v1\nreplace (\n\tc => ./c\n)\n";
const EXTRAS: &str = "[project]\nname = 'a'\ndependencies = ['x']\n[project.optional-dependencies]\ntest = ['pytest']\n[dependency-groups]\ndev = ['y']\n[tool.poetry.group.dev.dependencies]\nz = '^1'\n";
const GRADLE: &str =
    "dependencies {\n  implementation \"a:b:1\"\n}\ntest {\n  useJUnitPlatform()\n}\n";
const XCODE: &str = "objects = {\n\tA1 /* View.swift in Sources */ = {isa = PBXBuildFile; };\n};\n";
const CMAKE: &str = "add_library(core core.c)\nadd_test(NAME a COMMAND run)\n";
const VITE: &str = "export default {\n  plugins: [react()],\n};\n";
const GO_TEST: &str = "package a\n\nfunc TestA(t *testing.T) {\n\tt.Fatal()\n}\n";
const POM: &str = "<dependencies>\n</dependencies>\n";
const PIPS: &str = "# the index\nrequests==2.31 --hash=sha256:ab\n-r base-requirements.txt\n";
const WORKSPACE: &str = "packages:\n  - 'packages/*'\ncatalog:\n  left: ^1\n";
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
    ["go.mod", GO_BLOCK, "c => ./c", "c => ./c\n\tb => ./fake", "replace"],
    ["go.mod", GO_BLOCK, "b v1", "b v1\nrequire x/replacer v1", ""],
    ["setup.py", SETUP, "['x']", "['x', 'y>=1']", ""],
    ["setup.py", SETUP, "['x']", "['x @ file:///y']", "test"],
    ["setup.py", SETUP, "name='a'", "name='a', test_suite='fake'", "test"],
    ["setup.py", "setup(\n)\n", "(\n", "(\n  extras_require={'test': ['pytest>=7']},\n  tests_require=['z'],\n", ""],
    ["setup.py", "setup(\n)\n", "(\n", "(\n  tests_require=['pytest @ file:///x'],\n", "test"],
    ["setup.py", "setup(\n)\n", "(\n", "(\n  test_suite='fake',\n", "test"],
    // Words are not looked for inside of others, and a dependency may be one for tests.
    ["project.pbxproj", XCODE, "\tA1", "\tB1 /* CheckoutView.swift in Sources */ = {isa = PBXBuildFile; };\n\tA1", ""],
    ["project.pbxproj", XCODE, "\tA1", "\tB1 /* FooTests.swift in Sources */ = {isa = PBXBuildFile; };\n\tA1", "test"],
    ["CMakeLists.txt", CMAKE, "core.c", "core.c checksum.c latest.c", ""],
    ["CMakeLists.txt", CMAKE, "COMMAND run", "COMMAND true", "test"],
    ["build.gradle", GRADLE, "1\"", "1\"\n  implementation \"com.x:inspector:1\"", ""],
    ["build.gradle", GRADLE, "1\"", "1\"\n  testImplementation \"org.junit:junit:4\"", ""],
    ["build.gradle", GRADLE, "1\"", "1\"\n  testImplementation files('fake.jar')", "test"],
    ["build.gradle", GRADLE, "test {", "test.enabled = false\ntest {", "test"],
    ["pom.xml", POM, "<dependencies>", "<dependencies>\n<scope>test</scope>", ""],
    ["pom.xml", POM, "<dependencies>", "<skipTests>true</skipTests>\n<dependencies>", "test"],
    ["pom.xml", POM, "<dependencies>", "<plugin>\n<configuration>\n<skip>true</skip>\n</configuration>\n</plugin>\n<dependencies>", "test"],
    ["pom.xml", POM, "<dependencies>", "<artifactId>maven-surefire-plugin</artifactId>\n<dependencies>", ""],
    ["pom.xml", POM, "<dependencies>", "<exclude>**/*</exclude>\n<dependencies>", "test"],
    ["pom.xml", POM, "<dependencies>", "<dependencies>\n<artifactId>skipper</artifactId>\n<exclusions>\n</exclusions>", ""],
    ["app/vite.config.mts", VITE, "react()", "react(), fake()", "config"],
    ["vite.config.js", VITE, "plugins", "\n  \n  plugins", ""],
    ["vite.config.local.js", VITE, "react()", "react(), fake()", ""],
    ["a/a_test.go", GO_TEST, "t.Fatal()", "t.Log()", ""],
    ["a/a_test.go", GO_TEST, "func TestA", "func TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n\nfunc TestA", "TestMain"],
    ["a/a.go", GO_TEST, "func TestA", "func TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n\nfunc TestA", ""],
    ["Gemfile", "source 'x'\n", "'x'\n", "'x'\ngroup :test do\n  gem 'rspec', '~> 3'\nend\n", ""],
    ["Gemfile", "source 'x'\n", "'x'\n", "'x'\ngem 'rspec', path: 'fake'\n", "test"],
    // What pip and others install.
    ["pyproject.toml", EXTRAS, "'pytest'", "'pytest>=8', 'w; python_version < \"3.9\"'", ""],
    ["pyproject.toml", EXTRAS, "'pytest'", "'pytest @ file:///x.whl'", "project.optional-dependencies.test"],
    ["pyproject.toml", EXTRAS, "['x']", "['x', 'y @ https://z/y.zip']", "project.dependencies"],
    ["pyproject.toml", EXTRAS, "['y']", "['y @ file:///y']", "dependency-groups.dev"],
    ["pyproject.toml", EXTRAS, "'^1'", "{path = 'fake'}", "tool.poetry.group.dev.dependencies.z"],
    ["pyproject.toml", EXTRAS, "[project]", "[tool.uv]\nfind-links = ['wheels']\n[project]", "tool.uv.find-links"],
    ["requirements.txt", PIPS, "2.31", "2.32 ; python_version < '3.9'", ""],
    ["requirements.txt", PIPS, "# the", "flask[async]>=2,<4  # see https://x/y\nb\n# the", ""],
    ["requirements.txt", PIPS, "-r base-requirements.txt", "", ""],
    ["requirements.txt", PIPS, "-r", "./wheels/pytest-99.whl\n-r", "./wheels/pytest-99.whl"],
    ["requirements.txt", PIPS, "-r", "--find-links ./wheels\n-r", "--find-links ./wheels"],
    ["requirements.txt", PIPS, "-r", "-fwheels\n-r", "-fwheels"],
    ["requirements.txt", PIPS, "-r", "--index-url=http://x\n-r", "--index-url=http://x"],
    ["requirements.txt", PIPS, "-r", "--extra-index-url x\n-r", "--extra-index-url x"],
    ["requirements.txt", PIPS, "-r", "-e .\n-r", "-e ."],
    ["requirements.txt", PIPS, "-r", "pytest @ file:///x\n-r", "pytest @ file:///x"],
    ["requirements.txt", PIPS, "-r", "py\\\ntest.whl\n-r", "py test.whl"],
    ["requirements.txt", PIPS, "-r", "-r other.txt\n-r", "-r other.txt"],
    ["requirements/dev.in", PIPS, "-r", "-r more.txt\ngit+https://x/y\n-r", "git+https://x/y"],
    ["constraints.txt", "a==1\n", "a==1", "a==2\nb==1", ""],
    ["constraints.txt", "a==1\n", "a==1", "a @ file:///x", "a @ file:///x"],
    ["notes.md", "a\n", "a", "-e .", ""],
    // Of packages of npm.
    ["package.json", PACKAGE, "\"name\":\"a\"", "\"workspaces\":[\"lib/*\"]", "workspaces"],
    ["pnpm-workspace.yaml", WORKSPACE, "left: ^1", "left: ^2\n  right: ^1", ""],
    ["pnpm-workspace.yaml", WORKSPACE, "  - 'packages/*'\n", "  - 'packages/*'\n  - 'lib/*'\n", "packages"],
    ["pnpm-workspace.yaml", WORKSPACE, "catalog:", "overrides:\n  jest: file:lib/jest\ncatalog:", "overrides"],
    ["README.md", SETUP, "['x']", "[]", ""],
];

#[test]
fn parts_that_decide_how_tests_run_are_told_apart_from_the_rest() {
    for [name, before, from, to, told] in CASES {
        let now = before.replacen(*from, to, 1);
        assert_ne!(&now, before, "{name}: {from}");
        let found = self::told(name, Some(before), Some(&now));
        assert_eq!(&found.join(" "), told, "{name}: {from} -> {to}");
    }
}

#[test]
fn a_new_manifest_may_have_scripts_and_none_that_configures_a_runner() {
    let found = |name: &str, text: &str| told(name, None, Some(text));
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
    assert_eq!(found("vite.config.ts", VITE), ["config"]);
    assert_eq!(found("new_test.go", GO_TEST), Vec::<String>::new());
    let main = "package a\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n";
    assert_eq!(found("main_test.go", main), ["TestMain"]);
    let spelt = main.replace("TestMain(", "/*x*/ TestMain /*y*/ (");
    assert_eq!(found("main_test.go", &spelt), ["TestMain"]);
    let gone = told("pyproject.toml", Some(PYTHON), None);
    assert_eq!(gone, ["tool.pytest.ini_options"]);
    for name in crate::graders::watched_files::WATCHED
        .iter()
        .flat_map(|watched| watched.names)
    {
        assert!(says_how_tests_run(Path::new(name)));
        let both = (Some(b"".as_slice()), Some(b"\xff".as_slice()));
        assert!(!changed_test_config(Path::new(name), both, &|_| None).is_empty());
    }
}
