//! Where make, compilers and shells are told to look for what is named without its folder.

use super::make_lines::{PHONY, joined, rule, variable};
use super::make_words::{UNKNOWN, Variables};

/// Words after which, or at whose end, a folder of headers stands.
const HEADERS: [&str; 4] = ["-I", "-isystem", "-iquote", "-idirafter"];
/// Variables that name such folders to compilers.
const HEADER_PATHS: [&str; 4] = [
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "OBJC_INCLUDE_PATH",
];

/// The folders in which the makefile with this text has make look for what it does not find: `VPATH` and `vpath`.
#[must_use]
pub fn searched_by_make(text: &str) -> Vec<String> {
    let variables = Variables::of(text);
    let mut found = Vec::new();
    for line in joined(text).iter().filter(|line| !line.starts_with('\t')) {
        let line = line.trim();
        let directive = line.strip_prefix("vpath");
        let directive = directive.filter(|rest| rest.starts_with([' ', '\t']));
        let value = match (variable(line), directive) {
            (Some(("VPATH", value)), _) => value,
            (None, Some(rest)) => rest
                .trim_start()
                .split_once([' ', '\t'])
                .map_or("", |(_, rest)| rest),
            _ => continue,
        };
        let value = value.split(" #").next().unwrap_or(value);
        let value = value.replace("$(VPATH)", "").replace("${VPATH}", "");
        let value = variables.expand(&value);
        let folders = value.split([':', ';', ' ', '\t']);
        found.extend(folders.filter(|name| !name.is_empty()).map(str::to_owned));
    }
    found
}

/// The patterns of a makefile whose variables are expanded, each with what one rule makes it from. Old rules for endings, such as
/// `.c.o:`, are patterns.
#[must_use]
pub fn pattern_list(text: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for line in joined(text) {
        let Some((head, rest)) = rule(line.trim()).filter(|(head, _)| *head != PHONY) else {
            continue;
        };
        if let Some((from, to)) = endings(head) {
            found.push((format!("%.{to}"), vec![format!("%.{from}")]));
            continue;
        }
        let from = rest.split([';', '|', '#']).next().unwrap_or_default();
        let from: Vec<String> = from.split_ascii_whitespace().map(str::to_owned).collect();
        let targets = head
            .split_ascii_whitespace()
            .filter(|name| name.contains('%'));
        found.extend(targets.map(|target| (target.to_owned(), from.clone())));
    }
    found
}

/// The endings of a head such as `.c.o`.
fn endings(head: &str) -> Option<(&str, &str)> {
    let (from, to) = head.strip_prefix('.')?.split_once('.')?;
    let is_plain =
        |name: &str| !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric());
    (is_plain(from) && is_plain(to)).then_some((from, to))
}

/// The folders of headers that a makefile or a script names to compilers.
#[must_use]
pub fn searched_by_compilers(text: &str) -> Vec<String> {
    let variables = Variables::of(text);
    let mut found = Vec::new();
    for line in joined(text) {
        let head = line.trim();
        let set = variable(head).filter(|(name, _)| HEADER_PATHS.contains(name));
        if head.starts_with('#') || !(set.is_some() || HEADERS.iter().any(|it| head.contains(it))) {
            continue;
        }
        if let Some((_, value)) = set {
            let value = variables.expand(value);
            let folders = value.split([':', ' ', '"', '\'']);
            found.extend(folders.filter(|name| !name.is_empty()).map(str::to_owned));
            continue;
        }
        let line = variables.expand(head);
        let mut words = line
            .split(|it: char| it.is_ascii_whitespace() || "\"'`,;()[]=".contains(it))
            .filter(|word| !word.is_empty());
        let before = found.len();
        while let Some(word) = words.next() {
            let rest = HEADERS.iter().find_map(|begin| word.strip_prefix(begin));
            let folder =
                rest.and_then(|rest| (!rest.is_empty()).then_some(rest).or_else(|| words.next()));
            found.extend(folder.map(str::to_owned));
        }
        if found.len() == before {
            found.push(UNKNOWN.to_owned());
        }
    }
    found
}

/// The folders that a text puts on PATH, whatever it is written in; `expand` knows its variables. What stands before the first slash is
/// left out where it is not known.
#[must_use]
pub fn put_on_path(text: &str, expand: &dyn Fn(&str) -> String) -> Vec<String> {
    const NAME: &str = "PATH";
    let mut found = Vec::new();
    for line in joined(text) {
        if line.trim_start().starts_with('#') {
            continue;
        }
        for (place, _) in line.match_indices(NAME) {
            let is_reference = ["$", "${", "$("]
                .iter()
                .any(|it| line[..place].ends_with(it));
            let before = line[..place].chars().next_back();
            let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_';
            let rest = line[place + NAME.len()..].trim_start_matches(['"', '\'', ']', ' ', '\t']);
            let value = rest.trim_start_matches([':', '?', '+', '=', ',']);
            if is_reference || before.is_some_and(is_part) || value.len() == rest.len() {
                continue;
            }
            let folders = components(value.trim_start()).into_iter();
            found.extend(folders.flat_map(|name| named_on_path(&name, expand)));
        }
    }
    found
}

