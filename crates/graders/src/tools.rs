//! The programs of graders, found and known by their content before any agent starts.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use proctor_config::{GraderSpec, TaskSpec};
use proctor_supervise::find_program;
use proctor_workspace::{sha256_hex, sha256_of};

/// A program as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Where it is.
    pub path: PathBuf,
    /// SHA-256 of its content, in hex.
    pub sha256: String,
    stamp: Stamp,
}

/// Device, inode, size and time of change: as long as they stay, so does the content.
type Stamp = (u64, u64, u64, i64, i64);

/// What Apple graders call.
pub(super) const APPLE_TOOLS: [&str; 2] = ["xcodebuild", "xcrun"];

/// The programs that graders call by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tools {
    found: BTreeMap<String, Tool>,
}

impl Tools {
    /// Finds what the graders of `tasks` call, on `path`: `command` graders by a bare name or an absolute path. What is not there is
    /// left out: a grader may have a PATH of its own.
    #[must_use]
    pub fn find<'a>(tasks: impl Iterator<Item = &'a TaskSpec>, path: &OsStr) -> Self {
        let mut found = BTreeMap::new();
        for grader in tasks.flat_map(|task| &task.graders) {
            if grader.is_apple() {
                for name in APPLE_TOOLS {
                    if let Some(tool) = tool(name, path) {
                        found.insert(name.to_owned(), tool);
                    }
                }
            }
            let GraderSpec::Command { argv, env, .. } = grader else {
                continue;
            };
            let own_path = env.iter().any(|(name, _)| name == "PATH");
            let Some(name) = argv.first().filter(|name| is_plain(name) && !own_path) else {
                continue;
            };
            if !found.contains_key(name)
                && let Some(tool) = tool(name, path)
            {
                found.insert(name.clone(), tool);
            }
        }
        Self { found }
    }

    /// All of them, by name.
    pub fn all(&self) -> impl Iterator<Item = (&str, &Tool)> {
        self.found.iter().map(|(name, tool)| (name.as_str(), tool))
    }

    /// Where the program `name` is, if it was found; `Err` when it is no longer what it was then.
    pub(super) fn get(&self, name: &str) -> Result<Option<&Path>, ()> {
        let Some(tool) = self.found.get(name) else {
            return Ok(None);
        };
        let now = fs::metadata(&tool.path).map_err(drop)?;
        let same = stamp(&now) == tool.stamp
            || digest(&tool.path).is_some_and(|digest| digest == tool.sha256);
        if same { Ok(Some(&tool.path)) } else { Err(()) }
    }
}

pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && (!name.contains('/') || name.starts_with('/'))
}

fn tool(name: &str, path: &OsStr) -> Option<Tool> {
    let found = find_program(OsStr::new(name), path, Path::new("/"))?;
    let about = fs::metadata(&found).ok()?;
    Some(Tool {
        sha256: digest(&found)?,
        stamp: stamp(&about),
        path: found,
    })
}

fn stamp(about: &Metadata) -> Stamp {
    (
        about.dev(),
        about.ino(),
        about.len(),
        about.ctime(),
        about.ctime_nsec(),
    )
}

fn digest(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    sha256_of(&mut file).ok().map(|digest| sha256_hex(&digest))
}

/// The folders of a PATH in which programs are looked for when graders run: absolute ones, none of them below `except`.
#[must_use]
pub fn system_path(path: &OsStr, except: &[&Path]) -> OsString {
    let folders = std::env::split_paths(path).filter(|folder| {
        folder.is_absolute() && !except.iter().any(|except| folder.starts_with(except))
    });
    std::env::join_paths(folders).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_was_replaced_is_noticed_and_one_that_was_only_touched_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("judge");
        let write = |text: &str| {
            use std::os::unix::fs::PermissionsExt as _;
            fs::write(&program, text).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        };
        write("#!/bin/sh\nexit 1\n");
        let tools = Tools {
            found: BTreeMap::from([(
                "judge".to_owned(),
                tool("judge", folder.path().as_os_str()).unwrap(),
            )]),
        };
        assert_eq!(tools.get("judge"), Ok(Some(program.as_path())));
        write("#!/bin/sh\nexit 1\n");
        assert_eq!(tools.get("judge"), Ok(Some(program.as_path())));
        write("#!/bin/sh\nexit 0\n");
        assert_eq!(tools.get("judge"), Err(()));
        fs::remove_file(&program).unwrap();
        assert_eq!(tools.get("judge"), Err(()));
        assert_eq!(tools.get("other"), Ok(None));
    }

    #[test]
    fn relative_folders_and_those_of_the_run_are_not_looked_in() {
        let path = OsStr::new("/bin:bin::/scratch/x:/usr/bin:.");
        let seen = system_path(path, &[Path::new("/scratch")]);
        assert_eq!(seen, "/bin:/usr/bin");
    }
}
