//! What makefiles say of tests: their targets, what these run, and what make believes to be done when a file is there.

use std::collections::{BTreeMap, BTreeSet};

use crate::graders::test_config::{TEST_WORDS, speaks};

/// Lines that begin so change how all recipes run.
const GENERAL: [&str; 9] = [
    "SHELL",
    ".SHELLFLAGS",
    "MAKEFLAGS",
    "PATH",
    "include",
    "-include",
    "override",
    "export",
    "set ",
];

/// Before the name of each phony target, among the parts.
const PHONY: &str = ".PHONY";

/// Whether a name is one that makefiles have, those that are included among them.
pub(super) fn is_makefile(name: &str) -> bool {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let own = ["Makefile", "makefile", "GNUmakefile"];
    let after = own.iter().find_map(|own| name.strip_prefix(own));
    after.is_some_and(|after| after.is_empty() || after.starts_with(['.', '_', '-']))
        || ["mk", "mak", "make", "just"].contains(&ending)
        || ["justfile", "Justfile", ".justfile"].contains(&name)
        || (stem == "justfile" && !ending.is_empty())
}

/// All plain targets, each with what it is made from; what comes after `|` decides nothing.
#[must_use]
pub fn make_rules(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    let text = text.replace("\\\n", " ");
    let mut rules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (head, rest) in heads(&text).filter(|(head, _)| !head.starts_with('.')) {
        let from = rest.split([';', '|', '#']).next().unwrap_or(rest);
        let is_plain = |name: &&str| !name.contains(['%', '$', '(', '"', '\'']);
        for target in head.split_ascii_whitespace().filter(is_plain) {
            let rule = rules.entry(target.to_owned()).or_default();
            rule.extend(from.split_ascii_whitespace().map(str::to_owned));
        }
    }
    rules
}

/// The targets that make runs whatever files there are.
#[must_use]
pub fn phony_targets(text: &str) -> BTreeSet<String> {
    let text = text.replace("\\\n", " ");
    let phony = heads(&text).filter(|(head, _)| *head == PHONY);
    let names = phony.flat_map(|(_, names)| names.split_ascii_whitespace());
    names.map(str::to_owned).collect()
}

/// The files that a makefile includes, as it names them.
#[must_use]
pub fn included_makefiles(text: &str) -> Vec<String> {
    let words = ["include", "-include", "sinclude", "import", "import?"];
    let lines = text.lines().map(str::trim);
    let named = lines.filter_map(|line| line.split_once([' ', '\t']));
    let named = named.filter(|(word, _)| words.contains(word));
    let named = named.flat_map(|(_, names)| names.split_ascii_whitespace());
    named
        .map(|name| name.trim_matches(['"', '\'']).to_owned())
        .collect()
}

/// Whether a name speaks of tests.
#[must_use]
pub fn speaks_of_tests(name: &str) -> bool {
    speaks(name, TEST_WORDS)
}

/// The parts that decide how tests run and are not as before, of a makefile or of several, one after the other.
#[must_use]
pub fn changed_make(before: &str, now: &str) -> Vec<String> {
    let (was, is) = (parts(before), parts(now));
    let mut keys: Vec<&String> = was.keys().chain(is.keys()).collect();
    keys.sort();
    keys.dedup();
    let targets = make_rules(now);
    // A further phony target is honest work; one that is so no more and still a target is not.
    let is_told = |key: &str| match key.strip_prefix(PHONY) {
        Some(name) => !is.contains_key(key) && targets.contains_key(name.trim()),
        None => was.get(key) != is.get(key),
    };
    let told = keys.into_iter().filter(|key| is_told(key));
    told.cloned().collect()
}

/// Recipes of targets that speak of tests with the variables in them, settings that change how all recipes run, and each
/// phony target.
fn parts(text: &str) -> BTreeMap<String, String> {
    let mut parts: BTreeMap<String, String> = BTreeMap::new();
    let mut variables: BTreeMap<String, String> = BTreeMap::new();
    let mut target: Option<String> = None;
    let mut recipes = String::new();
    for line in text.lines() {
        let indented = line.starts_with([' ', '\t']);
        if !indented && !line.trim().is_empty() {
            if let Some((name, value)) = variable(line) {
                let known = variables.entry(name.to_owned()).or_default();
                known.push_str(value);
                known.push('\n');
            }
            target = telling_head(line);
        }
        if let Some(target) = &target {
            let part = parts.entry(target.clone()).or_default();
            part.push_str(line.trim());
            part.push('\n');
            if indented {
                recipes.push_str(line);
                recipes.push('\n');
            }
        }
    }
    let phony = phony_targets(text).into_iter();
    parts.extend(phony.map(|name| (format!("{PHONY} {name}"), String::new())));
    used(&recipes, &variables, &mut parts);
    parts
}

