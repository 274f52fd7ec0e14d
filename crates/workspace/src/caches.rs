//! Folders and files of tools that are no work.

use std::path::Path;

/// Folders and files that test runners and interpreters leave wherever they run. They are no work of an agent's, unless the base
/// commit tracks them.
const CACHES: [&str; 8] = [
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".nyc_output",
    ".DS_Store",
    ".eslintcache",
];

/// Whether a path is that of a cache, or lies in one.
#[must_use]
pub fn is_cache(path: &Path) -> bool {
    path.iter()
        .any(|part| CACHES.iter().any(|cache| part == *cache))
}
