//! What the variables and functions of a makefile come to, as far as its text tells; what it does not tell becomes `*`.

use std::collections::BTreeMap;

use super::make_lines::{joined, rule, variable};

/// What is not known.
pub const UNKNOWN: &str = "*";
/// Deeper than this nobody nests variables.
const DEEPEST: usize = 8;
/// No value that people write is longer.
const LONGEST: usize = 100_000;

/// The variables that the text of a makefile sets.
#[derive(Debug, Default)]
pub struct Variables {
    /// All values that one is given, and whether one may stand for another.
    values: BTreeMap<String, (String, bool)>,
}

impl Variables {
    /// Those of `text`, whatever conditionals say.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let mut values: BTreeMap<String, (String, bool)> = BTreeMap::new();
        let lines = joined(text);
        for line in lines.iter().filter(|line| !line.starts_with('\t')) {
            if let Some((name, value)) = variable(line) {
                let adds = line.contains("+=");
                let value = value.split(" #").next().unwrap_or(value);
                let known = values.entry(name.to_owned()).or_default();
                known.1 |= !adds && !known.0.is_empty();
                if !known.0.is_empty() {
                    known.0.push(' ');
                }
                known.0.push_str(value.trim());
            }
        }
        Self { values }
    }

    /// `text` with the values of its variables.
    #[must_use]
    pub fn expand(&self, text: &str) -> String {
        self.at(text, DEEPEST)
    }

    /// The same for the heads of all rules of a makefile, which are all that is given.
    #[must_use]
    pub fn rules(&self, text: &str) -> String {
        let mut found = String::new();
        for line in joined(text).iter().filter(|line| !line.starts_with('\t')) {
            let head = line.trim();
            if !head.starts_with('#') && rule(head).is_some() {
                let head = head.split(';').next().unwrap_or(head);
                found.push_str(&self.expand(head));
                found.push('\n');
            }
        }
        found
    }

    fn at(&self, text: &str, deep: usize) -> String {
        let mut found = String::new();
        let mut rest = text;
        while let Some(place) = rest.find('$') {
            found.push_str(&rest[..place]);
            let after = &rest[place + 1..];
            let is_whole = |end: &str| {
                let before = found.chars().next_back();
                before.is_none_or(char::is_whitespace)
                    && end.chars().next().is_none_or(char::is_whitespace)
            };
            let (value, end) = match inside(after) {
                Some((inner, end)) => (self.reference(inner, deep, is_whole(end)), end),
                None => (UNKNOWN.to_owned(), after.get(1..).unwrap_or("")),
            };
            found.push_str(&value);
            rest = end;
            if found.len() > LONGEST {
                return UNKNOWN.to_owned();
            }
        }
        found + rest
    }

    /// What stands for `$(inner)`; one of several values can only stand for a whole word.
    fn reference(&self, inner: &str, deep: usize, is_whole: bool) -> String {
        let Some(deeper) = deep.checked_sub(1) else {
            return UNKNOWN.to_owned();
        };
        if inner == "CURDIR" {
            return ".".to_owned();
        }
        if let Some((value, several)) = self.values.get(inner) {
            let is_known = is_whole || !*several;
            return if is_known {
                self.at(value, deeper)
            } else {
                UNKNOWN.to_owned()
            };
        }
        if let Some((name, arguments)) = inner.split_once([' ', '\t']) {
            let arguments = self.at(arguments, deeper);
            return call(name, arguments.trim()).unwrap_or_else(|| UNKNOWN.to_owned());
        }
        let Some((name, (from, to))) = inner
            .split_once(':')
            .and_then(|(name, rest)| Some((name, rest.split_once('=')?)))
        else {
            return UNKNOWN.to_owned();
        };
        let (from, to) = if from.contains('%') {
            (from.to_owned(), to.to_owned())
        } else {
            (format!("%{from}"), format!("%{to}"))
        };
        let of = self.reference(name, deeper, true);
        call("patsubst", &format!("{from},{to},{of}")).unwrap_or_else(|| UNKNOWN.to_owned())
    }
}

