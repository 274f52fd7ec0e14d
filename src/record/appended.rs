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
}
