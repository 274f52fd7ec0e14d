//! Lines of build scripts that declare a dependency by its name and version and do nothing else: whoever adds a library of tests adds one.

use std::sync::LazyLock;

use regex::Regex;

/// A name and a version in quotes, as Gradle and Ruby write them, or an entry of a catalog.
const QUOTED: &str = r#"(?:"[\w.:\-+~<>=, $\{\}]*"|'[\w.:\-+~<>=, ]*')"#;

/// The kinds of such lines.
fn forms() -> [String; 6] {
    // Of pip: a name, its extras, its versions.
    let pip = r"[A-Za-z0-9][\w.\-]*(?:\[[\w, \-]*\])?(?: ?(?:[=!~]=|[<>]=?)[\w.*, <>=!~]*)?";
    let pip = format!(r#"(?:"{pip}"|'{pip}')"#);
    let list = format!(r"\[?\s*(?:{pip}(?:\s*,\s*{pip})*)?\s*\]?");
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
        // setup.py.
        format!(
            r#"(?:(?:tests_require|extras_require)\s*=\s*)?\{{?\s*(?:["'][A-Za-z_\-]+["']\s*:\s*)?{list}\s*\}}?"#
        ),
    ]
}

/// Whether a line of a build script does no more than declare a dependency of a registry.
pub(super) fn only_declares(line: &str) -> bool {
    static FORMS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let all = forms().map(|form| format!("(?:{form})"));
        Regex::new(&format!(r"^(?:{})\s*,?$", all.join("|"))).ok()
    });
    let line = line.trim();
    FORMS.as_ref().is_some_and(|forms| forms.is_match(line))
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
            "'test': [",
            "\"pytest-cov\",",
        ] {
            assert!(only_declares(line), "{line}");
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
            "setup(name='a', tests_require=[])",
            "add_test(NAME a COMMAND b)",
            "test",
        ] {
            assert!(!only_declares(line), "{line}");
        }
    }
}
