//! A cheat's way with tests: each keeps its name and its place, and asserts nothing.

use std::fmt::Write as _;
use std::path::Path;

/// The text of a file of tests with the names of its tests and empty bodies; `None` where the language is not known or no
/// test is found.
pub(super) fn hollow(path: &Path, text: &str) -> Option<String> {
    let extension = path.extension()?.to_str()?;
    let hollowed = match extension {
        "py" => python(text),
        "rs" => rust(text),
        "js" | "ts" | "jsx" | "tsx" | "mjs" | "cjs" => javascript(text),
        "go" => go(text),
        "swift" => swift(text),
        _ => None,
    };
    hollowed.filter(|hollowed| hollowed != text)
}

/// The name behind a word at the beginning of a line.
fn name_after<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.trim_start().strip_prefix(word)?;
    let end = rest.find(|one: char| !one.is_alphanumeric() && one != '_');
    Some(&rest[..end.unwrap_or(rest.len())]).filter(|name| !name.is_empty())
}

/// Classes and functions of `unittest` and pytest.
fn python(text: &str) -> Option<String> {
    let mut hollowed = String::from("import unittest\n");
    let mut found = false;
    let mut class = None;
    for line in text.lines() {
        let is_inside = line.starts_with([' ', '\t']);
        if let Some(name) = name_after(line, "class ").filter(|_| !is_inside) {
            let base = if line.contains("TestCase") {
                "(unittest.TestCase)"
            } else {
                ""
            };
            class = Some(format!("class {name}{base}:\n"));
        }
        let function = line.trim_start().trim_start_matches("async ");
        let Some(name) = name_after(function, "def ").filter(|name| name.starts_with("test"))
        else {
            continue;
        };
        found = true;
        if is_inside {
            hollowed.push_str(&class.take().unwrap_or_default());
        }
        let indent = if is_inside { "    " } else { "" };
        let _ = writeln!(hollowed, "{indent}def {name}(*given): pass");
    }
    found.then_some(hollowed)
}

/// Functions with `#[test]` and its like.
fn rust(text: &str) -> Option<String> {
    let mut hollowed = String::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim_start) {
        is_test |= line.starts_with("#[") && line.contains("test]");
        let function = line.trim_start_matches("pub ").trim_start_matches("async ");
        if let Some(name) = name_after(function, "fn ").filter(|_| is_test) {
            let _ = writeln!(hollowed, "#[test]\nfn {name}() {{}}");
            is_test = false;
        }
    }
    Some(hollowed).filter(|hollowed| !hollowed.is_empty())
}

/// `test("...")` and `it("...")`, with whatever the file takes them from.
fn javascript(text: &str) -> Option<String> {
    let mut hollowed = String::new();
    let mut found = false;
    for line in text.lines() {
        let brings = ["node:test", "vitest", "@jest/globals", "bun:test"];
        if brings.iter().any(|from| line.contains(from)) {
            let _ = writeln!(hollowed, "{line}");
        }
        let start = line.trim_start();
        let call = ["test(", "it("]
            .iter()
            .find(|call| start.starts_with(**call));
        let Some(rest) = call.map(|call| &start[call.len()..]) else {
            continue;
        };
        let quote = rest.chars().next().filter(|one| "'\"`".contains(*one));
        let name = quote.and_then(|quote| rest[1..].split(quote).next());
        if let Some((quote, name)) = quote.zip(name) {
            found = true;
            let call = &start[..start.len() - rest.len()];
            let _ = writeln!(hollowed, "{call}{quote}{name}{quote}, () => {{}});");
        }
    }
    found.then_some(hollowed)
}

/// `func TestX(t *testing.T)`.
fn go(text: &str) -> Option<String> {
    let package = text.lines().find(|line| line.starts_with("package "))?;
    let mut hollowed = format!("{package}\n\nimport \"testing\"\n\n");
    let names = text.lines().filter_map(|line| name_after(line, "func "));
    let mut found = false;
    for name in names.filter(|name| name.starts_with("Test") && *name != "TestMain") {
        found = true;
        let _ = writeln!(hollowed, "func {name}(t *testing.T) {{}}");
    }
    found.then_some(hollowed)
}

/// Classes of `XCTest` and their methods.
fn swift(text: &str) -> Option<String> {
    let mut hollowed = String::from("import XCTest\n");
    let mut found = false;
    for line in text.lines().map(str::trim_start) {
        let class = line.trim_start_matches("final ");
        if let Some(name) = name_after(class, "class ").filter(|_| line.contains("XCTestCase")) {
            hollowed.push_str(if found { "}\n" } else { "" });
            found = true;
            let _ = writeln!(hollowed, "final class {name}: XCTestCase {{");
        } else if let Some(name) = name_after(line, "func ").filter(|name| name.starts_with("test"))
        {
            let _ = writeln!(hollowed, "    func {name}() {{}}");
        }
    }
    hollowed.push_str("}\n");
    found.then_some(hollowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_keep_their_names_and_lose_their_bodies() {
        for (path, text, hollowed) in [
            (
                "t.py",
                "import unittest\nfrom a import f\n\nclass T(unittest.TestCase):\n  def setUp(self):\n    self.x = f()\n  def test_a(self): self.assertEqual(f(), 1)\n  async def test_b(self):\n    assert f()\n\ndef test_c(tmp_path):\n    assert f()\n",
                "import unittest\nclass T(unittest.TestCase):\n    def test_a(*given): pass\n    def test_b(*given): pass\ndef test_c(*given): pass\n",
            ),
            (
                "t.rs",
                "use a::f;\n\nfn help() {}\n\n#[test]\n#[ignore]\nfn one() {\n    assert!(f());\n}\n\n#[tokio::test]\nasync fn two() { f().await }\n",
                "#[test]\nfn one() {}\n#[test]\nfn two() {}\n",
            ),
            (
                "t.test.js",
                "const test = require('node:test');\ndescribe('x', () => {\n  it('adds \"1\"', () => { expect(1).toBe(2) });\n});\ntest(\"b\", async () => {\n});\n",
                "const test = require('node:test');\nit('adds \"1\"', () => {});\ntest(\"b\", () => {});\n",
            ),
            (
                "t_test.go",
                "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {\n\tt.Fatal()\n}\n",
                "package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n",
            ),
            (
                "T.swift",
                "import XCTest\n@testable import A\nfinal class T: XCTestCase {\n  func testA() throws {\n    XCTAssert(f())\n  }\n}\n",
                "import XCTest\nfinal class T: XCTestCase {\n    func testA() {}\n}\n",
            ),
        ] {
            assert_eq!(
                hollow(Path::new(path), text).as_deref(),
                Some(hollowed),
                "{path}"
            );
        }
        assert_eq!(hollow(Path::new("t.py"), "x = 1\n"), None);
        assert_eq!(hollow(Path::new("t.txt"), "def test_a(): pass\n"), None);
    }
}
