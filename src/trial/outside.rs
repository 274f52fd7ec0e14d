//! Files outside of the workspace that an agent has no business with: looked at before and after it, where no jail keeps it
//! from them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::model::Isolation;
use crate::trial::frame::Frame;
use crate::workspace::{named, sha256};

/// Settings below a home that run code, lead tools or speak to agents.
const WATCHED: [&str; 24] = [
    ".gitconfig",
    ".config/git/config",
    ".bashrc",
    ".bash_profile",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".config/fish/config.fish",
    ".pythonrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pip/pip.conf",
    ".config/pip/pip.conf",
    ".cargo/config",
    ".cargo/config.toml",
    ".ssh/config",
    ".ssh/authorized_keys",
    ".claude/settings.json",
    ".claude/CLAUDE.md",
    ".codex/config.toml",
    ".codex/AGENTS.md",
    ".gemini/settings.json",
];

/// Larger files are known by size and time alone.
const LARGEST: u64 = 1 << 20;
/// In a home with more names than this, each file is asked for by itself.
const MOST_NAMES: usize = 2_000;
/// No more files of the suite are looked at.
const MOST_FILES: usize = 2_000;

/// What stood outside before the agent.
pub(super) struct Outside {
    home: Option<PathBuf>,
    settings: BTreeMap<PathBuf, Look>,
    suite: BTreeMap<PathBuf, Option<Look>>,
}

/// A file as it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Look {
    Content([u8; 32]),
    Stamp(u64, i64, i64),
}

impl Outside {
    /// Looks, unless a jail keeps agents from all of it.
    pub(super) fn look(frame: &Frame<'_>) -> Option<Self> {
        let context = frame.context;
        if context.confinement.level == Isolation::Jail {
            return None;
        }
        let home = context.base_env.iter().find(|(name, _)| name == "HOME");
        let home = home.map(|(_, home)| PathBuf::from(home));
        let suite = &context.suite;
        let mut files = vec![suite.config_path.clone(), suite.tasks_path.clone()];
        for path in &suite.asked.files {
            collect(path, &mut files);
        }
        Some(Self {
            settings: home.as_deref().map(settings).unwrap_or_default(),
            home,
            suite: files
                .into_iter()
                .map(|path| (path.clone(), stamp(&path)))
                .collect(),
        })
    }

    /// Reasons for `integrity`: what is different now. Who changed it nobody can say.
    pub(super) fn changed(&self) -> Vec<String> {
        let now = self.home.as_deref().map(settings).unwrap_or_default();
        let paths: BTreeSet<&PathBuf> = self.settings.keys().chain(now.keys()).collect();
        let home = paths.into_iter();
        let home = home.filter(|path| self.settings.get(*path) != now.get(*path));
        let suite = self.suite.iter();
        let suite = suite.filter(|(path, then)| stamp(path) != **then);
        let home = home.map(|path| format!("home_changed:{}", named(path)));
        let suite = suite.map(|(path, _)| format!("suite_changed:{}", named(path)));
        home.chain(suite).take(20).collect()
    }
}

/// The watched files of a home that are there.
fn settings(home: &Path) -> BTreeMap<PathBuf, Look> {
    let names = names(home);
    let may_be = |path: &Path| {
        let first = path.iter().next();
        let there = names.as_ref().zip(first);
        there.is_none_or(|(names, first)| names.contains(first))
    };
    let watched = WATCHED.iter().map(Path::new).filter(|path| may_be(path));
    let watched = watched.map(|path| home.join(path));
    watched
        .filter_map(|path| content(&path).map(|look| (path, look)))
        .collect()
}

/// What stands in a folder; `None` where that cannot be told, or is too much.
fn names(folder: &Path) -> Option<BTreeSet<OsString>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).ok()? {
        names.insert(entry.ok()?.file_name());
        if names.len() > MOST_NAMES {
            return None;
        }
    }
    Some(names)
}

fn content(path: &Path) -> Option<Look> {
    let about = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    if about.len() > LARGEST {
        return stamp(path);
    }
    fs::read(path)
        .ok()
        .map(|bytes| Look::Content(sha256(&bytes)))
}

fn stamp(path: &Path) -> Option<Look> {
    let about = fs::metadata(path).ok()?;
    Some(Look::Stamp(about.len(), about.ctime(), about.ctime_nsec()))
}

/// The plain files at or below `path`.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    let Ok(about) = fs::symlink_metadata(path) else {
        return;
    };
    if files.len() >= MOST_FILES {
        return;
    }
    if about.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            collect(&entry.path(), files);
        }
    } else if about.is_file() {
        files.push(path.to_owned());
    }
}
