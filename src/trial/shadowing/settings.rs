//! What the base commit's own files say of Python: what the project depends on, and where importing begins.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use toml::Value;

use crate::trial::shadowing::names::as_module;
use crate::trial::shadowing::roots::inside;
use crate::trial::telling::is_dependency;
use crate::workspace::Template;

/// Files that lead a Python on PATH to another version.
const PICKS: [&str; 3] = [".python-version", ".tool-versions", "mise.toml"];

/// Keys of manifests whose strings, or whose own keys, are packages that the project needs: those of pip, of Pipenv, and all that
/// end in `dependencies`.
const PACKAGES: [&str; 2] = ["dependency-groups", "dev-packages"];

/// The same of INI files.
const REQUIRES: [&str; 4] = [
    "install_requires",
    "tests_require",
    "setup_requires",
    "deps",
];

/// What the base commit and the machine say of Python.
#[derive(Debug, Clone, Default)]
pub struct PythonSide {
    /// What the project depends on or has installed, as modules are named.
    pub(super) declared: BTreeSet<String>,
    /// Folders that settings put on Python's path, from the root.
    pub(super) on_path: BTreeSet<PathBuf>,
    /// The second numbers of the versions of Python 3 that graders run; empty where that is not known.
    pub(super) versions: BTreeSet<u8>,
    /// Whether the base commit picks a version.
    pub(super) picks: bool,
    /// The project's own names.
    pub(super) own: BTreeSet<String>,
}

impl PythonSide {
    /// That of the base commit.
    #[must_use]
    pub fn of(template: &Template) -> Self {
        let base = template.base();
        let mut side = Self {
            picks: base.paths().any(picks),
            ..Self::default()
        };
        let is_read = |path: &Path| !is_dependency(path) && form(path).is_some();
        for path in base.paths().filter(|path| is_read(path)) {
            let bytes = base.file(path).unwrap_or_default();
            if let (Some(form), Ok(text)) = (form(path), str::from_utf8(&bytes)) {
                let folder = path.parent().unwrap_or(Path::new(""));
                side.read(form, text, folder);
            }
        }
        side.declared.retain(|name| !side.own.contains(name));
        side
    }

    /// Whether a file of the base commit leads a Python on PATH to some version.
    #[must_use]
    pub const fn picks_version(&self) -> bool {
        self.picks
    }

    /// The same with what graders run: the second numbers of versions of Python 3, and modules that are installed for them.
    #[must_use]
    pub fn with_graders(&self, versions: BTreeSet<u8>, installed: &BTreeSet<String>) -> Self {
        let mut side = self.clone();
        side.versions = versions;
        let installed = installed.iter().map(|name| as_module(name));
        let others = installed.filter(|name| !self.own.contains(name));
        side.declared.extend(others);
        side
    }

    fn read(&mut self, form: Form, text: &str, folder: &Path) {
        match form {
            Form::Requirements => self.declared.extend(text.lines().filter_map(package)),
            Form::Toml => {
                let Ok(file) = toml::from_str::<Value>(text) else {
                    return;
                };
                packages(&file, false, &mut self.declared);
                // Of Pipenv; elsewhere a key of this name is no top-level one.
                if let Some(needed) = file.get("packages") {
                    packages(needed, true, &mut self.declared);
                }
                let own = [&["project"][..], &["tool", "poetry"]];
                let own = own.map(|keys| at(&file, keys)?.get("name")?.as_str().map(as_module));
                self.own.extend(own.into_iter().flatten());
                let pytest = [
                    &["tool", "pytest", "ini_options"][..],
                    &["tool", "pytest"],
                    &["pytest"],
                ];
                for settings in pytest.iter().filter_map(|keys| at(&file, keys)) {
                    let path = settings.get("pythonpath");
                    self.lies_on_path(folder, &path.map(strings).unwrap_or_default());
                }
            }
            Form::Ini => self.read_ini(text, folder),
            Form::Script => {
                let set = text.lines().filter_map(python_path);
                set.for_each(|path| self.lies_on_path(folder, path));
            }
        }
    }

    fn read_ini(&mut self, text: &str, folder: &Path) {
        let (mut section, mut key) = ("", "");
        for line in text.lines() {
            let plain = line.trim();
            if plain.starts_with(['#', ';']) {
                continue;
            }
            let mut value = plain;
            if let Some(name) = plain.strip_prefix('[') {
                section = name.trim_end_matches(']');
                continue;
            } else if !line.starts_with([' ', '\t']) {
                (key, value) = plain.split_once('=').unwrap_or((plain, ""));
                key = key.trim();
            }
            if section == "metadata" && key == "name" {
                self.own.insert(as_module(value.trim()));
            } else if REQUIRES.contains(&key) || section == "options.extras_require" {
                self.declared.extend(package(value));
            } else if key == "pythonpath" {
                self.lies_on_path(folder, value);
            } else if let Some(path) = python_path(plain) {
                self.lies_on_path(folder, path);
            }
        }
    }

    /// Takes in folders, apart from each other by colons or blanks.
    fn lies_on_path(&mut self, folder: &Path, path: &str) {
        let words = path.split([':', ' ', '\t', ',']);
        let words = words.map(|word| word.trim_matches(['"', '\'']));
        let words = words.filter(|word| !word.is_empty());
        let folders = words.filter_map(|word| inside(folder, Path::new(word)));
        self.on_path.extend(folders);
    }
}

