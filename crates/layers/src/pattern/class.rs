//! A class of characters in brackets.

use super::escape::{self, DOTTED, NEVER};
use super::translate::{Case, Flags, Translator};
use super::width::Width;

/// Half of a surrogate pair, which is in no text.
const SURROGATES: (u32, u32) = (0xd800, 0xdfff);

/// One item of a class.
enum Item {
    /// A character, by its number.
    Letter(u32),
    /// A class of its own, in brackets.
    Class(String),
}

/// What is in a class.
#[derive(Default)]
struct Class {
    ranges: Vec<(u32, u32)>,
    classes: String,
}

/// Translates a class whose opening bracket was read.
pub(super) fn translate(pattern: &mut Translator<'_>) -> Result<(), String> {
    let is_not = pattern.take("^");
    let mut class = Class::default();
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
            class.ranges.push(range(&from, &item(pattern, letter)?)?);
        } else {
            match from {
                Item::Letter(code) => class.ranges.push((code, code)),
                Item::Class(inner) => class.classes.push_str(&inner),
            }
        }
    }
    pattern.write(&class.written(is_not, pattern.flags));
    pattern.wrote(Width::ONE);
    Ok(())
}

impl Class {
    fn written(mut self, is_not: bool, flags: Flags) -> String {
        if flags.case == Case::Folds {
            self.fold(flags.ascii);
        }
        let mut inside = self.classes;
        for (from, to) in self.ranges {
            for (from, to) in [
                (from, to.min(SURROGATES.0 - 1)),
                (from.max(SURROGATES.1 + 1), to),
            ] {
                if let (Some(from), Some(to)) = (char::from_u32(from), char::from_u32(to))
                    && from <= to
                {
                    inside.extend([escape::bare(from), "-".to_owned(), escape::bare(to)]);
                }
            }
        }
        let class = match (inside.is_empty(), is_not) {
            (true, false) => NEVER.to_owned(),
            (true, true) => r"[\s\S]".to_owned(),
            (false, false) => format!("[{inside}]"),
            (false, true) => format!("[^{inside}]"),
        };
        if flags.case == Case::Folds && flags.ascii {
            format!("(?-i:{class})")
        } else {
            class
        }
    }

    /// Adds what case makes the same and `fancy-regex` would leave out.
    fn fold(&mut self, ascii: bool) {
        let ranges = self.ranges.clone();
        if ascii {
            for (begin, end, other) in [('a', 'z', 'A'), ('A', 'Z', 'a')].map(codes) {
                for (from, to) in &ranges {
                    let (from, to) = ((*from).max(begin), (*to).min(end));
                    if from <= to {
                        self.ranges.push((from - begin + other, to - begin + other));
                    }
                }
            }
            return;
        }
        let dotted = DOTTED.map(u32::from);
        let has = |code: &u32| ranges.iter().any(|(from, to)| (from..=to).contains(&code));
        if dotted.iter().any(has) {
            self.ranges.extend(dotted.map(|code| (code, code)));
        }
    }
}

fn codes((begin, end, other): (char, char, char)) -> (u32, u32, u32) {
    (u32::from(begin), u32::from(end), u32::from(other))
}

fn next(pattern: &mut Translator<'_>) -> Result<char, String> {
    let letter = pattern.next();
    letter.ok_or_else(|| "unterminated character set".to_owned())
}

fn item(pattern: &mut Translator<'_>, letter: char) -> Result<Item, String> {
    if letter != '\\' {
        return Ok(Item::Letter(u32::from(letter)));
    }
    let letter = next(pattern)?;
    if let Some(class) = escape::class(letter, pattern.flags) {
        return Ok(Item::Class(class));
    }
    Ok(Item::Letter(match letter {
        'b' => 0x08,
        '0'..='7' => escape::octal(pattern, letter)?,
        letter => escape::character(pattern, letter)?,
    }))
}

fn range(from: &Item, to: &Item) -> Result<(u32, u32), String> {
    match (from, to) {
        (Item::Letter(from), Item::Letter(to)) if from <= to => Ok((*from, *to)),
        _ => Err("bad character range".to_owned()),
    }
}
