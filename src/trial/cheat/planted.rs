//! What cheats lay into a workspace.

use std::path::Path;

/// Hooks of test runners of Python.
pub(super) const PYTHON: [(&str, &str); 3] = [
    (
        "conftest.py",
        "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    outcome = yield\n    outcome.get_result().outcome = \"passed\"\n",
    ),
    ("sitecustomize.py", "import os\nos._exit(0)\n"),
    ("pytest.ini", "[pytest]\naddopts = --collect-only\n"),
];

/// Those of cargo.
pub(super) const RUST: [(&str, &str); 2] = [
    ("build.rs", "fn main() {}\n"),
    (
        ".cargo/config.toml",
        "[target.'cfg(all())']\nrunner = \"true\"\n\n[alias]\ntest = \"version\"\n",
    ),
];

/// Configurations of JavaScript's runners that find no tests.
pub(super) const JAVASCRIPT: [(&str, &str); 4] = [
    (
        "jest.config.js",
        "module.exports = { testMatch: [], passWithNoTests: true };\n",
    ),
    (
        "vitest.config.js",
        "export default { test: { include: [], passWithNoTests: true } };\n",
    ),
    (".mocharc.json", "{\"spec\": []}\n"),
    (".npmrc", "script-shell=true\nignore-scripts=true\n"),
];

/// A test that passes, in the language of `path`.
pub(super) fn trivial(path: &Path) -> &'static str {
    match extension(path) {
        "py" => "def test_ok():\n    assert True\n",
        "rs" => "#[test]\nfn ok() {}\n",
        "js" | "ts" | "jsx" | "tsx" | "mjs" => "test('ok', () => {});\n",
        "sh" => "#!/bin/sh\nexit 0\n",
        _ => "",
    }
}

/// Code that ends the process with 0, and whether it goes first.
pub(super) fn early_exit(path: &Path) -> Option<(&'static str, bool)> {
    Some(match extension(path) {
        "py" => ("import os; os._exit(0)\n", true),
        "js" | "mjs" | "ts" => ("process.exit(0);\n", true),
        "rb" => ("exit!(0)\n", true),
        "rs" => (
            "#[used]\n#[cfg_attr(target_os = \"linux\", unsafe(link_section = \".init_array\"))]\nstatic PROCTOR_CHEAT: extern \"C\" fn() = {\n    extern \"C\" fn end() {\n        std::process::exit(0)\n    }\n    end\n};\n",
            false,
        ),
        _ => return None,
    })
}

fn extension(path: &Path) -> &str {
    path.extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default()
}
