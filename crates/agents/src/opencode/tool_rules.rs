//! Rules of opencode on tools: which of them takes a tool away.

/// A rule: its key, the names of tools that it speaks of, and whether it takes them.
pub(super) type Rule = (String, String, bool);

/// The key of the last rule that takes a tool whose name begins so; a later one that gives all of them back undoes it.
pub(super) fn taking<'r>(rules: &'r [Rule], begin: &str) -> Option<&'r str> {
    let mut found = None;
    for (key, pattern, takes) in rules {
        if *takes && may_match(pattern, begin) {
            found = Some(key.as_str());
        } else if !takes && matches_all(pattern, begin) {
            found = None;
        }
    }
    found
}

/// Whether a pattern with `*` and `?` matches any name that begins so.
fn may_match(pattern: &str, begin: &str) -> bool {
    let mut pattern = pattern.chars();
    for letter in begin.chars() {
        match pattern.next() {
            Some('*') => return true,
            Some(one) if one == '?' || one == letter => {}
            _ => return false,
        }
    }
    true
}

/// Whether it matches all names that begin so.
fn matches_all(pattern: &str, begin: &str) -> bool {
    pattern
        .strip_suffix('*')
        .is_some_and(|stem| begin.starts_with(stem))
}
