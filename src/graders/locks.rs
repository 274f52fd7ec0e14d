//! Lock files of package managers: which of their entries lead elsewhere than to a registry. Who changes them can have a runner of
//! tests installed from a folder of the project.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::make_words::fits;

/// How a lock file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// npm's, in JSON.
    Npm,
    /// Of yarn, pnpm and bun: text with an entry on a few lines.
    Lines,
    /// Of uv, Poetry and PDM: TOML with a list of packages.
    Packages,
}

/// What in a line of a lock file leads to something of this machine or to a repository.
#[rustfmt::skip]
const ELSEWHERE: [&str; 10] = [
    "file:", "link:", "portal:", "exec:", "patch:", "git+", "git:", "git@", "ssh:", "github:",
];

/// How lines begin that say where a package comes from.
const FROM: [&str; 3] = ["resolved", "resolution", "tarball"];

/// Keys of the source of a package of Python that is none of an index.
const LOCAL: [&str; 5] = ["path", "directory", "editable", "virtual", "git"];

/// Words for the same, as Poetry writes them.
const TYPES: [&str; 4] = ["file", "directory", "url", "git"];

/// What of a lock file is new, or not as before, and leads elsewhere; `None` where it cannot be read. `workspaces` are the folders,
/// with wildcards, of the packages that are the project's own.
pub(super) fn redirected(
    lock: Lock,
    (before, now): (Option<&str>, &str),
    workspaces: &[String],
) -> Option<Vec<String>> {
    match lock {
        Lock::Npm => {
            let before = before.and_then(Npm::read).unwrap_or_default();
            Some(before.new_in(&Npm::read(now)?, workspaces))
        }
        Lock::Lines => Some(lines(before.unwrap_or_default(), now)),
        Lock::Packages => {
            let before = before.and_then(packages).unwrap_or_default();
            let is_new = |(name, source): &(String, Source)| {
                let was = before.iter().filter(|(known, _)| known == name);
                let mut was = was.map(|(_, source)| source);
                // A further package of the project's own stands in the place of none.
                let is_own = source.is_own && was.clone().next().is_none();
                source.is_elsewhere && !is_own && !was.any(|was| was.text == source.text)
            };
            let found = packages(now)?.into_iter().filter(is_new);
            Some(found.map(|(name, _)| name).collect())
        }
    }
}

/// A lock file of npm.
#[derive(Default)]
struct Npm {
    /// What leads elsewhere, by place.
    elsewhere: BTreeMap<String, Value>,
    /// Names of all packages.
    names: BTreeSet<String>,
    workspaces: Vec<String>,
}

impl Npm {
    fn read(text: &str) -> Option<Self> {
        let file: Value = serde_json::from_str(text).ok()?;
        let mut lock = Self::default();
        if let Some(packages) = file.get("packages").and_then(Value::as_object) {
            for (place, entry) in packages
                .iter()
                .filter(|(place, _)| place.contains("node_modules/"))
            {
                lock.take(place, entry);
            }
            let own = packages.get("").and_then(|root| root.get("workspaces"));
            lock.workspaces
                .extend(own.map(workspaces).unwrap_or_default());
        }
        // The older form: in each other as they lie.
        let inside = |value: &Value| {
            value
                .get("dependencies")
                .and_then(Value::as_object)
                .cloned()
        };
        let mut waiting: Vec<(String, Map<String, Value>)> = Vec::new();
        waiting.extend(inside(&file).map(|all| (String::new(), all)));
        while let Some((above, all)) = waiting.pop() {
            for (name, entry) in &all {
                let place = format!("{above}node_modules/{name}");
                lock.take(&place, entry);
                waiting.extend(inside(entry).map(|all| (format!("{place}/"), all)));
            }
        }
        Some(lock)
    }

    fn take(&mut self, place: &str, entry: &Value) {
        let text = |key: &str| entry.get(key).and_then(Value::as_str);
        let is_link = entry.get("link").and_then(Value::as_bool) == Some(true);
        let leads = text("resolved").is_some_and(|from| !is_of_registry(from))
            || text("version").is_some_and(|version| {
                version.contains([':', '/']) && !version.starts_with("npm:")
            });
        if is_link || leads {
            self.elsewhere.insert(place.to_owned(), entry.clone());
        }
        self.names.insert(name_at(place).to_owned());
    }

    fn new_in(&self, now: &Self, workspaces: &[String]) -> Vec<String> {
        let is_own = |place: &str, entry: &Value| {
            let target = entry.get("resolved").and_then(Value::as_str);
            let mut folders = self.workspaces.iter().chain(workspaces);
            let is_in = target.is_some_and(|target| folders.any(|folder| fits(folder, target)));
            is_in && !self.names.contains(name_at(place))
        };
        let all = now.elsewhere.iter();
        let new = all.filter(|(place, entry)| self.elsewhere.get(*place) != Some(entry));
        let new = new.filter(|(place, entry)| !is_own(place, entry));
        new.map(|(place, _)| place.clone()).collect()
    }
}

