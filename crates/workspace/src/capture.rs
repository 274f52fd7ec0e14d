//! Capturing what an agent left: one walk of our own over the whole tree, git not asked, nothing opened that is no file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::base::Base;
use super::diff::PatchText;
use super::left::{Captured, ChangedPath, Content, IgnoredPath, Now};
use super::manifest::Entry;
use super::noted::Noted;
use super::reading::Reader;
use super::tree_digest::{Known, TreeDigest};
use super::tree_state::TreeState;
use super::{Workspace, WorkspaceError};
use proctor_model::{Oversize, Reason};

/// Most ignored paths that are listed.
const MAX_IGNORED: usize = 1_000;

impl Workspace {
    /// What is different from `before` (or, without it, from the base commit): every file, link and removal, told by our own
    /// walk. What the base commit's own rules ignore is only counted, unless `keep` wants the path; `.git` at the root is
    /// none of it, and a repository in the repository is its files.
    ///
    /// # Errors
    /// When the workspace is gone, or what was kept of the project cannot be read.
    pub fn capture(
        &self,
        before: Option<&Noted>,
        keep: &dyn Fn(&Path) -> bool,
    ) -> Result<Captured, WorkspaceError> {
        let base = Base::of(&self.shared);
        let seen = TreeState::look(self, &base, keep, i128::MAX)?;
        let mut capture = Capture {
            base: &base,
            digests: base.digests()?,
            before,
            reader: Reader::new(&self.root, &seen.now.linked),
            seen: &seen,
            digest: TreeDigest::default(),
            text: PatchText::default(),
            changed: Vec::new(),
            size: Oversize { paths: 0, bytes: 0 },
            odd: Vec::new(),
        };
        capture.all();
        Ok(capture.finish())
    }
}

struct Capture<'a> {
    base: &'a Base<'a>,
    digests: &'a BTreeMap<PathBuf, [u8; 32]>,
    before: Option<&'a Noted>,
    reader: Reader<'a>,
    seen: &'a TreeState,
    digest: TreeDigest,
    text: PatchText,
    changed: Vec<ChangedPath>,
    /// How much was changed so far.
    size: Oversize,
    odd: Vec<Reason>,
}

