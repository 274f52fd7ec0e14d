//! What stands behind a backslash.

use super::translate::{Flags, Translator};

/// The characters that Python takes for parts of words, and those of ASCII.
const WORD: [&str; 2] = [r"\p{L}\p{N}_", "0-9A-Za-z_"];
/// Its digits.
const DIGIT: [&str; 2] = [r"\p{Nd}", "0-9"];
/// Its white space: the four separators of ASCII are some.
const SPACE: [&str; 2] = [r"\s\x1c-\x1f", r"\t\n\x0b\x0c\r\x20"];

/// A character that stands for itself.
pub(super) fn literal(letter: char) -> String {
    if letter.is_ascii() && !letter.is_ascii_alphanumeric() {
        format!("\\x{:02X}", u32::from(letter))
    } else {
        letter.to_string()
    }
}

/// What `\d`, `\D`, `\s`, `\S`, `\w` and `\W` stand for, as a class in brackets.
pub(super) fn class(letter: char, flags: Flags) -> Option<String> {
    let ways = match letter.to_ascii_lowercase() {
        'w' => WORD,
        'd' => DIGIT,
        's' => SPACE,
        _ => return None,
    };
    let inside = ways[usize::from(flags.ascii)];
    let not = if letter.is_ascii_uppercase() { "^" } else { "" };
    Some(format!("[{not}{inside}]"))
}

/// Translates what follows a backslash outside of a class.
pub(super) fn translate(pattern: &mut Translator<'_>) -> Result<(), String> {
    let letter = pattern.next().ok_or("bad escape (end of pattern)")?;
    let flags = pattern.flags;
    if let Some(class) = class(letter, flags) {
        pattern.write(&class);
    } else if let Some(place) = place(letter, flags) {
        pattern.edge(&place);
        return Ok(());
    } else if ('1'..='9').contains(&letter) {
        numbered(pattern, letter)?;
    } else {
        let letter = character(pattern, letter)?;
        pattern.literal(letter);
    }
    pattern.wrote();
    Ok(())
}

/// A place between characters.
fn place(letter: char, flags: Flags) -> Option<String> {
    let word = class('w', flags)?;
    match letter {
        'A' => Some(r"\A".to_owned()),
        'Z' | 'z' => Some(r"\z".to_owned()),
        'b' => Some(format!("(?:(?<={word})(?!{word})|(?<!{word})(?={word}))")),
        'B' => Some(format!("(?:(?<={word})(?={word})|(?<!{word})(?!{word}))")),
        _ => None,
    }
}

/// A reference to a group, or three octal digits.
fn numbered(pattern: &mut Translator<'_>, first: char) -> Result<(), String> {
    let octal = |letter: char| ('0'..='7').contains(&letter);
    let mut digits = String::from(first);
    let mut next = pattern.rest.chars();
    let following = (next.next(), next.next());
    if let Some(second) = following.0.filter(char::is_ascii_digit) {
        pattern.next();
        digits.push(second);
        if let Some(third) = following.1.filter(|third| octal(*third))
            && octal(first)
            && octal(second)
        {
            pattern.next();
            digits.push(third);
            let letter = octal_letter(&digits)?;
            pattern.literal(letter);
            return Ok(());
        }
    }
    if digits
        .parse::<usize>()
        .is_ok_and(|number| number > pattern.groups)
    {
        return Err(format!("invalid group reference {digits}"));
    }
    // In brackets of its own, so that a digit behind it is not taken for one of its own.
    pattern.write(&format!("(?:\\{digits})"));
    Ok(())
}

fn octal_letter(digits: &str) -> Result<char, String> {
    let code = u32::from_str_radix(digits, 8).unwrap_or(u32::MAX);
    let letter = char::from_u32(code).filter(|_| code <= 0o377);
    letter.ok_or_else(|| format!("octal escape value \\{digits} outside of range 0-0o377"))
}

/// The one character that an escape stands for.
pub(super) fn character(pattern: &mut Translator<'_>, letter: char) -> Result<char, String> {
    Ok(match letter {
        'a' => '\x07',
        'f' => '\x0c',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\x0b',
        'x' => hex(pattern, ('x', 2))?,
        'u' => hex(pattern, ('u', 4))?,
        'U' => hex(pattern, ('U', 8))?,
        '0' => octal(pattern, '0')?,
        letter if letter.is_ascii_alphanumeric() => return Err(format!("bad escape \\{letter}")),
        letter => letter,
    })
}

/// Up to two further octal digits behind `first`.
pub(super) fn octal(pattern: &mut Translator<'_>, first: char) -> Result<char, String> {
    let mut digits = String::from(first);
    while digits.len() < 3
        && let Some(digit) = pattern.rest.chars().next().filter(|it| it.is_digit(8))
    {
        pattern.next();
        digits.push(digit);
    }
    octal_letter(&digits)
}

fn hex(pattern: &mut Translator<'_>, (name, length): (char, usize)) -> Result<char, String> {
    let digits = pattern.rest.get(..length);
    let digits = digits.filter(|it| it.chars().all(|digit| digit.is_ascii_hexdigit()));
    let code = digits.and_then(|it| u32::from_str_radix(it, 16).ok());
    let letter = code.and_then(char::from_u32);
    let letter = letter.ok_or_else(|| format!("bad escape \\{name}"))?;
    pattern.rest = &pattern.rest[length..];
    Ok(letter)
}