/// What is between the brackets with which `text` begins, and what follows them.
fn inside(text: &str) -> Option<(&str, &str)> {
    let (open, close) = match text.chars().next()? {
        '(' => ('(', ')'),
        '{' => ('{', '}'),
        _ => return None,
    };
    let mut depth = 0_usize;
    for (place, character) in text.char_indices() {
        if character == open {
            depth += 1;
        } else if character == close {
            depth -= 1;
            if depth == 0 {
                return Some((&text[1..place], &text[place + 1..]));
            }
        }
    }
    None
}

/// What a function of make gives; nothing where that is not known here.
fn call(name: &str, arguments: &str) -> Option<String> {
    let mut parts = arguments.splitn(3, ',');
    let each = |words: &str, of: &dyn Fn(&str) -> String| {
        let words = words.split_ascii_whitespace().map(of);
        words.collect::<Vec<_>>().join(" ")
    };
    Some(match name {
        "wildcard" | "sort" | "strip" | "abspath" | "realpath" => arguments.to_owned(),
        "addsuffix" => {
            let (end, words) = arguments.split_once(',')?;
            each(words, &|word| format!("{word}{end}"))
        }
        "addprefix" => {
            let (begin, words) = arguments.split_once(',')?;
            each(words, &|word| format!("{begin}{word}"))
        }
        "notdir" => each(arguments, &|word| {
            word.rsplit('/').next().unwrap_or(word).to_owned()
        }),
        "basename" => each(arguments, &|word| {
            word.rsplit_once('.')
                .map_or(word, |(stem, _)| stem)
                .to_owned()
        }),
        "patsubst" => {
            let (from, to, words) = (parts.next()?, parts.next()?, parts.next()?);
            each(words, &|word| match stem(from.trim(), word) {
                Some(stem) => to.trim().replacen('%', stem, 1),
                None if word == UNKNOWN => to.trim().replacen('%', UNKNOWN, 1),
                None => word.to_owned(),
            })
        }
        _ => return None,
    })
}

/// What `%` in a pattern stands for in `word`.
#[must_use]
pub fn stem<'a>(pattern: &str, word: &'a str) -> Option<&'a str> {
    let (begin, end) = pattern.split_once('%')?;
    word.strip_prefix(begin)?.strip_suffix(end)
}

/// Whether `text` is one that a pattern with wildcards means, or may mean.
#[must_use]
pub fn fits(pattern: &str, text: &str) -> bool {
    let is_wild = |character: char| "*?%".contains(character);
    if let Some((begin, rest)) = pattern.split_once('[')
        && let Some((_, end)) = rest.split_once(']')
    {
        return fits(&format!("{begin}*{end}"), text);
    }
    if !pattern.contains(is_wild) {
        return pattern == text;
    }
    let mut parts = pattern.split(is_wild);
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_and_functions_come_to_what_the_text_tells() {
        let text = "OBJS = sol.o \\\n  x.o\nDEPS = $(OBJS:.o=.d)\nSRC := $(wildcard src/*.c)\nOUT ?= build\nALL = $(patsubst src/%.c,$(OUT)/%.d,$(SRC))\n  DIR = a\nDIR = b\nME = $(ME)\n";
        let variables = Variables::of(text);
        for (from, to) in [
            ("$(DEPS)", "sol.d x.d"),
            ("${ALL} x", "build/*.d x"),
            ("$(NONE:.o=.d)", "*.d"),
            ("$(addprefix p/,$(OBJS)) $(shell ls)", "p/sol.o p/x.o *"),
            ("$(DIR)/x.mk", "*/x.mk"),
            ("$(DIR)", "a b"),
            ("$(ME) $@ $", "* * *"),
            ("$(CURDIR)/$(basename $(OBJS:.o=.x))", "./sol x"),
        ] {
            assert_eq!(variables.expand(from), to, "{from}");
        }
        for (pattern, text, fit) in [
            ("a.mk", "a.mk", true),
            ("*.d", "x/sol.d", true),
            ("parts/*.inc", "parts/z.inc", true),
            ("parts/*.inc", "z.inc", false),
            ("[ab]x", "ax", true),
            ("*", "x", true),
            ("a*a", "a", false),
        ] {
            assert_eq!(fits(pattern, text), fit, "{pattern} {text}");
        }
    }
}
