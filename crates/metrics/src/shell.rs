//! What a shell command line would run and which files it names, seen from its text alone.
//!
//! Wrappers are looked through: `bash -lc '...'`, `env X=1 cmd`, `time`, `exec`, `xargs`, `find -exec`, `$(...)` and so on, and so
//! is what a shell is given to read by a here-document, a here-string, or `echo` and `cat` before a pipe.
//! Both branches of a condition count, and a loop's body counts once: this is what was written, not what ran.

use crate::shell_lexer::{Simple, Word, cut};
pub(super) use crate::shell_wrappers::base_name;
use crate::shell_wrappers::{beside, is_input, scripts, wrapped};
use proctor_layers::begins_with;

/// Longer command lines are cut, and are known to be.
const LONGEST: usize = 1024 * 1024;
/// No more commands are looked for in one line.
const MOST_COMMANDS: usize = 2_000;
/// Scripts within scripts are followed this far.
const DEEPEST: u32 = 8;
/// So many programs that only run another may stand one behind the other.
const MOST_WRAPPERS: usize = 32;
/// Words that are kept of a program that only runs another.
const OF_WRAPPER: usize = 64;

/// Programs that take a patch, by the words that they begin with.
const PATCHERS: &[&[&str]] = &[
    &["apply_patch"],
    &["applypatch"],
    &["patch"],
    &["git", "apply"],
    &["git", "am"],
];

/// Words that stand before a command without being one.
const BEFORE: &[&str] = &[
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "fi", "done", "esac", "}",
];
/// Words whose command is a list of words, a pattern or a name.
const NO_COMMAND: &[&str] = &["for", "case", "select", "function"];

/// What a command line shows.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// The simple commands, each as its program and arguments, as written.
    pub(super) commands: Vec<Vec<String>>,
    /// The same of programs that only run another one, such as `sudo`; shells are not among them.
    pub(super) wrappers: Vec<Vec<String>>,
    /// Files of redirections, values of variables, words of arrays, and what loops go over.
    pub(super) files: Vec<String>,
    /// Texts that a program for patches is given.
    pub(super) patches: Vec<String>,
    /// Whether there is more than is looked at.
    pub(super) is_cut: bool,
}

/// The simple commands inside a shown shell command line, each as its program and arguments, as written.
#[must_use]
pub(super) fn shell_commands(command: &str) -> Vec<Vec<String>> {
    let mut shown = Shown::default();
    shown.add_line(command);
    shown.commands
}

impl Shown {
    /// Adds what a command line shows.
    pub(super) fn add_line(&mut self, line: &str) {
        let mut end = line.len().min(LONGEST);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        self.is_cut |= end < line.len();
        self.script(&line[..end], DEEPEST);
    }

    /// Adds what a command shows that is given as its words.
    pub(super) fn add_words(&mut self, words: Vec<String>) {
        self.command(words, &[], DEEPEST);
    }

    fn script(&mut self, text: &str, depth: u32) {
        if depth == 0 {
            self.is_cut = true;
            return;
        }
        let script = cut(text);
        self.is_cut |= script.is_cut;
        let mut before: Option<String> = None;
        for command in &script.commands {
            if self.commands.len() >= MOST_COMMANDS {
                self.is_cut = true;
                return;
            }
            self.files.extend(named(command));
            let piped = before.take().filter(|_| command.piped);
            let input: Vec<String> = piped.into_iter().chain(command.input.clone()).collect();
            before = printed(command, &input);
            self.command(program(&command.words), &input, depth);
        }
        for list in &script.lists {
            self.list(list, depth - 1);
        }
        for nested in &script.nested {
            self.script(nested, depth - 1);
        }
    }

    /// Adds the words of an array.
    fn list(&mut self, text: &str, depth: u32) {
        if depth == 0 {
            self.is_cut = true;
            return;
        }
        let script = cut(text);
        self.is_cut |= script.is_cut;
        let words = script.commands.into_iter().flat_map(|it| it.words);
        self.files.extend(words.map(|word| word.text));
        for nested in &script.nested {
            self.script(nested, depth - 1);
        }
        for list in &script.lists {
            self.list(list, depth - 1);
        }
    }

