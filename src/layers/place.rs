//! Paths that a call names, and the globs that forbid some.

use globset::{GlobBuilder, GlobMatcher};

/// A path that a call names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// As it is written.
    pub path: String,
    /// What of it is reached, should it be a folder.
    pub depth: Depth,
    /// Whether a shell makes names of the wildcards in it.
    pub expands: bool,
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
    /// The folder of what it forbids, where it is named.
    beside: Option<GlobMatcher>,
    /// What it forbids, where that has no wildcard.
    name: Option<String>,
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
        let mut beside = None;
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
            if rest == anywhere {
                beside.clone_from(&built);
            }
            above.extend(built);
            rest = parent;
        }
        Ok(Self {
            glob: glob(&anywhere)?,
            folder,
            above,
            beside,
            name: (!is_wild(written) && !written.contains('{')).then(|| plain_path(written)),
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
                || touched.expands && is_wild(&path) && self.fits_names(&path, depth)
        })
    }

    /// Whether a path with wildcards can become what is forbidden: all that a folder holds, which is named, or a name of
    /// which a part is written.
    fn fits_names(&self, path: &str, depth: Depth) -> bool {
        let Some((folder, "*" | "**")) = parent(path) else {
            let name = self.name.as_deref();
            return name.is_some_and(|name| becomes(path, name));
        };
        let fits = |glob: &GlobMatcher| glob.is_match(folder);
        names_something(folder)
            && (self.beside.as_ref().is_some_and(fits)
                || depth == Depth::All && self.above.iter().any(fits))
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

fn is_wild(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether a path with wildcards may become `name`, at any depth unless that begins with `/`.
fn becomes(path: &str, name: &str) -> bool {
    let (mut written, mut names) = (path.rsplit('/'), name.rsplit('/'));
    let is_open = |text: &str| text.chars().all(|letter| matches!(letter, '*' | '?'));
    if written.clone().next().is_none_or(is_open) {
        return false;
    }
    let fits = names.all(|name| written.next().is_some_and(|it| expands_to(it, name)));
    fits && (!name.starts_with('/') || written.next().is_none())
}

/// Whether one name with wildcards may become another. A bracket counts as any letter.
fn expands_to(written: &str, name: &str) -> bool {
    if name.starts_with('.') && !written.starts_with('.') {
        return false;
    }
    let (mut rest, mut left) = (written, name);
    // Where the last `*` stood, and what it has not taken yet.
    let mut last: Option<(&str, &str)> = None;
    loop {
        let mut after = rest.chars();
        let mut further = left.chars();
        let (sign, letter) = (after.next(), further.next());
        let fits = match sign {
            Some('*') => {
                last = Some((after.as_str(), left));
                rest = after.as_str();
                continue;
            }
            None => letter.is_none(),
            Some('[') => {
                let end = after.as_str().find(']');
                after = after.as_str()[end.map_or(0, |end| end + 1)..].chars();
                letter.is_some()
            }
            Some('?') => letter.is_some(),
            sign => sign == letter,
        };
        if fits && letter.is_none() {
            return true;
        }
        if fits {
            (rest, left) = (after.as_str(), further.as_str());
            continue;
        }
        let Some((pattern, taken)) = last else {
            return false;
        };
        let mut taken = taken.chars();
        if taken.next().is_none() {
            return false;
        }
        last = Some((pattern, taken.as_str()));
        (rest, left) = (pattern, taken.as_str());
    }
}

/// What a text may name: itself, and what stands beside `=`, `:` or `,` in it, as in `--file=x`, `HEAD:x` and `-v x:y`.
fn candidates(text: &str) -> impl Iterator<Item = String> {
    let text = text.strip_prefix("file://").unwrap_or(text);
    let is_path = !text.contains("://") && !text.contains('\n');
    let pieces = text
        .split(['=', ':', ','])
        .filter(move |piece| *piece != text);
    // `{a,b}` is one of them.
    let pieces = pieces.map(|piece| piece.trim_matches(['{', '}']));
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