/// The folders of the packages that are the project's own, in either form of the key `workspaces`.
pub(super) fn workspaces(value: &Value) -> Vec<String> {
    let listed = value.get("packages").unwrap_or(value);
    let listed = listed.as_array().into_iter().flatten();
    let names = listed.filter_map(Value::as_str);
    names
        .map(|name| {
            name.trim_start_matches("./")
                .trim_end_matches('/')
                .to_owned()
        })
        .collect()
}

fn name_at(place: &str) -> &str {
    place.rsplit("node_modules/").next().unwrap_or(place)
}

/// Whether an address is that of an archive as registries have them: `https://HOST/NAME/-/NAME-1.0.0.tgz`.
fn is_of_registry(address: &str) -> bool {
    let address = address.split(['#', '?']).next().unwrap_or(address);
    let is_web = ["https://", "http://"]
        .iter()
        .any(|begin| address.starts_with(begin));
    is_web && address.contains("/-/") && address.rsplit('.').next() == Some("tgz")
}

/// The new lines that lead elsewhere.
fn lines(before: &str, now: &str) -> Vec<String> {
    let known: BTreeSet<&str> = before.lines().map(str::trim).collect();
    let new = now
        .lines()
        .map(str::trim)
        .filter(|line| !known.contains(line));
    let mut found: Vec<String> = new
        .filter(|line| leads(before, line))
        .map(str::to_owned)
        .collect();
    found.dedup();
    found
}

fn leads(before: &str, line: &str) -> bool {
    // What people wrote about a package, and what yarn itself brings along.
    if line.starts_with(['#', '<']) || line.starts_with("deprecated") || line.contains("builtin<") {
        return false;
    }
    let is_part = |one: char| one.is_alphanumeric() || "-_.".contains(one);
    let is_at = |mark: &str| {
        line.match_indices(mark).any(|(place, _)| {
            let before = line[..place].chars().next_back();
            let after = line[place + mark.len()..].chars().next();
            !before.is_some_and(is_part) && after.is_some_and(|one| !one.is_whitespace())
        })
    };
    if ELSEWHERE.iter().any(|mark| is_at(mark)) {
        return true;
    }
    // A package of the project's own, with the name of another.
    if let Some((name, _)) = line.split_once("@workspace:") {
        let name = name.rsplit(['"', '\'', ' ', '[']).next().unwrap_or(name);
        let other = format!("{name}@");
        let mut known = before.lines().filter(|line| !line.contains("@workspace:"));
        return known.any(|line| line.contains(&other));
    }
    if !FROM.iter().any(|word| line.starts_with(word)) {
        return false;
    }
    let words = line.split([' ', '"', '\'', ',', '{', '}']);
    let mut words = words.filter(|word| !word.is_empty());
    words.any(|word| {
        let is_archive = word.contains("://") || word.contains(".tgz") || word.contains(".tar");
        word == "directory:" || is_archive && !is_of_registry(word)
    })
}

/// Where a package of Python comes from.
struct Source {
    text: String,
    is_elsewhere: bool,
    /// Whether it is a folder that is worked on in its place.
    is_own: bool,
}

fn packages(text: &str) -> Option<Vec<(String, Source)>> {
    let file: Value = toml::from_str(text).ok()?;
    let listed = file.get("package").and_then(Value::as_array);
    let listed = listed.into_iter().flatten();
    let named = listed.filter_map(|package| {
        let name = package.get("name")?.as_str()?.to_owned();
        let source = package.get("source").unwrap_or(&Value::Null);
        let text = |key: &str| source.get(key).and_then(Value::as_str);
        let is_typed = text("type").is_some_and(|kind| TYPES.contains(&kind));
        let is_web = |address: &str| address.starts_with("http");
        let is_bare = text("url").is_some() && text("type").is_none();
        let is_elsewhere = is_typed
            || is_bare
            || text("registry").is_some_and(|index| !is_web(index))
            || is_local(package);
        let is_own = ["editable", "virtual"]
            .iter()
            .any(|key| text(key).is_some());
        let source = Source {
            text: package.to_string(),
            is_elsewhere,
            is_own,
        };
        Some((name, source))
    });
    Some(named.collect())
}

/// Whether something of this machine is named anywhere in a value; the root of the project is left out.
fn is_local(value: &Value) -> bool {
    match value {
        Value::String(text) => text.starts_with("file:"),
        Value::Array(all) => all.iter().any(is_local),
        Value::Object(table) => table.iter().any(|(key, value)| {
            let is_other = value.as_str().is_some_and(|text| text != ".");
            LOCAL.contains(&key.as_str()) && is_other || is_local(value)
        }),
        _ => false,
    }
}

#[cfg(test)]
#[path = "locks_tests.rs"]
mod tests;
