//! Files of JSON lines that grow line by line, each on disk when it is told.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use crate::error::Doing as _;
use crate::{RecordError, private};

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
    // Another process may be in the middle of a line. Where a file system gives no locks, each line is one write all the same.
    file.lock().ok();
    let start = if is_cut(path).doing("read", path)? {
        "\n"
    } else {
        ""
    };
    file.write_all(format!("{start}{line}\n").as_bytes())
        .doing("append to", path)?;
    file.sync_data().doing("sync", path)
}

/// Such a file from this place on, and nothing where there is none.
///
/// # Errors
/// It is there and cannot be read.
pub fn read_appended(path: &Path, from: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(bytes),
        file => file?,
    };
    file.seek(SeekFrom::Start(from))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
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
        let missing = read_appended(&folder.path().join("lines.jsonl"), 0);
        assert_eq!(missing.expect("nothing"), b"");
        assert!(
            read_appended(folder.path(), 0).is_err(),
            "a folder is no file"
        );
    }

    #[test]
    fn a_line_waits_until_another_process_has_ended_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("lines.jsonl");
        append_line(&path, "1").expect("a line");
        let mut other = File::options().append(true).open(&path).expect("the file");
        other.lock().expect("a lock");
        other.write_all(b"{\"two").expect("half a line");
        std::thread::scope(|scope| {
            let second = scope.spawn(|| append_line(&path, "3"));
            std::thread::sleep(std::time::Duration::from_millis(200));
            other.write_all(b"\": 2}\n").expect("the other half");
            other.unlock().expect("no lock");
            second.join().expect("an end").expect("a line");
        });
        let text = std::fs::read_to_string(&path).expect("the file");
        assert_eq!(text, "1\n{\"two\": 2}\n3\n");
    }
}
