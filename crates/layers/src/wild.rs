//! Wildcards: what braces stand for, and whether two globs can name one path.

/// Braces of more texts than this are not spelled out.
const MOST_TEXTS: usize = 256;
/// Nor are more of them in a text.
const MOST_BRACES: usize = 64;
/// Longer texts are no paths.
const LONGEST: usize = 4096;

/// All that a text with braces stands for: `a{b,c}` is `ab` and `ac`. Braces without a comma, and those behind `$`, stand for
/// themselves; nothing where there is more than is spelled out.
#[must_use]
pub fn braces(text: &str) -> Option<Vec<String>> {
    if text.len() > LONGEST || text.matches('{').count() > MOST_BRACES {
        return None;
    }
    let mut done = Vec::new();
    let mut open = vec![text.to_owned()];
    while let Some(text) = open.pop() {
        if done.len() + open.len() >= MOST_TEXTS {
            return None;
        }
        let Some((begin, parts, end)) = first_brace(&text) else {
            done.push(text);
            continue;
        };
        let each = parts.iter().rev();
        open.extend(each.map(|part| [begin, part, end].concat()));
    }
    Some(done)
}

/// The first brace with a comma: what stands before it, its parts, and what stands behind it.
fn first_brace(text: &str) -> Option<(&str, Vec<&str>, &str)> {
    let mut from = 0;
    while let Some(found) = text[from..].find('{') {
        let at = from + found;
        from = at + 1;
        let is_plain = !text[..at].ends_with(['$', '\\']);
        if let Some((parts, end)) = parts(&text[from..]).filter(|_| is_plain) {
            return Some((&text[..at], parts, end));
        }
    }
    None
}

/// The parts of a brace behind its begin, of which there are more than one, and what follows it.
fn parts(text: &str) -> Option<(Vec<&str>, &str)> {
    let (mut parts, mut from, mut depth) = (Vec::new(), 0, 0);
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        if std::mem::take(&mut is_escaped) {
            continue;
        }
        match letter {
            '\\' => is_escaped = true,
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            '}' => {
                parts.push(&text[from..at]);
                return (parts.len() > 1).then_some((parts, &text[at + 1..]));
            }
            _ => {}
        }
    }
    None
}

/// Whether a text has a wildcard.
pub(super) fn is_wild(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// Whether nothing of a name is written.
pub(super) fn is_open(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|letter| matches!(letter, '*' | '?'))
}

/// Whether a path of a shell and the glob of a rule, both with wildcards, can name the same.
///
/// A folder of which the shell's path has nothing written is only what is open in the rule as well.
pub(super) fn meet(path: &str, rule: &str) -> bool {
    if path.len() > LONGEST {
        return false;
    }
    let path: Vec<&str> = path.split('/').collect();
    let rule: Vec<&str> = rule.split('/').collect();
    // Whether the names from each place on can be the same, for the rule's names from the last one on.
    let mut after: Vec<bool> = vec![false; path.len() + 1];
    after[path.len()] = true;
    for (place, name) in rule.iter().enumerate().rev() {
        let mut now = vec![false; path.len() + 1];
        for at in (0..=path.len()).rev() {
            let has_more = at < path.len();
            now[at] = if *name == "**" {
                // Behind a slash it is at least one name.
                let is_last = place + 1 == rule.len();
                let ends_here = after[at] && (has_more || !is_last);
                ends_here || has_more && (now[at + 1] || is_last)
            } else {
                has_more && after[at + 1] && names_meet(path[at], name)
            };
        }
        after = now;
    }
    after[0]
}

fn names_meet(path: &str, rule: &str) -> bool {
    if is_open(path) {
        return is_open(rule);
    }
    let rule = signs(rule);
    let path = visible(&signs(path));
    path.iter().any(|path| signs_meet(path, &rule))
}

/// The same without names that begin with a dot, where a wildcard would have to take it, which those of a shell do not.
fn visible(signs: &[Sign]) -> Vec<Vec<Sign>> {
    let stars = signs.iter().take_while(|sign| **sign == Sign::Any).count();
    let rest = &signs[stars..];
    let shown = |rest: &[Sign]| [&[Sign::Visible], rest].concat();
    let without = match rest.first() {
        Some(Sign::One) => Some(shown(&rest[1..])),
        Some(Sign::Letter('.')) if stars > 0 => None,
        _ => Some(rest.to_vec()),
    };
    let with = (stars > 0).then(|| shown(&signs[stars - 1..]));
    without.into_iter().chain(with).collect()
}

