//! Files outside of the workspace that an agent has no business with: looked at before and after it, where no jail keeps it
//! from them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::model::Isolation;
use crate::trial::RunContext;
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
/// So many reasons are told at once.
const MOST_REASONS: usize = 20;
/// No more files of the suite are looked at.
const MOST_FILES: usize = 2_000;

/// What stood outside when the run looked first: before its first agent.
#[derive(Debug, Default)]
pub struct AtStart(OnceLock<Seen>);

/// What stood outside before the agent of a trial.
pub(super) struct Outside<'a> {
    start: &'a Seen,
    before: Seen,
    told: BTreeSet<String>,
}

/// What stands outside.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
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

impl<'a> Outside<'a> {
    /// Looks, unless a jail keeps agents from all of it.
    pub(super) fn look(frame: &Frame<'a>) -> Option<Self> {
        let context = frame.context;
        if context.confinement.level == Isolation::Jail {
            return None;
        }
        let before = Seen::now(context);
        Some(Self {
            start: context.outside.0.get_or_init(|| before.clone()),
            before,
            told: BTreeSet::new(),
        })
    }

    /// Reasons for `integrity` that were not told yet: what is different now, and what was different before this trial began.
    /// Who changed it nobody can say.
    pub(super) fn changed(&mut self) -> Vec<String> {
        let now = self.before.again();
        let earlier = self.start.differing(&self.before, "_earlier");
        let reasons = self
            .before
            .differing(&now, "")
            .chain(earlier)
            .take(MOST_REASONS);
        let fresh = reasons.filter(|reason| !self.told.contains(reason));
        let fresh: Vec<String> = fresh.collect();
        self.told.extend(fresh.iter().cloned());
        fresh
    }
}

impl Seen {
    fn now(context: &RunContext) -> Self {
        let home = context.base_env.iter().find(|(name, _)| name == "HOME");
        let home = home.map(|(_, home)| PathBuf::from(home));
        let suite = &context.suite;
        let mut files = vec![suite.config_path.clone(), suite.tasks_path.clone()];
        for path in &suite.asked.files {
            collect(path, &mut files);
        }
        Self {
            settings: home.as_deref().map(settings).unwrap_or_default(),
            home,
            suite: files
                .into_iter()
                .map(|path| (path.clone(), stamp(&path)))
                .collect(),
        }
    }

    /// The same files as they are now.
    fn again(&self) -> Self {
        Self {
            home: self.home.clone(),
            settings: self.home.as_deref().map(settings).unwrap_or_default(),
            suite: self
                .suite
                .keys()
                .map(|path| (path.clone(), stamp(path)))
                .collect(),
        }
    }

    /// Reasons for what is different in a later look.
    fn differing<'b>(&'b self, later: &'b Self, when: &'b str) -> impl Iterator<Item = String> {
        let paths: BTreeSet<&PathBuf> = self.settings.keys().chain(later.settings.keys()).collect();
        let home = paths.into_iter();
        let home = home.filter(|path| self.settings.get(*path) != later.settings.get(*path));
        let suite = self.suite.iter();
        let suite = suite.filter(|(path, then)| later.suite.get(*path) != Some(*then));
        let home = home.map(move |path| format!("home_changed{when}:{}", named(path)));
        let suite = suite.map(move |(path, _)| format!("suite_changed{when}:{}", named(path)));
        home.chain(suite)
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
    let watched = watched.chain(python_hooks(home));
    watched
        .filter_map(|path| content(&path).map(|look| (path, look)))
        .collect()
}

/// What Python reads at each start from the user's own packages.
fn python_hooks(home: &Path) -> impl Iterator<Item = PathBuf> {
    let listed = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let versions = listed(home.join(".local/lib")).map(|entry| entry.path().join("site-packages"));
    let files = versions.flat_map(move |folder| listed(folder).map(|entry| entry.path()));
    let hooks = files.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".pth") || name == "usercustomize.py" || name == "sitecustomize.py"
    });
    hooks.take(MOST_NAMES)
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