    /// Adds a command, or what it runs if it is a wrapper. Each turn leaves fewer words, or goes into a script.
    fn command(&mut self, mut words: Vec<String>, input: &[String], depth: u32) {
        let mut turns = 0;
        while let Some(name) = words.first().map(|first| base_name(first)) {
            turns += 1;
            if self.commands.len() >= MOST_COMMANDS || depth == 0 || turns > MOST_WRAPPERS {
                self.is_cut = true;
                return;
            }
            if let Some(scripts) = scripts(name, &words[1..], input) {
                for script in &scripts {
                    self.script(script, depth - 1);
                }
                return;
            }
            for words in beside(name, &words) {
                self.command(words, &[], depth - 1);
            }
            let Some(rest) = wrapped(name, &words) else {
                if PATCHERS.iter().any(|patcher| begins_with(&words, patcher)) {
                    self.patches
                        .extend(words.iter().skip(1).chain(input).cloned());
                }
                self.commands.push(words);
                return;
            };
            if self.wrappers.len() < MOST_COMMANDS {
                words.truncate(OF_WRAPPER);
                self.wrappers.push(words);
            }
            words = rest;
        }
    }
}

/// The files that a command names beside its words.
fn named(command: &Simple) -> impl Iterator<Item = String> {
    let assigned = command.words.iter().filter(|word| word.assigns);
    let values = assigned.filter_map(|word| Some(word.text.split_once('=')?.1.to_owned()));
    let is_loop = command
        .words
        .iter()
        .any(|word| !word.quoted && matches!(word.text.as_str(), "for" | "select"));
    let list = command
        .words
        .iter()
        .skip_while(|word| word.text != "in")
        .skip(1);
    let list = list.filter(move |_| is_loop).map(|word| word.text.clone());
    command.targets.iter().cloned().chain(values).chain(list)
}

/// What a command prints, where its text tells.
fn printed(command: &Simple, input: &[String]) -> Option<String> {
    let words = program(&command.words);
    let (name, rest) = words.split_first()?;
    match base_name(name) {
        "echo" => {
            let is_letters = |word: &&String| {
                let letters = word.strip_prefix('-').unwrap_or_default();
                !letters.is_empty() && letters.chars().all(|letter| "neE".contains(letter))
            };
            let options = rest.iter().take_while(is_letters).count();
            let (options, texts) = rest.split_at(options);
            let text = texts.join(" ");
            let escapes = options.iter().any(|word| word.contains('e'));
            Some(if escapes { unescaped(&text) } else { text })
        }
        "printf" => {
            let (format, values) = rest.split_first()?;
            let fill = |text: String, value: &String| match text.split_once("%s") {
                Some((begin, end)) => [begin, value, end].concat(),
                None => [&text, "\n", value].concat(),
            };
            Some(values.iter().fold(unescaped(format), fill))
        }
        "cat" if rest.iter().all(|word| is_input(word)) => input.last().cloned(),
        "tee" => input.last().cloned(),
        _ => None,
    }
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n")
}

fn plain(word: &Word, list: &[&str]) -> bool {
    !word.quoted && list.contains(&word.text.as_str())
}

/// The words of a command from its program on, without keywords and assignments.
fn program(words: &[Word]) -> Vec<String> {
    let mut words = words;
    while let Some(first) = words.first() {
        let is_keyword = |place: usize| words.get(place).is_some_and(|word| plain(word, BEFORE));
        let further = if first.assigns || plain(first, BEFORE) {
            1
        } else if plain(first, &["coproc"]) {
            // A group may have a name.
            if is_keyword(2) { 2 } else { 1 }
        } else if plain(first, &["time"]) {
            let has_option = words.get(1).is_some_and(|word| plain(word, &["-p"]));
            let further = if has_option { 2 } else { 1 };
            if !is_keyword(further) {
                break;
            }
            further
        } else {
            break;
        };
        words = &words[further..];
    }
    if words.first().is_some_and(|first| plain(first, NO_COMMAND)) {
        // What opens a function's body may stand on the same line.
        let body = words.iter().skip_while(|word| !plain(word, &["{"]));
        return body.skip(1).map(|word| word.text.clone()).collect();
    }
    words.iter().map(|word| word.text.clone()).collect()
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