fn signs_meet(path: &[Sign], rule: &[Sign]) -> bool {
    let mut after: Vec<bool> = vec![false; rule.len() + 1];
    for at in (0..=path.len()).rev() {
        let mut now = vec![false; rule.len() + 1];
        for place in (0..=rule.len()).rev() {
            let (one, other) = (path.get(at), rule.get(place));
            // Either passes over one sign of its own or takes one of the other's.
            let either = other.is_some() && now.get(place + 1) == Some(&true)
                || one.is_some() && after[place];
            now[place] = match (one, other) {
                (None, None) => true,
                (Some(Sign::Any), _) | (_, Some(Sign::Any)) => either,
                (Some(one), Some(other)) => one.meets(*other) && after[place + 1],
                _ => false,
            };
        }
        after = now;
    }
    after[0]
}

/// A sign of a glob. A bracket counts as any letter.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Letter(char),
    One,
    /// Any letter but a dot.
    Visible,
    Any,
}

impl Sign {
    fn meets(self, other: Self) -> bool {
        match (self, other) {
            (Self::One, _) | (_, Self::One) => true,
            (Self::Visible, letter) | (letter, Self::Visible) => letter != Self::Letter('.'),
            (one, other) => one == other,
        }
    }
}

fn signs(name: &str) -> Vec<Sign> {
    let mut signs = Vec::new();
    let mut rest = name.chars();
    while let Some(letter) = rest.next() {
        signs.push(match letter {
            '*' => Sign::Any,
            '?' => Sign::One,
            '[' => {
                let end = rest.as_str().find(']');
                rest = rest.as_str()[end.map_or(0, |end| end + 1)..].chars();
                Sign::One
            }
            '\\' => Sign::Letter(rest.next().unwrap_or(letter)),
            letter => Sign::Letter(letter),
        });
    }
    signs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All texts of these letters up to a length.
    fn texts(letters: &str, longest: usize) -> Vec<String> {
        let mut all = vec![String::new()];
        let mut from = 0;
        for _ in 0..longest {
            let last = all.split_off(from);
            let longer = last.iter();
            let longer =
                longer.flat_map(|text| letters.chars().map(move |it| format!("{text}{it}")));
            let longer: Vec<String> = longer.collect();
            all.extend(last);
            from = all.len();
            all.extend(longer);
        }
        all
    }

    fn takes(glob: &[u8], name: &[u8]) -> bool {
        match (glob.split_first(), name.split_first()) {
            (None, None) => true,
            (Some((b'*', rest)), further) => {
                takes(rest, name) || further.is_some_and(|(_, left)| takes(glob, left))
            }
            (Some((b'?', rest)), Some((_, left))) => takes(rest, left),
            (Some((sign, rest)), Some((letter, left))) => sign == letter && takes(rest, left),
            _ => false,
        }
    }

    #[test]
    fn two_globs_meet_where_a_name_is_taken_by_both() {
        let names = texts("a.", 6);
        let globs = texts("a.*?", 3);
        let mut met = 0;
        for glob in globs.iter().filter(|it| !it.is_empty() && !is_open(it)) {
            let is_hidden = |name: &str| name.starts_with('.') && !glob.starts_with('.');
            let mut own: Vec<&String> = names.iter().collect();
            own.retain(|name| !is_hidden(name) && takes(glob.as_bytes(), name.as_bytes()));
            for rule in globs.iter().filter(|it| !it.is_empty()) {
                let expected = own
                    .iter()
                    .any(|name| takes(rule.as_bytes(), name.as_bytes()));
                assert_eq!(names_meet(glob, rule), expected, "{glob} and {rule}");
                met += usize::from(expected);
            }
        }
        assert!(met > 1000, "{met}");
    }

    #[test]
    fn braces_are_spelled_out_in_their_order_and_within_bounds() {
        let cases = [
            ("a{b,c}d", "abd acd"),
            (".env{,.x}", ".env .env.x"),
            ("{a,b{c,d}}{e,f}", "ae af bce bcf bde bdf"),
            ("{a}", "{a}"),
            ("${a,b}", "${a,b}"),
            ("{a,b", "{a,b"),
            ("{{a,b}", "{a {b"),
            ("\\{a,b}", "\\{a,b}"),
        ];
        for (text, expected) in cases {
            let spelled = braces(text).expect("few");
            assert_eq!(spelled.join(" "), expected, "{text}");
        }
        for text in ["{a,b}".repeat(9), "{".repeat(65), "a".repeat(5000)] {
            assert_eq!(braces(&text), None);
        }
    }
}
