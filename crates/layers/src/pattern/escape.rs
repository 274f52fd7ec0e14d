//! What stands behind a backslash.

use super::translate::{Case, Flags, Translator};
use super::width::Width;

/// What no character is.
pub(super) const NEVER: &str = r"[^\s\S]";
/// Letters that are one where case does not count: Python goes by the lower case of single characters, the crate by case folding.
pub(super) const DOTTED: [char; 4] = ['I', 'i', '\u{130}', '\u{131}'];

/// The characters that Python takes for parts of words, and those of ASCII.
const WORD: [&str; 2] = [r"\p{L}\p{N}_", "0-9A-Za-z_"];
/// Its digits.
const DIGIT: [&str; 2] = [r"\p{Nd}", "0-9"];
/// Its white space: the four separators of ASCII are some.
const SPACE: [&str; 2] = [r"\s\x1c-\x1f", r"\t\n\x0b\x0c\r\x20"];

/// A character, without any meaning that it has in a pattern.
pub(super) fn bare(letter: char) -> String {
    if letter.is_ascii() && !letter.is_ascii_alphanumeric() {
        format!("\\x{:02X}", u32::from(letter))
    } else {
        letter.to_string()
    }
}

/// A character that stands for itself; half of a surrogate pair is in no text.
pub(super) fn literal(code: u32, flags: Flags) -> String {
    let Some(letter) = char::from_u32(code) else {
        return NEVER.to_owned();
    };
    let (lower, upper) = (letter.to_ascii_lowercase(), letter.to_ascii_uppercase());
    match flags {
        Flags {
            case: Case::Folds,
            ascii: true,
            ..
        } if lower != upper => format!("(?-i:[{lower}{upper}])"),
        Flags {
            case: Case::Folds,
            ascii: true,
            ..
        } => format!("(?-i:{})", bare(letter)),
        Flags {
            case: Case::Folds, ..
        } if DOTTED.contains(&letter) => {
            format!("[{}]", DOTTED.iter().collect::<String>())
        }
        _ => bare(letter),
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
        pattern.wrote(Width::ONE);
    } else if let Some(place) = place(letter, flags) {
        pattern.edge(&place);
    } else if ('1'..='9').contains(&letter) {
        numbered(pattern, letter)?;
    } else {
        let code = character(pattern, letter)?;
        pattern.literal(code);
    }
    Ok(())
}

/// A place between characters.
fn place(letter: char, flags: Flags) -> Option<String> {
    let word = class('w', flags)?;
    match letter {
        'A' => Some(r"\A".to_owned()),
        'Z' => Some(r"\z".to_owned()),
        'b' => Some(format!("(?:(?<={word})(?!{word})|(?<!{word})(?={word}))")),
        // Nowhere in an empty text.
        'B' => Some(format!(
            r"(?:(?!\A\z)(?:(?<={word})(?={word})|(?<!{word})(?!{word})))"
        )),
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
            let code = octal_code(&digits)?;
            pattern.literal(code);
            return Ok(());
        }
    }
    let width = pattern.referred(digits.parse().unwrap_or(usize::MAX))?;
    // In brackets of its own, so that a digit behind it is not taken for one of its own.
    pattern.write(&format!("(?:\\{digits})"));
    pattern.wrote(width);
    Ok(())
}

fn octal_code(digits: &str) -> Result<u32, String> {
    let code = u32::from_str_radix(digits, 8).unwrap_or(u32::MAX);
    let refused = || format!("octal escape value \\{digits} outside of range 0-0o377");
    Some(code).filter(|code| *code <= 0o377).ok_or_else(refused)
}

/// The one character that an escape stands for, by its number.
pub(super) fn character(pattern: &mut Translator<'_>, letter: char) -> Result<u32, String> {
    Ok(match letter {
        'a' => 0x07,
        'f' => 0x0c,
        'n' => 0x0a,
        'r' => 0x0d,
        't' => 0x09,
        'v' => 0x0b,
        'x' => hex(pattern, ('x', 2))?,
        'u' => hex(pattern, ('u', 4))?,
        'U' => hex(pattern, ('U', 8))?,
        '0' => octal(pattern, '0')?,
        'N' => {
            return Err(
                r"\N: characters by name are not known here; write \u and its number".to_owned(),
            );
        }
        letter if letter.is_ascii_alphanumeric() => return Err(format!("bad escape \\{letter}")),
        letter => u32::from(letter),
    })
}

/// Up to two further octal digits behind `first`.
pub(super) fn octal(pattern: &mut Translator<'_>, first: char) -> Result<u32, String> {
    let mut digits = String::from(first);
    while digits.len() < 3
        && let Some(digit) = pattern.rest.chars().next().filter(|it| it.is_digit(8))
    {
        pattern.next();
        digits.push(digit);
    }
    octal_code(&digits)
}

fn hex(pattern: &mut Translator<'_>, (name, length): (char, usize)) -> Result<u32, String> {
    let digits = pattern.rest.get(..length);
    let digits = digits.filter(|it| it.chars().all(|digit| digit.is_ascii_hexdigit()));
    let code = digits.and_then(|it| u32::from_str_radix(it, 16).ok());
    let code = code.filter(|code| *code <= u32::from(char::MAX));
    let code = code.ok_or_else(|| format!("bad escape \\{name}"))?;
    pattern.rest = &pattern.rest[length..];
    Ok(code)
}
