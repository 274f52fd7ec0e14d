//! What is in a folder, by our own eyes: nothing that an agent wrote is asked, followed or executed.

use std::collections::BTreeMap;
use std::ffi::{CStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags};
use sha2::{Digest, Sha256};

use super::descent::{Descent, Named, as_path};

/// Regular files over this many bytes (as they seem: holes count) are noted by size, not read.
pub const MAX_READ_BYTES: u64 = 1 << 30;
/// A walk ends after this many entries.
pub const MAX_ENTRIES: usize = 1_000_000;
/// Folders deeper than this are noted, not entered.
pub const MAX_DEPTH: usize = 256;
/// How many oddities are told one by one.
const MAX_ODDITIES: usize = 20;

/// Everything in a folder but folders themselves, by path from that folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// What is where.
    pub entries: BTreeMap<PathBuf, Entry>,
    /// What could not be looked at, and why; whole sentences.
    pub oddities: Vec<String>,
}

/// What stands at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File {
        /// Bytes, as it seems.
        size: u64,
        /// SHA-256 of its bytes; absent when it was not read, because of its size or because nobody asked.
        sha256: Option<[u8; 32]>,
        /// Whether its owner may execute it.
        executable: bool,
        /// Time of its last change as the file system keeps it, in nanoseconds; only where the content was not read.
        changed_ns: Option<i128>,
    },
    /// A symbolic link.
    Link {
        /// Where it points, as written.
        target: OsString,
    },
    /// Neither file, link nor folder, or something that may not be read.
    Other {
        /// `fifo`, `socket`, `block_device`, `char_device`, `unreadable`, `mount`, `too_deep` or `unknown`.
        what: &'static str,
    },
}

/// What a walk does about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// Leaves it out; a folder is not entered.
    Skip,
    /// Notes it, without reading it.
    Note,
    /// Notes it and reads it.
    Read,
}

/// How one path differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Path from the folder's root.
    pub path: PathBuf,
    /// What happened to it.
    pub kind: ChangeKind,
}

/// What happened to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is another type, has other bytes, another target or another executable bit.
    Modified,
    /// It is gone.
    Removed,
}

/// Everything in `root`, every file read. `.git` at the root is left out; others are files like any.
///
/// # Errors
/// When `root` itself cannot be opened; whatever is odd below it is told in the manifest.
pub fn manifest(root: &Path) -> io::Result<Manifest> {
    survey(root, &|_, _| Care::Read)
}

/// The same after work was done: files that `before` does not know are noted and not read.
///
/// # Errors
/// When `root` itself cannot be opened.
pub fn manifest_since(root: &Path, before: &Manifest) -> io::Result<Manifest> {
    survey(root, &|path, folder| {
        if folder || before.entries.contains_key(path) {
            Care::Read
        } else {
            Care::Note
        }
    })
}

/// What is in `root`, as far as `care` (path, whether it is a folder) wants it. Never follows a link, never opens what
/// is not a regular file, never blocks.
///
/// # Errors
/// When `root` itself cannot be opened.
pub fn survey(root: &Path, care: &dyn Fn(&Path, bool) -> Care) -> io::Result<Manifest> {
    let mut survey = Survey {
        descent: Descent::start(root)?,
        manifest: Manifest::default(),
        care,
        buffer: Vec::new(),
    };
    survey.walk()?;
    Ok(survey.manifest)
}

/// What changed between two manifests, sorted by path.
#[must_use]
pub fn changes(before: &Manifest, after: &Manifest) -> Vec<Change> {
    let change = |path: &PathBuf, kind| Change {
        path: path.clone(),
        kind,
    };
    let gone = before
        .entries
        .keys()
        .filter(|path| !after.entries.contains_key(*path))
        .map(|path| change(path, ChangeKind::Removed));
    let other = after
        .entries
        .iter()
        .filter_map(|(path, entry)| match before.entries.get(path) {
            None => Some(change(path, ChangeKind::Added)),
            Some(known) if known.differs_from(entry) => Some(change(path, ChangeKind::Modified)),
            Some(_) => None,
        });
    let mut all: Vec<Change> = gone.chain(other).collect();
    all.sort();
    all
}

impl Entry {
    /// Whether two looks at a path saw different things; content decides where both looks read it.
    #[must_use]
    pub fn differs_from(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::File {
                    size,
                    sha256: Some(digest),
                    executable,
                    ..
                },
                Self::File {
                    size: other_size,
                    sha256: Some(other_digest),
                    executable: other_executable,
                    ..
                },
            ) => size != other_size || digest != other_digest || executable != other_executable,
            _ => self != other,
        }
    }
}

struct Survey<'a> {
    descent: Descent,
    manifest: Manifest,
    care: &'a dyn Fn(&Path, bool) -> Care,
    buffer: Vec<u8>,
}

