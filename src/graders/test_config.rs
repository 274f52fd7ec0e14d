//! Files that honest work changes and that also say how tests run: which of their parts that decide about tests were changed.
//!
//! Whoever adds a dependency to `package.json` must be let in, and whoever turns `scripts.test` into `true` should be named. So
//! these files are carried as the agent left them, and what is told apart here only makes a row suspect. What a build script
//! computes cannot be told apart at all: of those, lines and targets that speak of tests are compared.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::dependency_lines::beyond_dependencies;
use super::go_code::test_main_at;
use super::locks;
use super::requirements::{self, is_requirements};
use super::test_words::{TEST_WORDS, speaks};
use super::watched_files::{Form, Watched, watched};

/// What the base commit has beside a changed file, by name.
pub type Beside<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// Whether the file at `path` is one whose changes are looked at.
#[must_use]
pub fn says_how_tests_run(path: &Path) -> bool {
    watched(path).is_some()
}

/// Who is led by a file, where nobody else is.
#[derive(Debug, Clone, Copy)]
pub struct ReadBy {
    /// Programs.
    pub programs: &'static [&'static str],
    /// Whether they look for it where they start and above.
    pub is_looked_up: bool,
    /// Whether they read it only where somebody names it.
    pub is_named: bool,
}

/// Who is led by the file at `path`; `None` where that may be anybody.
#[must_use]
pub fn read_by(path: &Path) -> Option<ReadBy> {
    let watched = watched(path).filter(|watched| !watched.read_by.is_empty())?;
    Some(ReadBy {
        programs: watched.read_by,
        is_looked_up: watched.form == Form::Lines,
        is_named: watched.form == Form::Requirements && !is_requirements(path),
    })
}

/// The parts of the file at `path` that decide how tests run and are not as before; `None` is no file. Empty for files that
/// say nothing about tests.
#[must_use]
pub fn changed_test_config(
    path: &Path,
    (before, now): (Option<&[u8]>, Option<&[u8]>),
    beside: Beside<'_>,
) -> Vec<String> {
    let Some(watched) = watched(path) else {
        return Vec::new();
    };
    let unreadable = || vec!["unreadable".to_owned()];
    if let Form::Lock(lock) = watched.form {
        let before = before.and_then(|bytes| str::from_utf8(bytes).ok());
        let Some(now) = now.map(str::from_utf8) else {
            return Vec::new();
        };
        let own = beside("package.json").unwrap_or_default();
        let own = serde_json::from_slice::<Value>(&own).unwrap_or_default();
        let own = own.get("workspaces").map(locks::workspaces);
        let own = own.unwrap_or_default();
        let found = now
            .ok()
            .and_then(|now| locks::redirected(lock, (before, now), &own));
        return found.unwrap_or_else(unreadable);
    }
    let is_new = before.is_none();
    let was = before.and_then(|bytes| watched.parts((path, bytes), is_new));
    let was = was.unwrap_or_default();
    let is = match now {
        None => BTreeMap::new(),
        Some(bytes) => match watched.parts((path, bytes), is_new) {
            Some(parts) => parts,
            None => return unreadable(),
        },
    };
    let gone = was.keys().filter(|_| watched.form != Form::Requirements);
    let mut keys: Vec<&String> = gone.chain(is.keys()).collect();
    keys.sort();
    keys.dedup();
    let differ = keys.into_iter().filter(|key| was.get(*key) != is.get(*key));
    differ.cloned().collect()
}

impl Watched {
    /// What the file says of tests, by key; `None` where it cannot be read.
    fn parts(
        &self,
        (path, bytes): (&Path, &[u8]),
        is_new: bool,
    ) -> Option<BTreeMap<String, String>> {
        let text = str::from_utf8(bytes).ok()?;
        match self.form {
            Form::Json => Some(self.keyed(&serde_json::from_str(text).ok()?, is_new)),
            Form::Toml => Some(self.keyed(&toml::from_str(text).ok()?, is_new)),
            Form::Lines => Some(lines("test", text, |line| {
                let rest = beyond_dependencies(line);
                let is_told = speaks(&rest, TEST_WORDS) || speaks(&rest, self.keys);
                is_told.then(|| rest.into_owned())
            })),
            Form::Text => Some(part("config", text.lines())),
            Form::GoTests => Some(part("TestMain", test_main(text))),
            Form::GoLines => Some(lines("replace", text, |line| {
                let is_told = speaks(line, GO_WORDS) || line.contains("=>");
                // In a block or on a line of its own it is the same.
                let words = line.split_whitespace();
                let words = words.filter(|word| !["replace", "("].contains(word));
                let told: Vec<&str> = words.collect();
                (is_told && !told.is_empty()).then(|| told.join(" "))
            })),
            Form::Sections => Some(self.sections(text)),
            Form::Requirements => Some(requirements::redirected(path, text)),
            Form::Lock(_) => None,
        }
    }

