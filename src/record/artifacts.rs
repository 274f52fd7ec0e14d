//! Seals what a trial left: every file and its name are on disk, and their digests are listed, before a row names them.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::failpoints::reach;
use crate::record::error::Doing as _;
use crate::record::{RecordError, TrialDir, private};

impl TrialDir {
    /// Lists the digest of every file of the trial in `SHA256SUMS`, in the form that `sha256sum -c` reads, waits until
    /// all of it is on disk, and gives the digest of that list. Links and special files are not followed and not listed.
    ///
    /// # Errors
    /// When a file cannot be read or synced, or the list cannot be written.
    pub fn sum_up(&self) -> Result<String, RecordError> {
        let mut list = String::new();
        for path in self.listed()? {
            let sum = sum_and_sync(&path).doing("sync", &path)?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            writeln!(list, "{sum}  {name}").expect("a text takes what is written to it");
        }
        private::write_synced(&self.sums(), list.as_bytes())?;
        self.sync_names()?;
        Ok(digest(list.as_bytes()))
    }

    /// Waits until the files of the trial are on disk; their names are when these are synced.
    pub(super) fn sync_files(&self) -> Result<(), RecordError> {
        self.listed()?.iter().try_for_each(|path| {
            reach("artifacts.early")
                .and_then(|()| open_plain(path)?.sync_data())
                .doing("sync", path)
        })
    }

    fn listed(&self) -> Result<Vec<PathBuf>, RecordError> {
        let mut names = Vec::new();
        for entry in fs::read_dir(self.root()).doing("list", self.root())? {
            let entry = entry.doing("list", self.root())?;
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            let name = entry.file_name();
            if is_file && name != "SHA256SUMS" && name.to_str().is_some_and(is_plain) {
                names.push(entry.path());
            }
        }
        names.sort();
        Ok(names)
    }

    /// The names in the folder, its own in `trials`, and that one's in the run.
    pub(super) fn sync_names(&self) -> Result<(), RecordError> {
        for folder in self.root().ancestors().take(3) {
            reach("artifacts.folder").doing("sync", folder)?;
            private::sync_dir(folder)?;
        }
        Ok(())
    }

    /// Digest of the prompt as it was given; absent where none was written.
    #[must_use]
    pub fn prompt_digest(&self) -> Option<String> {
        digest_of_file(&self.prompt()).ok()
    }
}

/// The digest of a journal line, without its newline, as the next row names it; of a list, as its row does.
pub(super) fn digest(line: &[u8]) -> String {
    hex(&Sha256::digest(line))
}

/// Whether a name of the list is that of a file in the trial's own folder.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.contains(['/', '\n', '\r', '\\']) && name != "." && name != ".."
}

/// Digest of a regular file; anything else is an error and never opened.
pub(super) fn digest_of_file(path: &Path) -> io::Result<String> {
    sum(&mut open_plain(path)?)
}

/// Digest of a file that the operator named, as `sha256:` and hex digits; links are followed.
///
/// # Errors
/// When it cannot be read, or is no regular file.
pub fn digest_of(path: &Path) -> io::Result<String> {
    let real = path.canonicalize()?;
    digest_of_file(&real).map(|sum| format!("sha256:{sum}"))
}

/// Digest of a text, in the same form.
#[must_use]
pub fn text_digest(text: &str) -> String {
    format!("sha256:{}", digest(text.as_bytes()))
}

fn sum_and_sync(path: &Path) -> io::Result<String> {
    let mut file = open_plain(path)?;
    let sum = sum(&mut file)?;
    reach("artifacts.sync")?;
    file.sync_data()?;
    Ok(sum)
}

fn open_plain(path: &Path) -> io::Result<File> {
    if !path.symlink_metadata()?.is_file() {
        return Err(io::Error::other("no regular file"));
    }
    File::open(path)
}

fn sum(file: &mut File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hasher.finalize())),
            count => hasher.update(&buffer[..count]),
        }
    }
}

fn hex(digest: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in digest {
        write!(text, "{byte:02x}").expect("a text takes what is written to it");
    }
    text
}
