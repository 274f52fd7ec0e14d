//! What a workspace has become, as a patch: the project as we read it against the files as we see them, git not asked.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::base::{Base, kind};
use super::beneath::{self, Held};
use super::manifest::{Care, Entry, Manifest};
use super::store::Piece;
use super::survey::survey;
use super::tree::FileKind;
use super::unified::{header, hunks, index_line, names};
use super::{Workspace, WorkspaceError};

/// Files over this many bytes are only named.
const MAX_FILE: u64 = 1 << 20;
/// A patch over this many bytes ends; what follows is only named.
const MAX_PATCH: usize = 16 << 20;
/// Git calls a file with a NUL byte among its first this many bytes binary.
const LOOKED_AT: usize = 8000;

/// A patch, and what it does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchText {
    /// In the form of `git diff`; bytes, as files need not be text in UTF-8.
    pub bytes: Vec<u8>,
    /// Changed paths that are named in the patch without their content, or not at all.
    pub omitted: Vec<PathBuf>,
    /// Every changed path with what is there now.
    pub changed: Vec<ChangedPath>,
}

/// A changed path and what is there now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedPath {
    /// From the root of the work tree.
    pub path: PathBuf,
    /// What is there now.
    pub now: Now,
}

/// What stands at a changed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Now {
    /// Nothing.
    Removed,
    /// A file.
    File {
        /// Its bytes.
        bytes: Vec<u8>,
        /// Whether its owner may execute it.
        executable: bool,
    },
    /// A symbolic link, with its target.
    Link(Vec<u8>),
    /// Something whose content was not kept: too large, or no file.
    NotKept,
}

impl Workspace {
    /// What is there, by size and time of change alone: cheap, and enough to tell later what nobody touched. The time is
    /// the one that only the system sets.
    ///
    /// # Errors
    /// When the workspace is gone.
    pub fn noted(&self) -> Result<Manifest, WorkspaceError> {
        survey(&self.root, &|_, _| Care::Note).map_err(WorkspaceError::io(format!(
            "look at {}",
            self.root.display()
        )))
    }

    /// The changes of the work tree, told against the commit that the workspace was made of. Paths that stand as
    /// `untouched` noted them are left out, so that what setup did before that is none of them. New files that the project's
    /// own `.gitignore` leaves out are left out, too; binary, very large and unreadable files and repositories in the
    /// repository are named only.
    ///
    /// # Errors
    /// When the workspace is gone, or what was kept of the project cannot be read.
    pub fn diff_against_base(
        &self,
        untouched: Option<&Manifest>,
    ) -> Result<PatchText, WorkspaceError> {
        let base = Base::of(&self.shared);
        let rules = base.ignores()?;
        let kept_folders: BTreeSet<&Path> = base
            .files
            .keys()
            .flat_map(|path| path.ancestors().skip(1))
            .collect();
        let nested = RefCell::new(Vec::new());
        let now = survey(&self.root, &|path, folder| {
            if beneath::is_gits_own(path) {
                nested.borrow_mut().push(path.to_owned());
                return Care::Skip;
            }
            let known = base.files.contains_key(path) || (folder && kept_folders.contains(path));
            let ignored = || {
                rules
                    .as_ref()
                    .is_some_and(|rules| rules.covers(path, folder))
            };
            if !known && ignored() {
                Care::Skip
            } else {
                Care::Note
            }
        })
        .map_err(WorkspaceError::io(format!(
            "look at {}",
            self.root.display()
        )))?;
        let paths: BTreeSet<&PathBuf> = base.files.keys().chain(now.entries.keys()).collect();
        let mut text = PatchText::default();
        for path in paths {
            let new = now.entries.get(path);
            if untouched.is_some_and(|untouched| untouched.entries.get(path) == new) {
                continue;
            }
            let sides = Sides {
                base: &base,
                root: &self.root,
                path,
                old: base.files.get(path).copied(),
                new,
            };
            sides
                .tell(&mut text)
                .map_err(WorkspaceError::io(format!("compare {}", path.display())))?;
        }
        for path in nested.into_inner() {
            text.omitted.push(path.clone());
            let now = Now::NotKept;
            text.changed.push(ChangedPath { path, now });
        }
        Ok(text)
    }
}

/// One path, then and now.
struct Sides<'a> {
    base: &'a Base<'a>,
    root: &'a Path,
    path: &'a PathBuf,
    old: Option<&'a Piece>,
    new: Option<&'a Entry>,
}

