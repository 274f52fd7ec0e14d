//! Lines of build scripts that declare a dependency by its name and version and do nothing else: whoever adds a library of tests adds one.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// A name and a version in quotes, as Gradle and Ruby write them, or an entry of a catalog.
const QUOTED: &str = r#"(?:"[\w.:\-+~<>=, $\{\}]*"|'[\w.:\-+~<>=, ]*')"#;

/// Of pip: a name, its extras, its versions, in quotes; and several.
fn of_pip() -> (String, String) {
    let pip = r"[A-Za-z0-9][\w.\-]*(?:\[[\w, \-]*\])?(?: ?(?:[=!~]=|[<>]=?)[\w.*, <>=!~]*)?";
    let pip = format!(r#"(?:"{pip}"|'{pip}')"#);
    let several = format!(r"(?:{pip}(?:\s*,\s*{pip})*)?\s*,?");
    (pip, several)
}

/// The kinds of such lines.
fn forms() -> [String; 6] {
    let (_, several) = of_pip();
    [
        // Gradle.
        format!(
            r"\w*(?:[iI]mplementation|[aA]pi|[oO]nly|[pP]rocessor|[cC]ompile|[rR]untime)\s*\(?\s*(?:{QUOTED}|libs(?:\.\w+)+|(?:platform|enforcedPlatform)\s*\(?\s*(?:{QUOTED}|libs(?:\.\w+)+)\s*\)?)\s*\)?"
        ),
        // Bundler.
        format!(
            r"gem\s*\(?\s*{QUOTED}(?:\s*,\s*{QUOTED})*(?:\s*,\s*groups?:\s*(?::\w+|\[[:\w, ]*\]))?(?:\s*,\s*require:\s*false)?\s*\)?"
        ),
        r"group\s*\(?\s*:\w+(?:\s*,\s*:\w+)*\s*\)?\s+do".to_owned(),
        // Maven.
        r"<(?:scope|artifactId|groupId|version|type)>[\w.${}\-]*</(?:scope|artifactId|groupId|version|type)>"
            .to_owned(),
        // Mix.
        r#"\{:\w+,\s*"[\w.~<>=! \-]*"(?:,\s*only:\s*(?::\w+|\[[:\w, ]*\]))?(?:,\s*runtime:\s*false)?\}"#
            .to_owned(),
        // An entry of a list of setup.py.
        format!(r#"(?:["'][A-Za-z_\-]+["']\s*:\s*)?\[?\s*{several}\s*\]?"#),
    ]
}

/// A list of dependencies of setup.py, or where one begins.
fn lists() -> String {
    let (pip, several) = of_pip();
    let list = format!(r"\[\s*{several}\s*\]");
    let entry = format!(r#"["'][A-Za-z_\-]+["']\s*:\s*{list}"#);
    let table = format!(r"\{{\s*(?:{entry}(?:\s*,\s*{entry})*)?\s*,?\s*\}}");
    format!(r"(?:tests_require|extras_require)\s*=\s*(?:{list}|{table}|{pip}|[\[\{{]\s*$)\s*,?")
}

/// A line of a build script less the dependencies of a registry that it declares.
pub(super) fn beyond_dependencies(line: &str) -> Cow<'_, str> {
    static FORMS: LazyLock<Option<[Regex; 2]>> = LazyLock::new(|| {
        let all = forms().map(|form| format!("(?:{form})"));
        let whole = Regex::new(&format!(r"^(?:{})\s*,?$", all.join("|"))).ok()?;
        Some([whole, Regex::new(&lists()).ok()?])
    });
    let line = line.trim();
    match &*FORMS {
        Some([whole, _]) if whole.is_match(line) => Cow::Borrowed(""),
        Some([_, lists]) => lists.replace_all(line, ""),
        None => Cow::Borrowed(line),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_declares_a_dependency_is_told_from_one_that_does_more() {
        for line in [
            "testImplementation \"org.junit:junit:4\"",
            "testImplementation(libs.junit.jupiter)",
            "testImplementation(platform(\"org.junit:junit-bom:5.10.0\"))",
            "androidTestImplementation 'androidx.test:runner:1.5'",
            "gem \"rspec\"",
            "gem 'rspec', '~> 3.0', group: :test, require: false",
            "group :development, :test do",
            "<scope>test</scope>",
            "<artifactId>spring-boot-starter-test</artifactId>",
            "{:ex_check, \"~> 0.14\", only: [:dev], runtime: false},",
            "tests_require=['x>=1', \"y[z]\"],",
            "extras_require={'test': ['pytest>=7,<9']},",
            "extras_require={",
            "'test': [",
            "\"pytest-cov\",",
        ] {
            assert_eq!(beyond_dependencies(line), "", "{line}");
        }
        for line in [
            "testImplementation files('fake.jar')",
            "testImplementation project(':fake')",
            "test { enabled = false }",
            "gem 'rspec', path: 'fake'",
            "gem 'rspec', require: 'fake'",
            "gem 'rspec', git: 'x'",
            "<skipTests>true</skipTests>",
            "<testSourceDirectory>x</testSourceDirectory>",
            "{:ex_check, path: \"fake\"}",
            "tests_require=['pytest @ file:///x']",
            "\"pytest11\": [",
            "'test': PyTest,",
            "\"test = evil:run\",",
            "test_suite='evil',",
            "setup(name='a', tests_require=['pytest @ file:///x'])",
            "add_test(NAME a COMMAND b)",
            "test",
        ] {
            assert_eq!(beyond_dependencies(line), line, "{line}");
        }
        let line = "setup(name='a', extras_require={'test': ['b'], 'doc': []}, test_suite='c')";
        assert_eq!(
            beyond_dependencies(line),
            "setup(name='a',  test_suite='c')"
        );
    }
}