/// The name of the part that a line begins, if it is one that tells.
fn telling_head(line: &str) -> Option<String> {
    let (head, _) = line.split_once(':').unwrap_or((line, ""));
    let set = head.contains('=') || line.contains(":=");
    if !set && speaks(head, TEST_WORDS) {
        return Some(head.trim().to_owned());
    }
    let is_general = GENERAL.iter().any(|word| line.starts_with(word));
    (is_general || (set && speaks(line, TEST_WORDS)))
        .then(|| head.split(['=', ' ']).next().unwrap_or(head).to_owned())
}

/// Adds the variables that `text` uses, and those that these use.
fn used(text: &str, variables: &BTreeMap<String, String>, parts: &mut BTreeMap<String, String>) {
    let mut waiting = vec![text];
    while let Some(text) = waiting.pop() {
        for name in references(text) {
            if let Some(value) = variables.get(name)
                && parts.insert(format!("${name}"), value.clone()).is_none()
            {
                waiting.push(value);
            }
        }
    }
}

/// What stands in `$(..)`, `${..}` and `{{..}}`.
fn references(text: &str) -> impl Iterator<Item = &str> {
    let openings = ["$(", "${", "{{"];
    let found = openings.into_iter().flat_map(move |opening| {
        let rests = text.split(opening).skip(1);
        rests.filter_map(|rest| rest.split([')', '}', ':', ' ']).find(|it| !it.is_empty()))
    });
    found.map(str::trim)
}

/// The name and the value of the variable that a line sets.
fn variable(line: &str) -> Option<(&str, &str)> {
    let words = ["export ", "override ", "define "];
    let line = words.iter().fold(line, |line, word| {
        line.strip_prefix(word).unwrap_or(line).trim_start()
    });
    let (name, value) = line.split_once('=').unwrap_or((line, ""));
    let name = name.trim_end_matches([':', '?', '+', '!', ' ', '\t']);
    let is_name = !name.is_empty() && !name.contains([' ', '\t', ':', '$', '%']);
    is_name.then_some((name, value.trim()))
}

/// What stands before and after the colon of each rule.
fn heads(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with([' ', '\t', '#']));
    let rules = lines.filter_map(|line| line.split_once(':'));
    let rules = rules.filter(|(head, rest)| !head.contains('=') && !rest.starts_with('='));
    rules.map(|(head, rest)| (head.trim(), rest.trim_start_matches(':')))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A makefile, what in it becomes what, and what is told.
    #[test]
    fn what_decides_about_tests_in_a_makefile_is_told_and_the_rest_is_not() {
        let make = ".PHONY: all test\nCC = cc\nRUN = $(PY) -m\nPY=python3\nall:\n\t$(CC) a.c\ntest: all\n\t$(RUN) pytest\n";
        for (from, to, told) in [
            ("$(CC) a.c", "$(CC) a.c b.c", ""),
            ("CC = cc", "CC = gcc", ""),
            (".PHONY: all test", ".PHONY: all test more", ""),
            (".PHONY: all test\n", "", ".PHONY all .PHONY test"),
            (".PHONY: all test", ".PHONY: all \\\n  test", ""),
            ("pytest", "pytest || true", "test"),
            ("PY=python3", "PY=true", "$PY"),
            ("RUN = $(PY) -m", "RUN = true", "$PY $RUN"),
            ("CC = cc", "CC = cc\nPY := true", "$PY"),
        ] {
            let now = make.replacen(from, to, 1);
            assert_ne!(now, make, "{from}");
            assert_eq!(changed_make(make, &now).join(" "), told, "{from} -> {to}");
        }
        let rules = make_rules("a b: c \\\n d | e\n%.o: %.c\nX := y\n$(Z): a\n.PHONY: a\n");
        let told: Vec<String> = rules
            .iter()
            .map(|(target, from)| format!("{target}:{}", from.len()))
            .collect();
        assert_eq!(told, ["a:2", "b:2"]);
        assert_eq!(
            included_makefiles("include a.mk b.mk\n-include c\n\tinclude d\n"),
            ["a.mk", "b.mk", "c", "d"]
        );
    }
}
