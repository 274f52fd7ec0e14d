//! `project.pbxproj`: property lists in the old text format.

use std::collections::BTreeMap;

/// A value of a property list.
pub(crate) enum Plist {
    Text(String),
    List(Vec<Self>),
    Map(BTreeMap<String, Self>),
}

impl Plist {
    pub(crate) fn read(text: &str) -> Option<Self> {
        let mut rest = text;
        value(&mut rest)
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(map) => map.get(key),
            _ => None,
        }
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        match self.get(key) {
            Some(Self::Text(text)) => text,
            _ => "",
        }
    }

    pub(crate) fn texts(&self, key: &str) -> Vec<&str> {
        let Some(Self::List(list)) = self.get(key) else {
            return Vec::new();
        };
        let texts = list.iter().filter_map(|one| match one {
            Self::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }
}

/// Skips spaces and comments.
fn skip(rest: &mut &str) {
    loop {
        *rest = rest.trim_start();
        let after = if rest.starts_with("//") {
            rest.find('\n').map(|end| &rest[end..])
        } else if rest.starts_with("/*") {
            rest.find("*/").map(|end| &rest[end + 2..])
        } else {
            return;
        };
        *rest = after.unwrap_or_default();
    }
}

fn take(rest: &mut &str, sign: char) -> bool {
    skip(rest);
    let found = rest.strip_prefix(sign);
    *rest = found.unwrap_or(rest);
    found.is_some()
}

fn value(rest: &mut &str) -> Option<Plist> {
    if take(rest, '{') {
        let mut map = BTreeMap::new();
        while !take(rest, '}') {
            let key = word(rest)?;
            take(rest, '=').then_some(())?;
            map.insert(key, value(rest)?);
            take(rest, ';').then_some(())?;
        }
        return Some(Plist::Map(map));
    }
    if take(rest, '(') {
        let mut list = Vec::new();
        while !take(rest, ')') {
            list.push(value(rest)?);
            take(rest, ',');
        }
        return Some(Plist::List(list));
    }
    word(rest).map(Plist::Text)
}

fn word(rest: &mut &str) -> Option<String> {
    if take(rest, '"') {
        let mut text = String::new();
        let mut characters = rest.char_indices();
        while let Some((place, character)) = characters.next() {
            match character {
                '"' => {
                    *rest = &rest[place + 1..];
                    return Some(text);
                }
                '\\' => text.push(characters.next()?.1),
                other => text.push(other),
            }
        }
        return None;
    }
    let end =
        rest.find(|character: char| !(character.is_alphanumeric() || "_./$-".contains(character)))?;
    let (text, after) = rest.split_at(end);
    *rest = after;
    (!text.is_empty()).then(|| text.to_owned())
}
