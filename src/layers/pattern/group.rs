//! What stands behind an opening parenthesis.

use super::translate::{Flags, Translator};

/// What was opened.
pub(super) enum Opened {
    /// A group, which is open now.
    Group,
    /// A piece that is whole: a reference.
    Piece,
    /// Nothing that matches: a comment, or flags of the whole pattern.
    Nothing,
}

/// Translates a parenthesis and what it begins with.
pub(super) fn open(pattern: &mut Translator<'_>) -> Result<Opened, String> {
    let flags = pattern.flags;
    if !pattern.take("?") {
        pattern.groups += 1;
        pattern.enter("(", flags);
        return Ok(Opened::Group);
    }
    for plain in [":", "=", "!", "<=", "<!", ">"] {
        if pattern.take(plain) {
            pattern.enter(&format!("(?{plain}"), flags);
            return Ok(Opened::Group);
        }
    }
    if pattern.take("#") {
        until(pattern, ')')?;
        return Ok(Opened::Nothing);
    }
    if pattern.take("P<") {
        let name = named(until(pattern, '>')?)?;
        if pattern.names.contains(&name) {
            return Err(format!("redefinition of group name {name:?}"));
        }
        pattern.names.push(name.clone());
        pattern.groups += 1;
        pattern.enter(&format!("(?P<{name}>"), flags);
        return Ok(Opened::Group);
    }
    if pattern.take("P=") {
        let name = named(until(pattern, ')')?)?;
        pattern.write(&format!("(?P={name})"));
        return Ok(Opened::Piece);
    }
    if pattern.take("(") {
        let name = until(pattern, ')')?;
        let is_number = name.chars().all(|letter| letter.is_ascii_digit());
        let condition = if is_number && !name.is_empty() {
            let number = name.parse().unwrap_or(usize::MAX);
            pattern.asked = pattern.asked.max(number);
            name
        } else {
            format!("<{}>", named(name)?)
        };
        pattern.enter(&format!("(?({condition})"), flags);
        return Ok(Opened::Group);
    }
    flagged(pattern)
}

fn until(pattern: &mut Translator<'_>, end: char) -> Result<String, String> {
    let (found, rest) = pattern
        .rest
        .split_once(end)
        .ok_or_else(|| format!("missing {end}"))?;
    pattern.rest = rest;
    Ok(found.to_owned())
}

fn named(name: String) -> Result<String, String> {
    let mut letters = name.chars();
    let first = letters.next();
    let begins = first.is_some_and(|letter| letter.is_alphabetic() || letter == '_');
    if begins && letters.all(|letter| letter.is_alphanumeric() || letter == '_') {
        Ok(name)
    } else {
        Err(format!("{name:?} is no name of a group"))
    }
}

/// `(?i)` for all of the pattern, or `(?i-m:` for a group.
fn flagged(pattern: &mut Translator<'_>) -> Result<Opened, String> {
    let mut flags = pattern.flags;
    let mut passed_on = String::new();
    let mut on = true;
    loop {
        let letter = pattern.next().ok_or("unexpected end of pattern")?;
        match letter {
            'i' | 's' => passed_on.push(letter),
            'a' if on => flags.ascii = true,
            'u' if on => flags.ascii = false,
            'm' => flags.lines = on,
            'x' => flags.verbose = on,
            '-' if on => {
                on = false;
                passed_on.push('-');
            }
            ':' => {
                let opening = format!("(?{}:", passed_on.trim_end_matches('-'));
                pattern.enter(&opening, flags);
                return Ok(Opened::Group);
            }
            ')' if on => return whole(pattern, flags, &passed_on),
            letter => return Err(format!("unknown extension ?{letter}")),
        }
    }
}

/// Flags of the whole pattern, which must stand at its start.
fn whole(pattern: &mut Translator<'_>, flags: Flags, passed_on: &str) -> Result<Opened, String> {
    if pattern.began {
        return Err("global flags not at the start of the expression".to_owned());
    }
    pattern.flags = flags;
    if !passed_on.is_empty() {
        pattern.write(&format!("(?{passed_on})"));
    }
    Ok(Opened::Nothing)
}
