//! What a workspace has become, as a patch: the project as we read it against the files as we saw them, git not asked.

use std::io;
use std::path::{Path, PathBuf};

use super::base::{Base, kind};
use super::beneath::Held;
use super::left::{Content, LeftFile, Now};
use super::reading::MAX_HELD;
use super::tree::FileKind;
use super::unified::{header, hunks, index_line, names};

/// A patch over this many bytes ends; what follows is only named.
const MAX_PATCH: usize = 16 << 20;
/// Git calls a file with a NUL byte among its first this many bytes binary.
const LOOKED_AT: usize = 8000;

/// A patch in the making, and what it does not hold.
#[derive(Debug, Default)]
pub(super) struct PatchText {
    /// In the form of `git diff`; bytes, as files need not be text in UTF-8.
    pub(super) bytes: Vec<u8>,
    /// Changed paths that are named in the patch without their content, or not at all.
    pub(super) omitted: Vec<PathBuf>,
}

/// The later side of a path.
enum After {
    Gone,
    Held(Held),
    /// Its content is not at hand.
    Named(FileKind),
}

impl PatchText {
    /// Tells one path: what the base commit has there against what is there now. Files that are binary, very large or could
    /// not be read are named only.
    pub(super) fn tell(&mut self, base: &Base<'_>, path: &Path, now: &Now) {
        if self.bytes.len() > MAX_PATCH || matches!(now, Now::Special(_)) {
            return self.omitted.push(path.to_owned());
        }
        // Who made a file unreadable must not make all other changes untold.
        if self.sides(base, path, now).is_err() {
            self.omitted.push(path.to_owned());
        }
    }

    fn sides(&mut self, base: &Base<'_>, path: &Path, now: &Now) -> io::Result<()> {
        let piece = base.files.get(path).copied();
        let after = after(now);
        let named = matches!(after, After::Named(_));
        if named || piece.is_some_and(|piece| piece.length > MAX_HELD) {
            self.name_only(path, piece.map(kind), after.kind());
            return Ok(());
        }
        let old = piece.map(|piece| base.held(piece)).transpose()?;
        let new = match after {
            After::Held(held) => Some(held),
            After::Gone | After::Named(_) => None,
        };
        self.tell_both(path, old.as_ref(), new.as_ref());
        Ok(())
    }

    fn name_only(&mut self, path: &Path, old: Option<FileKind>, new: Option<FileKind>) {
        if old.is_none() && new.is_none() {
            return;
        }
        header(&mut self.bytes, path, (old, new));
        self.binary_note(path, (old.is_some(), new.is_some()));
    }

    fn tell_both(&mut self, path: &Path, old: Option<&Held>, new: Option<&Held>) {
        if old == new {
            return;
        }
        let is_link = |held: &Held| held.kind == FileKind::Link;
        if let (Some(was), Some(is)) = (old, new)
            && is_link(was) != is_link(is)
        {
            self.tell_both(path, old, None);
            self.tell_both(path, None, new);
            return;
        }
        let kinds = (old.map(|held| held.kind), new.map(|held| held.kind));
        header(&mut self.bytes, path, kinds);
        let empty: &[u8] = &[];
        let before = old.map_or(empty, |held| &held.bytes);
        let after = new.map_or(empty, |held| &held.bytes);
        if before != after || old.is_none() || new.is_none() {
            index_line(&mut self.bytes, old, new);
        }
        if before == after {
            return;
        }
        if is_binary(before) || is_binary(after) {
            return self.binary_note(path, (old.is_some(), new.is_some()));
        }
        let names = names(path, (old.is_some(), new.is_some()));
        self.bytes.extend_from_slice(b"--- ");
        self.bytes.extend_from_slice(&names.0);
        self.bytes.extend_from_slice(b"\n+++ ");
        self.bytes.extend_from_slice(&names.1);
        self.bytes.push(b'\n');
        if hunks(&mut self.bytes, before, after).is_err() {
            self.omitted.push(path.to_owned());
        }
    }

    fn binary_note(&mut self, path: &Path, exist: (bool, bool)) {
        let (old, new) = names(path, exist);
        for part in [&b"Binary files "[..], &old, b" and ", &new, b" differ\n"] {
            self.bytes.extend_from_slice(part);
        }
        self.omitted.push(path.to_owned());
    }
}

impl After {
    fn kind(&self) -> Option<FileKind> {
        match self {
            Self::Gone => None,
            Self::Held(held) => Some(held.kind),
            Self::Named(kind) => Some(*kind),
        }
    }
}

fn after(now: &Now) -> After {
    match now {
        Now::Removed | Now::Special(_) => After::Gone,
        Now::Link(target) => After::Held(Held {
            kind: FileKind::Link,
            bytes: target.clone(),
        }),
        Now::File(file) => match &file.content {
            Content::Bytes(bytes) => After::Held(Held {
                kind: file_kind(file),
                bytes: bytes.clone(),
            }),
            Content::In { .. } | Content::Lost(_) | Content::Dropped(_) => {
                After::Named(file_kind(file))
            }
        },
    }
}

/// The kind of a file that was left.
pub(super) const fn file_kind(file: &LeftFile) -> FileKind {
    if file.executable {
        FileKind::Executable
    } else {
        FileKind::Plain
    }
}

fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(LOOKED_AT)].contains(&0)
}
