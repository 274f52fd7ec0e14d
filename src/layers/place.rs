//! Paths that a call names, and the globs that forbid some.

use globset::{GlobBuilder, GlobMatcher};

/// A path that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// As it is written.
    pub path: String,
    /// What of it is reached, should it be a folder.
    pub depth: Depth,
}

/// What of a folder is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// Itself alone: the text may be no path at all.
    Itself,
    /// What lies right in it, as a listing shows.
    Entries,
    /// All below it, as a removal takes.
    All,
}

/// A glob for paths: one that does not begin at the root fits at any depth.
#[derive(Debug, Clone)]
pub struct PathRule {
    glob: GlobMatcher,
    /// The folder of which it forbids every entry.
    folder: Option<GlobMatcher>,
    /// The folders that hold what it forbids.
    above: Vec<GlobMatcher>,
}

impl PathRule {
    /// Reads a glob.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn new(written: &str) -> Result<Self, String> {
        let anywhere = if written.starts_with('/') {
            written.to_owned()
        } else {
            format!("**/{}", written.trim_start_matches("./"))
        };
        let mut above = Vec::new();
        let mut folder = None;
        let mut rest = anywhere.as_str();
        while let Some((parent, last)) = parent(rest) {
            if !names_something(parent) {
                break;
            }
            // A parent that is no glob by itself, such as half of a brace, is left out.
            let built = glob(parent).ok();
            let every = matches!(last, "*" | "**");
            if every && rest == anywhere {
                folder.clone_from(&built);
            }
            above.extend(built);
            rest = parent;
        }
        Ok(Self {
            glob: glob(&anywhere)?,
            folder,
            above,
        })
    }

    /// Whether it forbids what was touched.
    #[must_use]
    pub fn fits(&self, touched: &Touched) -> bool {
        // Only a folder is written with a slash behind it.
        let named = if touched.path.ends_with('/') {
            Depth::Entries
        } else {
            Depth::Itself
        };
        let depth = touched.depth.max(named);
        candidates(&touched.path).any(|path| {
            let fits = |glob: &GlobMatcher| glob.is_match(&path);
            fits(&self.glob)
                || depth >= Depth::Entries && self.folder.as_ref().is_some_and(fits)
                || depth == Depth::All && self.above.iter().any(fits)
        })
    }

    /// As it was written, but for what lets it fit at any depth.
    #[must_use]
    pub fn written(&self) -> &str {
        let glob = self.glob.glob().glob();
        glob.strip_prefix("**/").unwrap_or(glob)
    }
}

impl PartialEq for PathRule {
    fn eq(&self, other: &Self) -> bool {
        self.glob.glob() == other.glob.glob()
    }
}

fn glob(text: &str) -> Result<GlobMatcher, String> {
    let built = GlobBuilder::new(text).literal_separator(true).build();
    built
        .map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}

/// A glob without its last name, and that name.
fn parent(glob: &str) -> Option<(&str, &str)> {
    let (parent, last) = glob.rsplit_once('/')?;
    Some((
        if parent.is_empty() && glob != "/" {
            "/"
        } else {
            parent
        },
        last,
    ))
}

/// Whether a glob is more than any folder.
fn names_something(glob: &str) -> bool {
    glob == "/" || glob.split('/').any(|name| !matches!(name, "" | "*" | "**"))
}

/// What a text may name: itself, and what stands beside `=`, `:` or `,` in it, as in `--file=x`, `HEAD:x` and `-v x:y`.
fn candidates(text: &str) -> impl Iterator<Item = String> {
    let text = text.strip_prefix("file://").unwrap_or(text);
    let is_path = !text.contains("://") && !text.contains('\n');
    let pieces = text
        .split(['=', ':', ','])
        .filter(move |piece| *piece != text);
    let all = std::iter::once(text).chain(pieces).filter(move |_| is_path);
    all.map(|piece| plain_path(piece.strip_prefix('@').unwrap_or(piece)))
}

/// A path without `.`, `..` and repeated slashes, as far as its text tells.
fn plain_path(text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            // The root is its own parent.
            ".." if text.starts_with('/') => {}
            part => parts.push(part),
        }
    }
    let root = if text.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}
