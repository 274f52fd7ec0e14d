//! Headers that compilers have of their own: by standards, and on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Headers of C23, of POSIX.1-2024 and of C++23, as they are included.
const STANDARD: &str = include_str!("headers.txt");
/// Where compilers look by themselves.
const FOLDERS: [&str; 3] = [
    "/usr/include",
    "/usr/local/include",
    "/opt/homebrew/include",
];
/// Where each folder is another part of that: of the machine's kind, and of each version.
const INSIDE: [(&str, &str); 3] = [
    ("/usr/include", ""),
    ("/usr/include/c++", ""),
    ("/usr/lib/gcc", "include"),
];

/// Whether compilers find a header of this name without being told where.
pub(super) fn is_of_system(name: &Path) -> bool {
    static THERE: OnceLock<Vec<PathBuf>> = OnceLock::new();
    let there = THERE.get_or_init(folders);
    let is_standard = STANDARD.lines().any(|known| Path::new(known) == name);
    is_standard || there.iter().any(|folder| folder.join(name).is_file())
}

fn folders() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = FOLDERS.iter().map(PathBuf::from).collect();
    for (folder, end) in INSIDE {
        let is_part = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            folder != "/usr/include" || name.is_some_and(|name| name.contains("-linux-"))
        };
        let parts = below(Path::new(folder)).into_iter().filter(is_part);
        if end.is_empty() {
            found.extend(parts);
        } else {
            // `KIND/VERSION/include`.
            let versions = parts.flat_map(|kind| below(&kind));
            found.extend(versions.map(|version| version.join(end)));
        }
    }
    found
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_standards_are_known_on_any_machine() {
        for (name, known) in [
            ("stdio.h", true),
            ("sys/types.h", true),
            ("vector", true),
            ("types.h", false),
            ("sol/stdio.h", false),
            ("sol.h", false),
        ] {
            assert_eq!(is_of_system(Path::new(name)), known, "{name}");
        }
    }
}
