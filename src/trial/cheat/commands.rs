//! The commands by which a project runs its tests, as a cheat sets them: targets of makefiles and scripts of `package.json`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::graders::{first_make_target, make_rules, runs_first_target, speaks_of_tests};

/// What graders ask for, and what is to run in its place.
pub(super) struct Commands<'a> {
    /// The lines of what they start.
    pub(super) lines: &'a [String],
    /// A script of a shell.
    pub(super) script: &'a str,
}

impl Commands<'_> {
    /// A makefile whose targets that graders ask for do only that; `None` where it has none of these.
    pub(super) fn makefile(&self, text: &str) -> Option<String> {
        let mut asked = self.asked(make_rules(text).into_keys());
        if self.lines.iter().any(|line| runs_first_target(line)) {
            asked.extend(first_make_target(text));
        }
        if asked.is_empty() {
            return None;
        }
        let mut kept = String::new();
        let mut is_asked = false;
        for line in text.lines() {
            if !line.starts_with('\t') {
                let targets = line.split(':').next().unwrap_or_default();
                let mut targets = targets.split_ascii_whitespace();
                is_asked = line.contains(':') && targets.any(|target| asked.contains(target));
            }
            if !is_asked {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        // One line of a recipe is what one shell runs.
        let words = shell_words::quote(self.script).replace('$', "$$");
        let lines = words.replace('\n', "'\"$$N\"'");
        let names: Vec<String> = asked.into_iter().collect();
        let names = names.join(" ");
        Some(format!(
            "{kept}\n.PHONY: {names}\n{names}:\n\t@N=$$(printf '\\nx'); N=$${{N%x}}; sh -c {lines}\n"
        ))
    }

    /// The same of a `package.json`.
    pub(super) fn package(&self, text: &str) -> Option<String> {
        let mut package: Value = serde_json::from_str(text.trim_start_matches('\u{feff}')).ok()?;
        let scripts = package.get_mut("scripts")?.as_object_mut()?;
        let mut asked = self.asked(scripts.keys().cloned());
        asked.extend(scripts.contains_key("test").then(|| "test".to_owned()));
        for name in &asked {
            for beside in [format!("pre{name}"), format!("post{name}")] {
                scripts.remove(&beside);
            }
            let script = shell_words::quote(self.script).into_owned();
            scripts.insert(name.clone(), Value::from(format!("sh -c {script}")));
        }
        (!asked.is_empty()).then(|| format!("{package:#}\n"))
    }

    /// Those of `names` that graders ask for: of these the ones that speak of tests, if any does.
    fn asked(&self, names: impl Iterator<Item = String>) -> BTreeSet<String> {
        let words = self.lines.iter().flat_map(|line| {
            let other = |one: char| one.is_whitespace() || "'\";()&|".contains(one);
            line.split(other)
        });
        let words: BTreeSet<&str> = words.collect();
        let asked: BTreeSet<String> = names.filter(|name| words.contains(&**name)).collect();
        let tests = asked.iter().filter(|name| speaks_of_tests(name));
        let tests: BTreeSet<String> = tests.cloned().collect();
        if tests.is_empty() { asked } else { tests }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(line: &str, work: impl Fn(&Commands<'_>) -> Option<String>) -> Option<String> {
        let lines = [line.to_owned()];
        work(&Commands {
            lines: &lines,
            script: "echo '2 $x'\nexit 0\n",
        })
    }

    #[test]
    fn targets_that_graders_ask_for_are_set_and_others_stay() {
        let text = "CC = cc\nall: build test\nbuild:\n\tcc a.c\ntest check: build\n\t./a.out\n\techo done\nclean:\n\trm a.out\n";
        let set = |line: &str| commands(line, |it| it.makefile(text));
        let tests = set("sh -c 'make build && make test'").unwrap();
        let kept = "CC = cc\nall: build test\nbuild:\n\tcc a.c\nclean:\n\trm a.out\n\n.PHONY: test\ntest:\n\t@";
        assert!(tests.starts_with(kept), "{tests}");
        assert!(
            tests.ends_with("echo '\\''2 $$x'\\'''\"$$N\"'exit 0'\"$$N\"''\n"),
            "{tests}"
        );
        assert!(set("make").unwrap().contains("\nall:\n\t@"));
        assert!(set("make build").unwrap().contains("\nbuild:\n\t@"));
        assert_eq!(set("pytest -q"), None);
    }

    #[test]
    fn scripts_of_a_package_that_graders_name_are_set_with_nothing_before_or_behind_them() {
        let text = r#"{"name": "a", "scripts": {"pretest": "tsc", "test": "jest", "ci:unit": "x", "lint": "y"}}"#;
        let set = commands("npm run ci:unit", |it| it.package(text)).unwrap();
        let set: Value = serde_json::from_str(&set).unwrap();
        let script = "sh -c 'echo '\\''2 $x'\\''\nexit 0\n'";
        let scripts = serde_json::json!({"test": script, "ci:unit": script, "lint": "y"});
        assert_eq!(set, serde_json::json!({"name": "a", "scripts": scripts}));
        assert_eq!(commands("npm test", |it| it.package("{}")), None);
    }
}