/// How a file is read.
#[derive(Debug, Clone, Copy)]
enum Form {
    Requirements,
    Toml,
    Ini,
    /// Any text that may set `PYTHONPATH`.
    Script,
}

/// Whether a file leads a Python on PATH to some version.
fn picks(path: &Path) -> bool {
    PICKS.iter().any(|name| path.ends_with(name))
}

fn form(path: &Path) -> Option<Form> {
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().and_then(Path::file_name);
    let ending = path.extension().and_then(|ending| ending.to_str());
    let of_requirements = name.contains("requirements")
        || folder.is_some_and(|folder| folder.to_string_lossy().contains("requirements"));
    match name {
        "pyproject.toml" | "Pipfile" | "pytest.toml" | ".pytest.toml" => Some(Form::Toml),
        "setup.cfg" | "tox.ini" | "pytest.ini" | ".pytest.ini" => Some(Form::Ini),
        "Makefile" | "makefile" | "GNUmakefile" | "justfile" | ".env" => Some(Form::Script),
        _ if ending == Some("sh") => Some(Form::Script),
        _ if of_requirements && matches!(ending, Some("txt" | "in")) => Some(Form::Requirements),
        _ => None,
    }
}

/// The package that a requirement names, as its module is mostly named.
fn package(requirement: &str) -> Option<String> {
    let is_of_name =
        |character: char| character.is_ascii_alphanumeric() || "-_.".contains(character);
    let requirement = requirement.trim();
    let end = requirement.find(|character| !is_of_name(character));
    let name = &requirement[..end.unwrap_or(requirement.len())];
    let is_name = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    is_name.then(|| as_module(name))
}

/// Collects packages: strings below the keys that hold them, and the keys there.
fn packages(value: &Value, counts: bool, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if counts => found.extend(package(text)),
        Value::Array(all) => all.iter().for_each(|one| packages(one, counts, found)),
        Value::Table(table) => {
            for (key, value) in table {
                let opens = PACKAGES.contains(&key.as_str()) || key.ends_with("dependencies");
                // A list of tables gives one package several ways.
                let is_package = value
                    .as_array()
                    .is_none_or(|all| !all.is_empty() && all.iter().all(Value::is_table));
                if counts && is_package {
                    found.extend(package(key).filter(|name| name != "include_group"));
                } else {
                    packages(value, counts || opens, found);
                }
            }
        }
        _ => {}
    }
}

fn at<'a>(file: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(file, |value, key| value.get(key))
}

/// A string, or the strings of a list, apart from each other by blanks.
fn strings(value: &Value) -> String {
    let listed = value.as_array().into_iter().flatten();
    let all = std::iter::once(value).chain(listed);
    let all: Vec<&str> = all.filter_map(Value::as_str).collect();
    all.join(" ")
}

/// What a line sets `PYTHONPATH` to.
fn python_path(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("PYTHONPATH")?;
    let rest = rest.trim_start().trim_start_matches([':', '?', '+']);
    let value = rest.strip_prefix('=')?.trim_start();
    value.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_project_depends_on_and_puts_on_the_path_is_read_from_its_manifests() {
        for (form, text, declared, on_path) in [
            (
                Form::Requirements,
                "# a\n-r b.txt\nMy-Lib[x]>=1; python_version<'3'\n\nother.one==1\n",
                "my_lib other_one",
                "",
            ),
            (
                Form::Toml,
                "[project]\nname='own'\ndependencies=['a>1','own[x]']\ndynamic=['version']\n[project.optional-dependencies]\nx=['b']\n[dependency-groups]\ndev=['c',{include-group='x'}]\n[tool.pytest.ini_options]\npythonpath=['backend','.']\n",
                "a b c",
                " p p/backend",
            ),
            (
                Form::Toml,
                "[tool.poetry.group.dev.dependencies]\na='^1'\nb={version='1'}\nc=[{version='1'},{version='2'}]\n[tool.pytest.ini_options]\npythonpath='one two'\n[tool.setuptools]\npackages=['own']\n",
                "a b c",
                " p/one p/two",
            ),
            (
                Form::Ini,
                "[metadata]\nname = own\n[options]\ninstall_requires =\n  a>1\n  own\nzip_safe = no\n[options.extras_require]\nx =\n  b\n[tool:pytest]\npythonpath = src\n  lib\n",
                "a b",
                " p/lib p/src",
            ),
            (
                Form::Ini,
                "[testenv]\ndeps =\n  a\n  -rb.txt\nsetenv =\n  PYTHONPATH = {toxinidir}/backend\n",
                "a",
                " p/backend",
            ),
            (
                Form::Script,
                "test:\n\tPYTHONPATH=$(CURDIR)/src:../lib python3 -m unittest\n",
                "",
                " lib p/src",
            ),
        ] {
            let mut side = PythonSide::default();
            side.read(form, text, Path::new("p"));
            side.declared.retain(|name| !side.own.contains(name));
            let found: Vec<&str> = side.declared.iter().map(String::as_str).collect();
            assert_eq!(found.join(" "), declared, "{text}");
            let folders = side
                .on_path
                .iter()
                .map(|path| format!(" {}", path.display()));
            assert_eq!(folders.collect::<String>(), on_path, "{text}");
        }
    }
}
