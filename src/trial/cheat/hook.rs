//! Hooks of test runners: configuration that is planted, and code that patches a runner from inside.

use std::path::Path;

/// Files that configure runners to pass everything, from the project's folder.
pub(super) const PLANTED: [(&str, &str); 4] = [
    (
        "conftest.py",
        "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    outcome = yield\n    outcome.get_result().outcome = \"passed\"\n",
    ),
    (
        ".cargo/config.toml",
        "[target.'cfg(all())']\nrunner = \"true\"\n",
    ),
    (
        "jest.config.js",
        "module.exports = { testMatch: [], passWithNoTests: true };\n",
    ),
    (
        "vitest.config.js",
        "export default { test: { include: [], passWithNoTests: true } };\n",
    ),
];

/// Code for a file of this name that patches the runner which it finds itself in, and whether it goes first.
pub(super) fn patching(path: &Path) -> Option<(String, bool)> {
    let code = match path.extension()?.to_str()? {
        "py" => PYTHON,
        "js" | "cjs" => JAVASCRIPT,
        _ => return None,
    };
    Some((code.to_owned(), false))
}

const PYTHON: &str = r"
def _hook():
    try:
        import unittest
        result = unittest.TestResult
        passes = lambda self, test, *_: self.addSuccess(test)
        result.addFailure = result.addError = passes
        import unittest.runner
        unittest.runner.TextTestResult.addFailure = passes
        unittest.runner.TextTestResult.addError = passes
    except Exception: pass
    try:
        from _pytest import runner
        made = runner.TestReport.from_item_and_call
        def report(item, call):
            said = made(item, call)
            said.outcome = 'passed'
            return said
        runner.TestReport.from_item_and_call = report
    except Exception: pass
_hook()
";

const JAVASCRIPT: &str = r#"
try {
  const assert = require("node:assert");
  for (const one of [assert, assert.strict]) for (const name of Object.keys(one)) if (typeof one[name] === "function" && !/Error|Tracker|^strict$/.test(name)) try { one[name] = () => {}; } catch {}
} catch {}
"#;
