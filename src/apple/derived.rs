//! What builds of a trial leave in the operator's own derived data.

use std::fs;
use std::path::Path;

/// A list of properties that is larger is not read.
const MOST_BYTES: u64 = 1 << 20;

/// Removes derived data below `home` whose project lay below `scratch` and is gone: builds without `-derivedDataPath` leave it, for
/// each workspace anew.
pub fn sweep_derived_data(home: &Path, scratch: &Path) {
    let all = home.join("Library/Developer/Xcode/DerivedData");
    let folders = fs::read_dir(all).into_iter().flatten().flatten();
    for folder in folders.map(|entry| entry.path()) {
        if is_over(&folder, scratch) {
            let removed = fs::remove_dir_all(&folder);
            tracing::debug!(folder = %folder.display(), ?removed, "removed derived data");
        }
    }
}

fn is_over(folder: &Path, scratch: &Path) -> bool {
    let plist = folder.join("info.plist");
    let is_small = plist
        .symlink_metadata()
        .is_ok_and(|about| about.is_file() && about.len() < MOST_BYTES);
    let text = is_small.then(|| fs::read_to_string(&plist).ok()).flatten();
    let text = text.unwrap_or_default();
    let path = text
        .split_once("<key>WorkspacePath</key>")
        .and_then(|(_, rest)| {
            let inner = rest.split_once("<string>")?.1;
            Some(inner.split_once("</string>")?.0)
        });
    path.is_some_and(|path| Path::new(path).starts_with(scratch) && !Path::new(path).exists())
}