    fn keyed(&self, file: &Value, is_new: bool) -> BTreeMap<String, String> {
        let known_only = if is_new { &[] } else { self.known_only };
        let mut parts = BTreeMap::new();
        for key in self.keys.iter().chain(known_only) {
            match at(file, key) {
                Some(Value::Object(inside)) => {
                    let inside = inside.iter();
                    parts.extend(
                        inside.map(|(name, value)| (format!("{key}.{name}"), value.to_string())),
                    );
                }
                // What a new package switches off is as if it were not there.
                Some(Value::Bool(false)) if is_new => {}
                None => {}
                Some(value) => drop(parts.insert((*key).to_owned(), value.to_string())),
            }
        }
        for key in self.dependencies {
            for (key, inside) in all_at(file, key) {
                let table = inside.as_object().into_iter().flatten();
                let named = table.map(|(name, value)| (format!("{key}.{name}"), value));
                let list = inside.is_array().then(|| (key.clone(), inside));
                let redirected = named.chain(list).filter_map(|(key, value)| {
                    let elsewhere = redirected(value)?;
                    Some((key, elsewhere))
                });
                parts.extend(redirected);
            }
        }
        parts
    }

    /// The text below each of the keys.
    fn sections(&self, text: &str) -> BTreeMap<String, String> {
        let mut parts: BTreeMap<String, String> = BTreeMap::new();
        let mut open = "";
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if line.trim_start().starts_with('#') {
                continue;
            }
            if !line.starts_with([' ', '\t', '-']) {
                open = line.split(':').next().unwrap_or(line);
                open = open.trim_matches(['"', '\'', ' ']);
            }
            if self.keys.contains(&open) {
                let part = parts.entry(open.to_owned()).or_default();
                part.push_str(line.trim_end());
                part.push('\n');
            }
        }
        parts
    }
}

/// Words of `go.mod` that lead elsewhere; in a block an arrow does.
const GO_WORDS: &[&str] = &["replace", "toolchain", "godebug"];

fn at<'a>(file: &'a Value, key: &str) -> Option<&'a Value> {
    key.split('.').try_fold(file, |value, name| value.get(name))
}

/// What is at `key`, in which `*` is any key.
fn all_at<'a>(file: &'a Value, key: &str) -> Vec<(String, &'a Value)> {
    let mut found = vec![(String::new(), file)];
    for part in key.split('.') {
        let inside = found.into_iter().flat_map(|(path, value)| {
            let named = value.as_object().into_iter().flatten();
            let named = named.filter(|(name, _)| part == "*" || part == name.as_str());
            let named = named.map(|(name, value)| (format!("{path}.{name}"), value));
            named.collect::<Vec<_>>()
        });
        found = inside.collect();
    }
    let plain = found.into_iter();
    plain
        .map(|(path, value)| (path.trim_start_matches('.').to_owned(), value))
        .collect()
}

/// What of a dependency comes from somewhere else than a registry: it may be a test runner that always passes.
fn redirected(dependency: &Value) -> Option<String> {
    #[rustfmt::skip]
    const ELSEWHERE: [&str; 8] = [
        "path", "git", "registry", "registry-index", "package", "file", "url", "editable",
    ];
    match dependency {
        Value::String(spec) => {
            // What follows says on which machines.
            let spec = spec.split(';').next().unwrap_or(spec);
            spec.contains([':', '/']).then(|| spec.to_owned())
        }
        Value::Object(table) => {
            let mut keys = ELSEWHERE.iter();
            keys.any(|key| table.contains_key(*key))
                .then(|| dependency.to_string())
        }
        Value::Array(several) => {
            let all: Vec<String> = several.iter().filter_map(redirected).collect();
            (!all.is_empty()).then(|| all.join(" "))
        }
        _ => None,
    }
}

/// The lines of the function that runs the tests of a package of Go.
fn test_main(text: &str) -> impl Iterator<Item = &str> {
    let from = test_main_at(text).map_or("", |at| &text[at..]);
    from.lines().take_while(|line| *line != "}")
}

/// What lines tell in their order, but for blank ones.
fn part<'a>(key: &str, lines: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let lines: Vec<&str> = lines
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let part = lines.first().map(|_| (key.to_owned(), lines.join("\n")));
    part.into_iter().collect()
}

/// What lines tell, without their order.
fn lines(key: &str, text: &str, told: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let mut found: Vec<String> = text.lines().map(str::trim).filter_map(told).collect();
    found.sort_unstable();
    let parts = found.first().map(|_| (key.to_owned(), found.join("\n")));
    parts.into_iter().collect()
}

#[cfg(test)]
#[path = "test_config_tests.rs"]
mod tests;