impl Survey<'_> {
    fn walk(&mut self) -> io::Result<()> {
        let mut pending = vec![self.visit()?];
        while let Some(folders) = pending.last_mut() {
            if let Some(folder) = folders.pop() {
                if self.enter(&folder) {
                    pending.push(self.visit_or_tell());
                }
            } else {
                pending.pop();
                if let Err(error) = self.descent.leave() {
                    self.odd(format!("the walk ended early: {error}"));
                    return Ok(());
                }
            }
            if self.manifest.entries.len() >= MAX_ENTRIES {
                self.odd(format!("the walk ended after {MAX_ENTRIES} entries"));
                return Ok(());
            }
        }
        Ok(())
    }

    fn visit_or_tell(&mut self) -> Vec<Named> {
        self.visit().unwrap_or_else(|error| {
            self.odd(format!("a folder could not be listed: {error}"));
            Vec::new()
        })
    }

    /// Notes what is in the current folder, and gives the folders in it that are to be entered.
    fn visit(&mut self) -> io::Result<Vec<Named>> {
        let mut folders = Vec::new();
        let at_root = self.descent.depth() == 0;
        for named in self.descent.names()? {
            if at_root && named.name.to_bytes() == b".git" {
                continue;
            }
            let path = self.descent.path_of(&named.name);
            let Ok(kind) = self.descent.kind_of(&named) else {
                continue;
            };
            match (self.care)(as_path(&path), kind == FileType::Directory) {
                Care::Skip => {}
                _ if kind == FileType::Directory => folders.push(named),
                care => self.note(path, &named, (kind, care)),
            }
            if self.manifest.entries.len() >= MAX_ENTRIES {
                return Ok(Vec::new());
            }
        }
        folders.sort_by(|one, other| other.name.cmp(&one.name));
        Ok(folders)
    }

    fn enter(&mut self, folder: &Named) -> bool {
        let what = if self.descent.depth() >= MAX_DEPTH {
            "too_deep"
        } else {
            match self.descent.enter(&folder.name) {
                Ok(()) => return true,
                Err(rustix::io::Errno::XDEV) => "mount",
                Err(_) => "unreadable",
            }
        };
        let path = self.descent.path_of(&folder.name);
        self.odd(format!("folder {} is {what}", shown(&path)));
        self.keep(path, Entry::Other { what });
        false
    }

    fn note(&mut self, path: Vec<u8>, named: &Named, (kind, care): (FileType, Care)) {
        let entry = match kind {
            FileType::RegularFile => self.regular(&named.name, care),
            FileType::Symlink => self.link(&named.name),
            other => Ok(Entry::Other {
                what: special(other),
            }),
        };
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => {
                self.odd(format!("{} cannot be read: {error}", shown(&path)));
                Entry::Other { what: "unreadable" }
            }
        };
        if let Entry::File {
            size, sha256: None, ..
        } = entry
            && care == Care::Read
        {
            self.odd(format!(
                "{} has {size} bytes: its content was not read",
                shown(&path)
            ));
        }
        self.keep(path, entry);
    }

    fn regular(&mut self, name: &CStr, care: Care) -> io::Result<Entry> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let opened = rustix::fs::openat(self.descent.here()?, name, flags, Mode::empty())?;
        let mut file = File::from(opened);
        let about = file.metadata()?;
        if !about.is_file() {
            return Ok(Entry::Other { what: "unknown" });
        }
        let sha256 = if care == Care::Read && about.len() <= MAX_READ_BYTES {
            Some(digest(&mut file, &mut self.buffer)?)
        } else {
            None
        };
        Ok(Entry::File {
            size: about.len(),
            sha256,
            executable: about.mode() & 0o100 != 0,
            changed_ns: sha256.is_none().then(|| {
                i128::from(about.ctime()) * 1_000_000_000 + i128::from(about.ctime_nsec())
            }),
        })
    }

    fn link(&self, name: &CStr) -> io::Result<Entry> {
        let target = rustix::fs::readlinkat(self.descent.here()?, name, Vec::new())?;
        Ok(Entry::Link {
            target: OsString::from_vec(target.into_bytes()),
        })
    }

    fn keep(&mut self, path: Vec<u8>, entry: Entry) {
        let path = PathBuf::from(OsString::from_vec(path));
        self.manifest.entries.insert(path, entry);
    }

    fn odd(&mut self, sentence: String) {
        if self.manifest.oddities.len() < MAX_ODDITIES {
            self.manifest.oddities.push(sentence);
        }
    }
}

/// SHA-256 of at most `MAX_READ_BYTES` bytes: a file that grows while it is read cannot hold us.
fn digest(file: &mut File, buffer: &mut Vec<u8>) -> io::Result<[u8; 32]> {
    buffer.resize(64 << 10, 0);
    let mut hasher = Sha256::new();
    let mut left = MAX_READ_BYTES + 1;
    while left > 0 {
        let read = match file.read(buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        hasher.update(&buffer[..read]);
        left = left.saturating_sub(read as u64);
    }
    Ok(hasher.finalize().into())
}

const fn special(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "fifo",
        FileType::Socket => "socket",
        FileType::BlockDevice => "block_device",
        FileType::CharacterDevice => "char_device",
        _ => "unknown",
    }
}

/// A path for a message: escaped, and cut where an agent made it absurdly long.
pub(super) fn shown(path: &[u8]) -> String {
    let text = path.escape_ascii().to_string();
    match text.char_indices().nth(200) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text,
    }
}
