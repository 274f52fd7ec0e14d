//! Lists of what pip installs: which of their lines name something else than a package of the index.

use std::collections::BTreeMap;
use std::path::Path;

/// Options that lead elsewhere, with their short forms.
#[rustfmt::skip]
const LEADS: [&str; 9] = [
    "-e", "--editable", "-f", "--find-links", "-i", "--index-url", "--pypi-url", "--extra-index-url", "--trusted-host",
];

/// Options that read a further list.
const READS: [&str; 4] = ["-r", "--requirement", "-c", "--constraint"];

/// How files end that are installed as they lie there.
const ARCHIVES: [&str; 6] = [".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz"];

/// How such lists end.
const ENDINGS: [&str; 2] = ["txt", "in"];

/// Whether a file may be such a list, by its ending.
pub(super) fn may_be_requirements(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Whether a file is such a list, by its name or that of its folder.
pub(super) fn is_requirements(path: &Path) -> bool {
    let text = |part: Option<&std::ffi::OsStr>| {
        part.map_or(String::new(), |part| part.to_string_lossy().into_owned())
    };
    let name = text(path.file_name());
    let folder = text(path.parent().and_then(Path::file_name));
    let words = ["requirements", "constraints"];
    let is_named = |name: &str| words.iter().any(|word| name.contains(word));
    may_be_requirements(path) && (is_named(&name) || is_named(&folder))
}

/// The lines of the list at `path` that lead elsewhere: to a path, an address, a folder to look in, another index.
pub(super) fn redirected(path: &Path, text: &str) -> BTreeMap<String, String> {
    let whole = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let lines = whole.lines().map(str::trim);
    let lines = lines.filter(|line| leads_elsewhere(path, line));
    lines.map(|line| (line.to_owned(), String::new())).collect()
}

fn leads_elsewhere(path: &Path, line: &str) -> bool {
    let line = line.split(" #").next().unwrap_or(line);
    if line.starts_with('#') {
        return false;
    }
    let value = |option: &&str| {
        let rest = line.strip_prefix(option)?;
        // A short option needs no blank.
        let ends = rest.is_empty() || rest.starts_with([' ', '\t', '=']) || option.len() == 2;
        ends.then(|| rest.trim_start_matches([' ', '\t', '=']).trim_end())
    };
    if let Some(list) = READS.iter().find_map(value) {
        return !is_requirements(&path.with_file_name("").join(list));
    }
    if line.starts_with('-') {
        return LEADS.iter().any(|option| value(option).is_some());
    }
    let plain = line.split(';').next().unwrap_or(line);
    let plain = plain.split(" --").next().unwrap_or(plain).trim();
    let plain = plain.to_ascii_lowercase();
    plain.contains(['/', '\\', '@', ':'])
        || plain.starts_with('.')
        || ARCHIVES.iter().any(|ending| plain.ends_with(ending))
}
