//! Files of JSON lines that grow line by line, each on disk when it is told.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::record::error::Doing as _;
use crate::record::{RecordError, private};

/// Appends a line and waits for the disk; makes the file and its folder, mode 0600 and 0700, where they are missing. After
/// a line that was cut it begins a new one.
///
/// # Errors
/// When it is not on disk.
pub fn append_line(path: &Path, line: &str) -> Result<(), RecordError> {
    if let Some(folder) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
        private::ensure_dir(folder)?;
    }
    let mut file = private::append_file(path)?;
    let start = if is_cut(path).doing("read", path)? {
        "\n"
    } else {
        ""
    };
    file.write_all(format!("{start}{line}\n").as_bytes())
        .doing("append to", path)?;
    file.sync_data().doing("sync", path)
}

/// All of such a file, and nothing where there is none.
///
/// # Errors
/// It is there and cannot be read.
pub fn read_appended(path: &Path) -> io::Result<Vec<u8>> {
    match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        bytes => bytes,
    }
}

/// The lines that hold something, each with its number from 1. They are bytes: a line may be cut within a letter.
pub fn numbered_lines(bytes: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let lines = (1..).zip(bytes.split(|byte| *byte == b'\n'));
    lines.filter(|(_, line)| !line.trim_ascii().is_empty())
}

/// Whether the last line has no end.
fn is_cut(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_after_a_cut_one_stands_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/lines.jsonl");
        append_line(&path, "1").expect("a line");
        append_line(&path, "2").expect("a line");
        let text = std::fs::read_to_string(&path).expect("the file");
        assert_eq!(text, "1\n2\n");
        std::fs::write(&path, "1\n{\"cu").expect("the file");
        append_line(&path, "3").expect("a line");
        let text = std::fs::read_to_string(&path).expect("the file");
        assert_eq!(text, "1\n{\"cu\n3\n");
    }

    #[test]
    fn lines_keep_their_numbers_beside_blank_ones_and_a_missing_file_has_none() {
        let lines = numbered_lines(b"a\r\n\n \nb\xe2");
        assert_eq!(lines.collect::<Vec<_>>(), [(1, &b"a\r"[..]), (4, b"b\xe2")]);
        let folder = tempfile::tempdir().expect("a folder");
        let missing = read_appended(&folder.path().join("lines.jsonl"));
        assert_eq!(missing.expect("nothing"), b"");
        assert!(read_appended(folder.path()).is_err(), "a folder is no file");
    }
}