impl Capture<'_> {
    fn all(&mut self) {
        let seen = self.seen;
        let known: BTreeSet<&PathBuf> = match self.before {
            Some(before) => before.seen.now.entries.keys().collect(),
            None => self.base.files.keys().collect(),
        };
        let paths: BTreeSet<&PathBuf> = known.into_iter().chain(seen.now.entries.keys()).collect();
        for path in paths {
            match seen.now.entries.get(path) {
                Some(entry) => self.present(path, entry),
                None => self.push(path, Now::Removed),
            }
        }
        for path in &seen.nested {
            self.digest.special(path, "repository");
            if self
                .before
                .is_none_or(|before| !before.seen.nested.contains(path))
            {
                self.push(path, Now::Special("repository"));
            }
        }
        if seen.now.incomplete && self.before.is_none_or(|before| !before.seen.now.incomplete) {
            self.push(Path::new("."), Now::Special("cut"));
        }
    }

    fn present(&mut self, path: &Path, entry: &Entry) {
        let untouched = self.before.is_some_and(|before| before.knows(path, entry));
        match entry {
            Entry::Link { target } => {
                let target = target.as_encoded_bytes();
                self.digest.link(path, target);
                if !untouched && !self.was_link(path, target) {
                    self.push(path, Now::Link(target.to_vec()));
                }
            }
            Entry::Other { what } => {
                self.digest.special(path, what);
                if !untouched {
                    self.push(path, Now::Special(what));
                }
            }
            Entry::File {
                size, executable, ..
            } => {
                if untouched {
                    let known = self.known_before(path).or_else(|| self.reader.digest(path));
                    let known = known.map_or(Known::Size(*size), Known::Digest);
                    self.digest.file(path, *executable, known);
                } else {
                    self.file(path, *size);
                }
            }
        }
    }

    /// A file that may have been touched.
    fn file(&mut self, path: &Path, size: u64) {
        if self.is_oversize() {
            self.digest.file(path, false, Known::Size(size));
            self.size.paths += 1;
            self.size.bytes = self.size.bytes.saturating_add(size);
            return;
        }
        let Some(read) = self.reader.read(path) else {
            return self.push(path, Now::Removed);
        };
        let file = read.file;
        let known = file.sha256.map_or(Known::Size(file.size), Known::Digest);
        self.digest.file(path, file.executable, known);
        if let Some(odd) = read.odd {
            self.odd.push(Reason::at(odd, path));
        }
        let same = file.sha256.is_some()
            && file.sha256 == self.known_before(path)
            && Some(file.executable) == self.was_executable(path);
        match (same, read.odd_mode) {
            (false, _) => self.push(path, Now::File(file)),
            // Its bytes are those that the graders' tree has anyway.
            (true, true) => self.push(path, Now::Special("mode")),
            (true, false) => {}
        }
    }

    /// The digest of what stood at `path` before, as far as it was read or is the base commit's.
    fn known_before(&self, path: &Path) -> Option<[u8; 32]> {
        match self.before {
            Some(before) => match before.seen.now.entries.get(path)? {
                Entry::File {
                    sha256: Some(digest),
                    ..
                } => Some(*digest),
                // Older than the checkout: nobody but the checkout made it.
                Entry::File {
                    sha256: None, size, ..
                } => {
                    let piece = self.base.files.get(path)?;
                    (piece.length == *size).then(|| self.digests.get(path).copied())?
                }
                Entry::Link { .. } | Entry::Other { .. } => None,
            },
            None => self.digests.get(path).copied(),
        }
    }

    fn was_executable(&self, path: &Path) -> Option<bool> {
        match self.before {
            Some(before) => match before.seen.now.entries.get(path)? {
                Entry::File { executable, .. } => Some(*executable),
                Entry::Link { .. } | Entry::Other { .. } => None,
            },
            None => self.base.executable(path),
        }
    }

    fn was_link(&self, path: &Path, target: &[u8]) -> bool {
        match self.before {
            Some(before) => matches!(before.seen.now.entries.get(path),
                Some(Entry::Link { target: then }) if then.as_encoded_bytes() == target),
            None => self.base.link(path).is_some_and(|then| then == target),
        }
    }

    const fn is_oversize(&self) -> bool {
        self.size.paths > Oversize::MAX_PATHS || self.size.bytes > Oversize::MAX_BYTES
    }

    fn push(&mut self, path: &Path, now: Now) {
        match &now {
            Now::Removed => {}
            Now::File(file) => {
                self.size.paths += 1;
                self.size.bytes = self.size.bytes.saturating_add(file.size);
            }
            Now::Link(_) | Now::Special(_) => self.size.paths += 1,
        }
        if self.is_oversize() {
            return;
        }
        self.text.tell(self.base, path, &now);
        let was_there = match self.before {
            Some(before) => before.seen.now.entries.contains_key(path),
            None => self.base.files.contains_key(path),
        };
        self.changed.push(ChangedPath {
            path: path.to_owned(),
            is_new: !was_there,
            now,
        });
    }

    fn finish(mut self) -> Captured {
        let oversize = self.is_oversize().then_some(self.size);
        if oversize.is_some() {
            let files = self
                .changed
                .iter_mut()
                .filter_map(|one| match &mut one.now {
                    Now::File(file) => Some(file),
                    Now::Removed | Now::Link(_) | Now::Special(_) => None,
                });
            files.for_each(|file| file.content = Content::Lost("oversize".to_owned()));
        }
        Captured {
            oversize,
            ignored: self.ignored(),
            changed: self.changed,
            oddities: self.odd,
            patch: self.text.bytes,
            omitted: self.text.omitted,
            tree_sha256: self.digest.finish(),
        }
    }

    /// What changed among the ignored, by topmost path.
    fn ignored(&self) -> Vec<IgnoredPath> {
        let mut tops: BTreeMap<&PathBuf, IgnoredPath> = BTreeMap::new();
        for (path, entry) in &self.seen.ignored {
            let then = self.before.and_then(|before| before.seen.ignored.get(path));
            if then == Some(entry) {
                continue;
            }
            let top = self.seen.tops.range::<PathBuf, _>(..=path).next_back();
            let top = top.filter(|top| path.starts_with(top)).unwrap_or(path);
            let size = match entry {
                Entry::File { size, .. } => *size,
                Entry::Link { .. } | Entry::Other { .. } => 0,
            };
            let counted = tops.entry(top).or_insert_with(|| IgnoredPath {
                path: top.clone(),
                files: 0,
                bytes: 0,
            });
            counted.files += 1;
            counted.bytes = counted.bytes.saturating_add(size);
        }
        tops.into_values().take(MAX_IGNORED).collect()
    }
}