/// The parts of a value of PATH, up to what ends it.
fn components(value: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut depth, mut is_ticked) = (0_usize, false);
    for character in value.chars() {
        match character {
            '(' | '{' => depth += 1,
            ')' | '}' if depth == 0 => break,
            ')' | '}' => depth -= 1,
            '`' => is_ticked = !is_ticked,
            _ if depth > 0 || is_ticked => {}
            ':' => {
                parts.push(String::new());
                continue;
            }
            '"' | '\'' => continue,
            _ if character.is_ascii_whitespace() || ";&|,".contains(character) => break,
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(character);
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// The folders that a part of PATH means.
fn named_on_path(part: &str, expand: &dyn Fn(&str) -> String) -> Vec<String> {
    let is_before = part.starts_with('$') && part.trim_end_matches([')', '}']).ends_with("PATH");
    if is_before || part.starts_with('/') {
        return Vec::new();
    }
    let expanded = expand(part);
    // What is still a reference may have blanks in it.
    let words: Vec<&str> = if expanded.starts_with(['$', '`']) {
        vec![&expanded]
    } else {
        expanded.split_ascii_whitespace().collect()
    };
    let folders = words.into_iter().filter_map(|word| {
        let is_unknown = word.starts_with(['$', '`', '~']) || word.starts_with(UNKNOWN);
        if !is_unknown {
            return (!word.starts_with('/')).then(|| word.to_owned());
        }
        let known = after_reference(word);
        Some(known.map_or_else(|| UNKNOWN.to_owned(), str::to_owned))
    });
    folders.collect()
}

/// What follows the first slash that is in no brackets.
fn after_reference(word: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let mut is_ticked = false;
    let place = word.char_indices().find_map(|(place, character)| {
        match character {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            '`' => is_ticked = !is_ticked,
            '/' if depth == 0 && !is_ticked => return Some(place),
            _ => {}
        }
        None
    })?;
    Some(&word[place + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_make_searches_are_found_through_variables() {
        for (text, folders) in [
            ("VPATH = src:tests ../up\n", "src tests ../up"),
            ("D = a b\nvpath %.c $(D)\nvpath\nvpath %.h\n", "a b"),
            ("VPATH = a\nVPATH += $(VPATH):b # words\n", "a b"),
            ("VPATH = $(shell ls)\nX = 1\n\tVPATH = c\n", UNKNOWN),
            ("vpathology: x\n", ""),
        ] {
            assert_eq!(searched_by_make(text).join(" "), folders, "{text}");
        }
        let list = pattern_list("b/%.o: s/%.c x.h | b\n.c.o:\n.PHONY: a%\nall: %.x\n");
        let told: Vec<String> = list
            .iter()
            .map(|(target, from)| format!("{target}:{}", from.join("+")))
            .collect();
        assert_eq!(told, ["b/%.o:s/%.c+x.h", "%.o:%.c"]);
    }

    #[test]
    fn folders_of_headers_are_found_where_compilers_are_told_them() {
        for (text, folders) in [
            (
                "I = inc\nCFLAGS=-Wall -I$(I) -I. -isystem 'third'\n",
                "inc . third",
            ),
            ("D = a b\nF = $(addprefix -I,$(D))\n", "a b"),
            ("F = $(foreach d,$(D),-I$(d))\n", UNKNOWN),
            ("export CPATH := x:y\n# -Iz\n", "x y"),
            ("\t$(CC) -I \"$(CURDIR)/q\" -c $<\n", "./q"),
        ] {
            assert_eq!(searched_by_compilers(text).join(" "), folders, "{text}");
        }
    }

    #[test]
    fn folders_on_path_are_found_in_makefiles_scripts_and_manifests() {
        for (text, folders) in [
            ("export PATH := $(CURDIR)/tools:$(PATH)", "./tools"),
            ("test: PATH := $(T):$(PATH)\nT = a b", "a b"),
            ("\tPATH=\"./tools:$$PATH\" python3 -m x", "./tools"),
            ("\tPATH=$$PWD/tools:$$PATH make", "tools"),
            ("PYTHONPATH=src MYPATH=a $(PATH) PATH", ""),
            ("export PATH := $(shell npm bin):/opt/bin:${PATH}", UNKNOWN),
        ] {
            let variables = Variables::of(text);
            let found = put_on_path(text, &|part| variables.expand(part));
            assert_eq!(found.join(" "), folders, "{text}");
        }
        for (text, folders) in [
            (
                "PATH=$(cd \"$(dirname \"$0\")/..\" && pwd)/t/bin:$PATH; x",
                "t/bin",
            ),
            (
                "export PATH=\"`pwd`/tools:${HERE}/more\":$PATH",
                "tools more",
            ),
            (
                "{\"env\": {\"PATH\": \"bin:/usr/bin\", \"A\": \"b:c\"}}",
                "bin",
            ),
            ("os.environ['PATH'] = 'tools' + os.pathsep", "tools"),
            ("PATH=$PATH:.", "."),
        ] {
            let found = put_on_path(text, &str::to_owned);
            assert_eq!(found.join(" "), folders, "{text}");
        }
    }
}
