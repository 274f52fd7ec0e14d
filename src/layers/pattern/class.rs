//! A class of characters in brackets.

use super::escape;
use super::translate::Translator;

/// One item of a class.
enum Item {
    Letter(char),
    /// A class of its own, in brackets.
    Class(String),
}

/// Translates a class whose opening bracket was read.
pub(super) fn translate(pattern: &mut Translator<'_>) -> Result<(), String> {
    let not = if pattern.take("^") { "^" } else { "" };
    let mut class = format!("[{not}");
    let mut first = true;
    loop {
        let letter = next(pattern)?;
        if letter == ']' && !first {
            break;
        }
        first = false;
        let from = item(pattern, letter)?;
        if pattern.rest.starts_with('-') && !pattern.rest.starts_with("-]") {
            pattern.next();
            let letter = next(pattern)?;
            class.push_str(&range(&from, &item(pattern, letter)?)?);
        } else {
            class.push_str(&match from {
                Item::Letter(letter) => escape::literal(letter),
                Item::Class(class) => class,
            });
        }
    }
    class.push(']');
    pattern.write(&class);
    Ok(())
}

fn next(pattern: &mut Translator<'_>) -> Result<char, String> {
    let letter = pattern.next();
    letter.ok_or_else(|| "unterminated character set".to_owned())
}

fn item(pattern: &mut Translator<'_>, letter: char) -> Result<Item, String> {
    if letter != '\\' {
        return Ok(Item::Letter(letter));
    }
    let letter = next(pattern)?;
    if let Some(class) = escape::class(letter, pattern.flags) {
        return Ok(Item::Class(class));
    }
    Ok(Item::Letter(match letter {
        'b' => '\x08',
        '0'..='7' => escape::octal(pattern, letter)?,
        letter => escape::character(pattern, letter)?,
    }))
}

fn range(from: &Item, to: &Item) -> Result<String, String> {
    match (from, to) {
        (Item::Letter(from), Item::Letter(to)) if from <= to => Ok(format!(
            "{}-{}",
            escape::literal(*from),
            escape::literal(*to)
        )),
        _ => Err("bad character range".to_owned()),
    }
}
