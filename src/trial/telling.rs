//! Changes that honest work makes, too, and that are told since a cheat may hide in them.

use std::path::Path;

use crate::graders::{changed_test_config, says_how_tests_run};
use crate::workspace::{ChangedPath, Now, named};

/// Folders that hold what others wrote, test runners among it. Where the base commit does not ignore them, they are carried.
const DEPENDENCIES: [&str; 6] = [
    "node_modules",
    "site-packages",
    ".venv",
    "venv",
    "vendor",
    "DerivedData",
];

/// Names the first change among installed dependencies: honest work installs some, and a cheat writes a runner there.
pub(super) fn changed_dependencies<'a>(
    mut carried: impl Iterator<Item = &'a ChangedPath>,
) -> Option<String> {
    let installed = |path: &Path| {
        let mut parts = path.components();
        parts.any(|part| DEPENDENCIES.iter().any(|name| part.as_os_str() == *name))
    };
    let first = carried.find(|one| installed(&one.path))?;
    Some(format!("dependencies_changed:{}", named(&first.path)))
}

/// What of a file that also says how tests run was changed in just that; `base` tells what a file of the base commit held.
pub(super) fn reconfigured(
    one: &ChangedPath,
    base: &dyn Fn(&Path) -> Option<Vec<u8>>,
) -> Option<String> {
    /// No manifest that people write comes near this.
    const LONGEST: u64 = 1 << 20;
    let path = one.path.as_path();
    if !says_how_tests_run(path) {
        return None;
    }
    let unread = || vec!["unreadable".to_owned()];
    let before = base(path);
    let keys = match &one.now {
        Now::Removed => changed_test_config(path, before.as_deref(), None),
        Now::File(file) => file.content.bytes(LONGEST).map_or_else(unread, |now| {
            changed_test_config(path, before.as_deref(), Some(&now))
        }),
        Now::Link(_) | Now::Special(_) => unread(),
    };
    let key = keys.first()?;
    let more = match keys.len() - 1 {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (path, key) = (named(path), named(Path::new(key)));
    Some(format!("test_config_changed:{path}:{key}{more}"))
}
