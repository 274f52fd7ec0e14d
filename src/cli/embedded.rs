//! The default suite that is built into the program, for a person without a suite of their own.

use std::io::{self, Write};
use std::path::Path;

/// One file of the suite.
struct EmbeddedFile {
    /// Relative to the suite's folder.
    path: &'static str,
    executable: bool,
    bytes: &'static [u8],
}

/// Made by `build.rs`.
const FILES: &[EmbeddedFile] = include!(concat!(env!("OUT_DIR"), "/embedded_suite.rs"));

/// Whether there is one in this build.
pub(super) fn is_there() -> bool {
    !FILES.is_empty()
}

/// Writes the suite's files below `folder`, which must not hold any of them.
///
/// # Errors
/// The file that could not be written.
pub(super) fn unpack(folder: &Path) -> io::Result<()> {
    for file in FILES {
        let path = folder.join(file.path);
        write(&path, file).map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
    }
    Ok(())
}

fn write(path: &Path, file: &EmbeddedFile) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(if file.executable { 0o755 } else { 0o644 });
    }
    options.open(path)?.write_all(file.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_is_unpacked_as_it_is_in_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        unpack(folder.path()).unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        for name in ["config.yaml", "tasks.yaml"] {
            let unpacked = std::fs::read(folder.path().join(name)).unwrap();
            assert_eq!(
                unpacked,
                std::fs::read(source.join(name)).unwrap(),
                "{name}"
            );
        }
        assert!(folder.path().join("task_assets").is_dir());
        assert!(unpack(folder.path()).is_err(), "nothing is written over");
    }
}
