//! Files that honest work changes and that also say how tests run: which of their parts that decide about tests were changed.
//!
//! Whoever adds a dependency to `package.json` must be let in, and whoever turns `scripts.test` into `true` should be named. So
//! these files are carried as the agent left them, and what is told apart here only makes a row suspect. What a build script
//! computes cannot be told apart at all: of those, lines and targets that speak of tests are compared.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// How a file of this kind is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Toml,
    /// Any text: its lines that hold one of these words.
    Lines(&'static [&'static str]),
}

/// A kind of file, by its name.
struct Watched {
    names: &'static [&'static str],
    form: Form,
    /// Keys that decide how tests run, with all below them.
    keys: &'static [&'static str],
    /// Keys that do so where the file was there before: a new package may name its own.
    known_only: &'static [&'static str],
    /// Keys whose entries are dependencies by name; `*` is any key.
    dependencies: &'static [&'static str],
}

pub(super) const TEST_WORDS: &[&str] = &["test", "spec", "check", "coverage"];

#[rustfmt::skip]
const WATCHED: &[Watched] = &[
    Watched {
        names: &["package.json", "composer.json", "deno.json"],
        form: Form::Json,
        keys: &["jest", "vitest", "mocha", "ava", "tap", "nyc", "c8", "karma", "overrides", "resolutions", "pnpm", "test"],
        known_only: &["scripts", "tasks"],
        dependencies: &["dependencies", "devDependencies", "optionalDependencies", "require-dev"],
    },
    Watched {
        names: &["pyproject.toml"],
        form: Form::Toml,
        keys: &[
            "tool.pytest", "tool.coverage", "tool.tox", "tool.nox", "tool.hatch.envs", "tool.pdm.scripts", "tool.poe",
            "tool.taskipy", "tool.uv.sources", "project.entry-points.pytest11",
        ],
        known_only: &["build-system"],
        dependencies: &[],
    },
    Watched {
        names: &["Cargo.toml"],
        form: Form::Toml,
        keys: &[
            "profile", "patch", "replace", "workspace.exclude", "workspace.default-members", "package.build", "package.links",
            "project.build", "project.links", "lib.proc-macro", "lib.proc_macro",
        ],
        known_only: &[
            "package.autotests", "package.autobins", "package.workspace", "lib.test", "lib.harness", "lib.doctest",
            "lib.path", "test",
        ],
        dependencies: &[
            "dependencies", "dev-dependencies", "dev_dependencies", "build-dependencies", "build_dependencies",
            "workspace.dependencies", "target.*.dependencies", "target.*.dev-dependencies", "target.*.dev_dependencies",
            "target.*.build-dependencies", "target.*.build_dependencies",
        ],
    },
    Watched {
        names: &["go.mod"],
        form: Form::Lines(&["replace", "toolchain", "godebug"]),
        keys: &[],
        known_only: &[],
        dependencies: &[],
    },
    Watched {
        names: &[
            "setup.py", "noxfile.py", "tasks.py", "Rakefile", "Gemfile", "Gruntfile.js", "gulpfile.js", "build.gradle",
            "build.gradle.kts", "settings.gradle", "settings.gradle.kts", "pom.xml", "CMakeLists.txt", "Taskfile.yml", "Taskfile.yaml",
            "Package.swift", "mix.exs", "project.pbxproj", "deno.jsonc",
        ],
        form: Form::Lines(TEST_WORDS),
        keys: &[],
        known_only: &[],
        dependencies: &[],
    },
];

/// Whether the file at `path` is one whose changes are looked at.
#[must_use]
pub fn says_how_tests_run(path: &Path) -> bool {
    watched(path).is_some()
}

/// The parts of the file at `path` that decide how tests run and are not as before; `None` is no file. Empty for files that
/// say nothing about tests.
#[must_use]
pub fn changed_test_config(path: &Path, before: Option<&[u8]>, now: Option<&[u8]>) -> Vec<String> {
    let Some(watched) = watched(path) else {
        return Vec::new();
    };
    let is_new = before.is_none();
    let was = before.and_then(|bytes| watched.parts(bytes, is_new));
    let was = was.unwrap_or_default();
    let is = match now {
        None => BTreeMap::new(),
        Some(bytes) => match watched.parts(bytes, is_new) {
            Some(parts) => parts,
            None => return vec!["unreadable".to_owned()],
        },
    };
    let mut keys: Vec<&String> = was.keys().chain(is.keys()).collect();
    keys.sort();
    keys.dedup();
    let differ = keys.into_iter().filter(|key| was.get(*key) != is.get(*key));
    differ.cloned().collect()
}

fn watched(path: &Path) -> Option<&'static Watched> {
    let name = path.file_name()?.to_str()?;
    WATCHED.iter().find(|watched| watched.names.contains(&name))
}

impl Watched {
    /// What the file says of tests, by key; `None` where it cannot be read.
    fn parts(&self, bytes: &[u8], is_new: bool) -> Option<BTreeMap<String, String>> {
        let text = std::str::from_utf8(bytes).ok()?;
        match self.form {
            Form::Json => Some(self.keyed(&serde_json::from_str(text).ok()?, is_new)),
            Form::Toml => Some(self.keyed(&toml::from_str(text).ok()?, is_new)),
            Form::Lines(words) => Some(lines(text, words)),
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
                let inside = inside.as_object().into_iter().flatten();
                let redirected = inside.filter(|(_, value)| is_redirected(value));
                parts.extend(
                    redirected.map(|(name, value)| (format!("{key}.{name}"), value.to_string())),
                );
            }
        }
        parts
    }
}

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

/// Whether a dependency comes from somewhere else than a registry: it may be a test runner that always passes.
fn is_redirected(dependency: &Value) -> bool {
    match dependency {
        Value::String(spec) => spec.contains([':', '/']),
        Value::Object(table) => ["path", "git", "registry", "package"]
            .iter()
            .any(|key| table.contains_key(*key)),
        _ => false,
    }
}

/// Lines that hold one of `words`, without their order.
fn lines(text: &str, words: &[&str]) -> BTreeMap<String, String> {
    let mut found: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| speaks(line, words))
        .collect();
    found.sort_unstable();
    let all = (!found.is_empty()).then(|| (words[0].to_owned(), found.join("\n")));
    all.into_iter().collect()
}

pub(super) fn speaks(text: &str, words: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    words.iter().any(|word| text.contains(word))
}

#[cfg(test)]
#[path = "test_config_tests.rs"]
mod tests;
