//! What stands behind an opening parenthesis.

use super::translate::{Case, Flags, Kind, Translator};
use super::width::Width;

/// What was opened.
pub(super) enum Opened {
    /// A group, which is open now.
    Group,
    /// A piece that is whole: a reference.
    Piece(Width),
    /// Nothing that matches: a comment, or flags of the whole pattern.
    Nothing,
}

/// Groups without a number, and what they are for.
const PLAIN: [(&str, Kind); 6] = [
    (":", Kind::Plain),
    (">", Kind::Plain),
    ("=", Kind::Ahead),
    ("!", Kind::Ahead),
    ("<=", Kind::Behind),
    ("<!", Kind::Behind),
];

/// Translates a parenthesis and what it begins with.
pub(super) fn open(pattern: &mut Translator<'_>) -> Result<Opened, String> {
    if !pattern.take("?") {
        pattern.enter_numbered(None)?;
        return Ok(Opened::Group);
    }
    for (sign, kind) in PLAIN {
        if pattern.take(sign) {
            pattern.enter(&format!("(?{sign}"), kind, pattern.flags);
            return Ok(Opened::Group);
        }
    }
    if pattern.take("#") {
        comment(pattern)?;
        return Ok(Opened::Nothing);
    }
    if pattern.take("P<") {
        let name = named(until(pattern, '>')?)?;
        pattern.enter_numbered(Some(name))?;
        return Ok(Opened::Group);
    }
    if pattern.take("P=") {
        let name = named(until(pattern, ')')?)?;
        let width = pattern.referred(pattern.number_of(&name)?)?;
        pattern.write(&format!("(?P={name})"));
        return Ok(Opened::Piece(width));
    }
    if pattern.take("(") {
        let name = until(pattern, ')')?;
        let is_number = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_digit());
        let number = if is_number {
            name.parse().unwrap_or(usize::MAX)
        } else {
            pattern.number_of(&named(name)?)?
        };
        pattern.ask(number)?;
        pattern.enter(&format!("(?({number})"), Kind::Condition, pattern.flags);
        return Ok(Opened::Group);
    }
    flagged(pattern)
}

/// Passes over a comment, in which a backslash hides what follows it.
fn comment(pattern: &mut Translator<'_>) -> Result<(), String> {
    loop {
        match pattern.next().ok_or("missing ), unterminated comment")? {
            ')' => return Ok(()),
            '\\' => _ = pattern.next(),
            _ => {}
        }
    }
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
    let (mut on, mut off, end) = switched(pattern)?;
    let mut flags = pattern.flags;
    for (letters, is_on) in [(&on, true), (&off, false)] {
        for letter in letters.chars() {
            match letter {
                'a' => flags.ascii = true,
                'u' => flags.ascii = false,
                'i' if is_on => flags.case = Case::Folds,
                'i' => flags.case = Case::Counts,
                'm' => flags.lines = is_on,
                'x' => flags.verbose = is_on,
                _ => {}
            }
        }
    }
    // The others are dealt with here.
    for letters in [&mut on, &mut off] {
        letters.retain(|letter| matches!(letter, 'i' | 's'));
    }
    if end == ')' {
        return whole(pattern, flags, &on);
    }
    let gap = if off.is_empty() { "" } else { "-" };
    pattern.enter(&format!("(?{on}{gap}{off}:"), Kind::Plain, flags);
    Ok(Opened::Group)
}

/// The flags that are turned on, those that are turned off, and what ends them.
fn switched(pattern: &mut Translator<'_>) -> Result<(String, String, char), String> {
    let (mut on, mut off) = (String::new(), String::new());
    let mut letter = next(pattern)?;
    while !matches!(letter, '-' | ')' | ':') {
        on.push(flag(letter)?);
        letter = next(pattern)?;
    }
    if on.is_empty() && letter != '-' {
        return Err(format!("unknown extension ?{letter}"));
    }
    if letter == '-' {
        letter = next(pattern)?;
        while letter != ':' || off.is_empty() {
            off.push(flag(letter)?);
            letter = next(pattern)?;
        }
    }
    let wrong = if on.contains('a') && on.contains('u') {
        "flags a and u are incompatible"
    } else if off.contains(['a', 'u']) {
        "flags a and u cannot be turned off"
    } else if off.contains(|letter| on.contains(letter)) {
        "a flag is turned on and off"
    } else {
        return Ok((on, off, letter));
    };
    Err(wrong.to_owned())
}

fn next(pattern: &mut Translator<'_>) -> Result<char, String> {
    pattern
        .next()
        .ok_or_else(|| "unexpected end of pattern".to_owned())
}

fn flag(letter: char) -> Result<char, String> {
    match letter {
        'a' | 'i' | 'm' | 's' | 'u' | 'x' => Ok(letter),
        letter => Err(format!("unknown flag or extension ?{letter}")),
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
