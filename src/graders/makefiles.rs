//! What makefiles say: their targets, what these are made from, what they include, and who runs them.

use std::collections::{BTreeMap, BTreeSet};

use crate::graders::make_lines::{PHONY, joined, rule};
use crate::graders::make_words::UNKNOWN;
use crate::graders::test_words::{TEST_WORDS, speaks};

/// Whether a name is one that makefiles have, those that are included among them.
#[must_use]
pub fn is_makefile(name: &str) -> bool {
    let (_, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let own = ["Makefile", "makefile", "GNUmakefile"];
    let after = own.iter().find_map(|own| name.strip_prefix(own));
    after.is_some_and(|after| after.is_empty() || after.starts_with(['.', '_', '-']))
        || ["mk", "mak", "make"].contains(&ending)
        || is_justfile(name)
}

/// The same of those that just reads.
pub(super) fn is_justfile(name: &str) -> bool {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    ["justfile", "Justfile", ".justfile"].contains(&name)
        || ending == "just"
        || (stem == "justfile" && !ending.is_empty())
}

/// All plain targets, each with what it is made from; what comes after `|` decides nothing.
#[must_use]
pub fn make_rules(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    rules(text, &|name| {
        !name.contains(['%', '$', '(', '"', '\'']) && !name.starts_with('.') || is_hidden_file(name)
    })
}

/// The same of patterns.
#[must_use]
pub fn pattern_rules(text: &str) -> BTreeMap<String, BTreeSet<String>> {
    rules(text, &|name| name.contains('%'))
}

/// Whether a name with a dot before it is a file's: those that make knows are in capitals, or endings.
fn is_hidden_file(name: &str) -> bool {
    let plain = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "-_./".contains(it);
    name.strip_prefix('.')
        .is_some_and(|rest| rest.len() > 3 && rest.chars().all(plain))
}

fn rules(text: &str, which: &dyn Fn(&str) -> bool) -> BTreeMap<String, BTreeSet<String>> {
    let mut rules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (head, rest) in heads(text) {
        let from = rest.split([';', '|', '#']).next().unwrap_or_default();
        let from = from.rsplit_once(':').map_or(from, |(_, from)| from);
        for target in head.split_ascii_whitespace().filter(|name| which(name)) {
            let rule = rules.entry(target.to_owned()).or_default();
            rule.extend(from.split_ascii_whitespace().map(str::to_owned));
        }
    }
    rules
}

/// The targets that make runs whatever files there are.
#[must_use]
pub fn phony_targets(text: &str) -> BTreeSet<String> {
    let phony = heads(text).into_iter().filter(|(head, _)| head == PHONY);
    let names = phony.flat_map(|(_, names)| {
        let names = names.split_ascii_whitespace();
        names.map(str::to_owned).collect::<Vec<_>>()
    });
    names.collect()
}

/// What stands before and after the colon of each rule.
fn heads(text: &str) -> Vec<(String, String)> {
    let lines = joined(text);
    let lines = lines.iter().filter(|line| !line.starts_with(['\t', '#']));
    let heads = lines.filter_map(|line| rule(line.trim()));
    heads
        .map(|(head, rest)| (head.to_owned(), rest.to_owned()))
        .collect()
}

/// The files that a makefile includes, as it names them.
#[must_use]
pub fn included_makefiles(text: &str) -> Vec<String> {
    let words = ["include", "-include", "sinclude", "import", "import?"];
    let mut found = Vec::new();
    for line in joined(text) {
        let line = line.trim();
        let parts = line.split_once([' ', '\t']);
        match parts.filter(|(word, _)| words.contains(word)) {
            Some((_, names)) => {
                let names = names.split(" #").next().unwrap_or(names);
                found.push(names.trim_matches(['"', '\'', ' ', '\t']).to_owned());
            }
            None if line.contains("include ") && line.contains("$(") && !line.starts_with('#') => {
                found.push(UNKNOWN.to_owned());
            }
            None => {}
        }
    }
    found
}

/// Whether a name speaks of tests.
#[must_use]
pub fn speaks_of_tests(name: &str) -> bool {
    speaks(name, TEST_WORDS)
}

/// Whether a command, or a line of a script or a recipe, has make run whatever target comes first.
#[must_use]
pub fn runs_first_target(line: &str) -> bool {
    let line = line.replace("$(MAKE)", "make").replace("${MAKE}", "make");
    let mut words = line
        .split([' ', '\t', '\'', '"', '(', ')'])
        .filter(|word| !word.is_empty());
    while let Some(word) = words.next() {
        let name = word
            .rsplit('/')
            .next()
            .unwrap_or(word)
            .trim_start_matches(['@', '-', '+']);
        if !["make", "gmake", "just"].contains(&name.trim_end_matches(';')) {
            continue;
        }
        let mut goal = word.ends_with(';').then_some("");
        while goal.is_none() {
            match words.next() {
                None => return true,
                Some(word) if ["&&", "||", "|", ";", "\\"].contains(&word) => return true,
                Some("-C" | "-f" | "-I" | "-o" | "-W") => drop(words.next()),
                Some(word) if word.starts_with('-') || word.contains('=') => {}
                Some(word) if word.chars().all(|it| it.is_ascii_digit()) => {}
                Some(word) => goal = Some(word),
            }
        }
        if goal == Some("") {
            return true;
        }
    }
    false
}

/// The makefiles that a command, or a line of a script or a recipe, has make read by their names.
#[must_use]
pub fn read_by_name(line: &str) -> Vec<String> {
    if !line.to_ascii_lowercase().contains("make") {
        return Vec::new();
    }
    let mut words = line
        .split([' ', '\t', '\'', '"'])
        .filter(|word| !word.is_empty());
    let mut found = Vec::new();
    let mut folder = String::new();
    while let Some(word) = words.next() {
        let named = ["--file=", "--makefile=", "-f"]
            .iter()
            .find_map(|begin| word.strip_prefix(begin));
        match (word, named) {
            ("-C", _) => {
                let name = words.next().map(|name| format!("{name}/"));
                folder = name.unwrap_or_default();
            }
            (_, Some("")) => found.extend(words.next().map(str::to_owned)),
            (_, Some(name)) => found.push(name.to_owned()),
            _ => {}
        }
    }
    let with_folder = found.iter().map(|name| format!("{folder}{name}"));
    with_folder.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_what_they_are_made_from_and_what_is_included_are_found() {
        let rules = make_rules(
            "a b: c \\\n d | e\n%.o: %.c\nX := y\n$(Z): a\n.PHONY: a\n.c.o:\n.done: a\nx y: %: %.c\n",
        );
        let told: Vec<String> = rules
            .iter()
            .map(|(target, from)| format!("{target}:{}", from.len()))
            .collect();
        assert_eq!(told, [".done:1", "a:2", "b:2", "x:1", "y:1"]);
        assert_eq!(
            included_makefiles(
                "include a.mk b.mk\n-include c # d\n\tinclude d\n$(eval include e)\n"
            ),
            ["a.mk b.mk", "c", "d", UNKNOWN]
        );
        let patterns = pattern_rules("%.o: %.c\ntest-%:\n");
        assert_eq!(patterns.keys().collect::<Vec<_>>(), ["%.o", "test-%"]);
    }

    #[test]
    fn a_makefile_that_a_command_names_is_known() {
        for (line, named) in [
            ("make -f build/rules test", "build/rules"),
            ("sh -c 'make -C sub -frules'", "sub/rules"),
            ("\t$(MAKE) --file=a.x -f b", "a.x b"),
            ("grep -f words", ""),
        ] {
            assert_eq!(read_by_name(line).join(" "), named, "{line}");
        }
    }

    #[test]
    fn a_command_that_names_no_target_runs_the_first_one() {
        for (line, first) in [
            ("make test", false),
            ("make", true),
            ("sh -c 'make -C a -j 4 && ./a'", true),
            ("sh -c 'make -C a X=1 test && ./a'", false),
            ("\t@$(MAKE) -C sub", true),
            ("\t$(MAKE) -C sub all", false),
            ("make; ./run", true),
            ("cmake .", false),
        ] {
            assert_eq!(runs_first_target(line), first, "{line}");
        }
    }
}