impl Sides<'_> {
    fn tell(&self, text: &mut PatchText) -> io::Result<()> {
        let large = |entry: &Entry| matches!(entry, Entry::File { size, .. } if *size > MAX_FILE);
        let special = matches!(self.new, Some(Entry::Other { .. }));
        if special || text.bytes.len() > MAX_PATCH {
            if special || self.differs_at_a_glance() {
                text.omitted.push(self.path.clone());
                self.change(text, Now::NotKept);
            }
            return Ok(());
        }
        if self.new.is_some_and(large) || self.old.is_some_and(|piece| piece.length > MAX_FILE) {
            if self.differs_at_a_glance() || self.large_differs() {
                self.name_only(text);
                let now = if self.new.is_none() {
                    Now::Removed
                } else {
                    Now::NotKept
                };
                self.change(text, now);
            }
            return Ok(());
        }
        let old = self.old.map(|piece| self.base.held(piece)).transpose()?;
        let new = match self.new {
            Some(_) => beneath::read(self.root, self.path, MAX_FILE),
            None => Ok(None),
        };
        let Ok(new) = new else {
            // Who made a file unreadable must not make all other changes untold.
            text.omitted.push(self.path.clone());
            self.change(text, Now::NotKept);
            return Ok(());
        };
        self.tell_both(text, old.as_ref(), new.as_ref());
        if old != new {
            self.change(text, new.map_or(Now::Removed, now));
        }
        Ok(())
    }

    fn change(&self, text: &mut PatchText, now: Now) {
        let path = self.path.clone();
        text.changed.push(ChangedPath { path, now });
    }

    fn differs_at_a_glance(&self) -> bool {
        match (self.old, self.new) {
            (
                Some(piece),
                Some(Entry::File {
                    size, executable, ..
                }),
            ) => {
                let was = kind(piece);
                piece.length != *size
                    || was == FileKind::Link
                    || (was == FileKind::Executable) != *executable
            }
            _ => true,
        }
    }

    fn large_differs(&self) -> bool {
        let Some(piece) = self.old else {
            return true;
        };
        match beneath::read(self.root, self.path, piece.length) {
            Ok(Some(new)) => self.base.held(piece).is_ok_and(|old| old != new),
            Ok(None) | Err(_) => true,
        }
    }

    fn name_only(&self, text: &mut PatchText) {
        let old = self.old.map(kind);
        let new = match self.new {
            Some(Entry::File {
                executable: true, ..
            }) => Some(FileKind::Executable),
            Some(Entry::Link { .. }) => Some(FileKind::Link),
            Some(_) => Some(FileKind::Plain),
            None => None,
        };
        header(&mut text.bytes, self.path, (old, new));
        binary_note(text, self.path, (old.is_some(), new.is_some()));
    }

    fn tell_both(&self, text: &mut PatchText, old: Option<&Held>, new: Option<&Held>) {
        if old == new {
            return;
        }
        let is_link = |held: &Held| held.kind == FileKind::Link;
        if let (Some(was), Some(is)) = (old, new)
            && is_link(was) != is_link(is)
        {
            self.tell_both(text, old, None);
            self.tell_both(text, None, new);
            return;
        }
        let kinds = (old.map(|held| held.kind), new.map(|held| held.kind));
        header(&mut text.bytes, self.path, kinds);
        let empty: &[u8] = &[];
        let before = old.map_or(empty, |held| &held.bytes);
        let after = new.map_or(empty, |held| &held.bytes);
        if before != after || old.is_none() || new.is_none() {
            index_line(&mut text.bytes, old, new);
        }
        if before == after {
            return;
        }
        if is_binary(before) || is_binary(after) {
            return binary_note(text, self.path, (old.is_some(), new.is_some()));
        }
        let names = names(self.path, (old.is_some(), new.is_some()));
        text.bytes.extend_from_slice(b"--- ");
        text.bytes.extend_from_slice(&names.0);
        text.bytes.extend_from_slice(b"\n+++ ");
        text.bytes.extend_from_slice(&names.1);
        text.bytes.push(b'\n');
        if hunks(&mut text.bytes, before, after).is_err() {
            text.omitted.push(self.path.clone());
        }
    }
}

fn now(held: Held) -> Now {
    match held.kind {
        FileKind::Link => Now::Link(held.bytes),
        kind => Now::File {
            bytes: held.bytes,
            executable: kind == FileKind::Executable,
        },
    }
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(LOOKED_AT)].contains(&0)
}

fn binary_note(text: &mut PatchText, path: &Path, exist: (bool, bool)) {
    let (old, new) = names(path, exist);
    for part in [&b"Binary files "[..], &old, b" and ", &new, b" differ\n"] {
        text.bytes.extend_from_slice(part);
    }
    text.omitted.push(path.to_owned());
}
