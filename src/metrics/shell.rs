//! What a shell command line would run and which files it names, seen from its text alone.
//!
//! Wrappers are looked through: `bash -lc '...'`, `env X=1 cmd`, `time`, `exec`, `xargs`, `find -exec`, `$(...)` and so on, and so
//! is what a shell is given to read by a here-document, a here-string, or `echo` and `cat` before a pipe.
//! Both branches of a condition count, and a loop's body counts once: this is what was written, not what ran.

use crate::layers::begins_with;
use crate::metrics::shell_lexer::{Simple, Word, cut};

/// Longer command lines are cut, and are known to be.
const LONGEST: usize = 1024 * 1024;
/// No more commands are looked for in one line.
const MOST_COMMANDS: usize = 2_000;
/// Scripts within scripts are followed this far.
const DEEPEST: u32 = 8;

/// Programs that run another: their options that take a value, and how many words come before that program.
const WRAPPERS: &[(&str, &[&str], usize)] = &[
    ("arch", &["-e", "-d"], 0),
    ("builtin", &[], 0),
    ("busybox", &[], 0),
    ("caffeinate", &["-t", "-w"], 0),
    ("chroot", &[], 1),
    ("command", &[], 0),
    ("doas", &["-C", "-u"], 0),
    ("env", &["-u", "-C", "-P", "--unset", "--chdir"], 0),
    ("exec", &["-a"], 0),
    ("flock", &["-E", "-w", "--timeout"], 1),
    ("gtimeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    ("ionice", &["-c", "-n", "-p"], 0),
    ("nice", &["-n", "--adjustment"], 0),
    ("nohup", &[], 0),
    ("parallel", &["-I", "-N", "-j", "-n", "--jobs"], 0),
    ("setsid", &[], 0),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    ("strace", &["-e", "-o", "-p", "-s"], 0),
    (
        "sudo",
        &[
            "-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "--chdir", "--group", "--user",
        ],
        0,
    ),
    ("taskset", &[], 1),
    ("time", &["-o", "-f"], 0),
    ("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    ("unbuffer", &[], 0),
    (
        "xargs",
        &["-I", "-n", "-P", "-L", "-d", "-s", "-E", "-a"],
        0,
    ),
];
/// Programs that run another for what they find, and the options before it.
const FINDERS: &[(&str, &[&str])] = &[
    ("find", &["-exec", "-execdir", "-ok", "-okdir"]),
    ("fd", &["-X", "-x", "--exec", "--exec-batch"]),
];
/// Programs that run all of their words as one script.
const JOINERS: &[&str] = &["eval", "watch"];
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
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "coproc", "fi", "done", "esac",
    "}",
];
/// Words whose command is a list of words, a pattern or a name.
const NO_COMMAND: &[&str] = &["for", "case", "select", "function"];

/// What a command line shows.
#[derive(Debug, Default)]
pub(super) struct Shown {
    /// The simple commands, each as its program and arguments, as written.
    pub(super) commands: Vec<Vec<String>>,
    /// Files of redirections, values of variables, and what loops go over.
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
        let mut before: Option<&Simple> = None;
        for command in &script.commands {
            if self.commands.len() >= MOST_COMMANDS {
                self.is_cut = true;
                return;
            }
            self.files.extend(named(command));
            let mut input = command.input.clone();
            if command.piped {
                input.extend(before.and_then(printed));
            }
            self.command(program(&command.words), &input, depth);
            before = Some(command);
        }
        for nested in &script.nested {
            self.script(nested, depth - 1);
        }
    }

    /// Adds a command, or what it runs if it is a wrapper. Each turn leaves fewer words.
    fn command(&mut self, mut words: Vec<String>, input: &[String], depth: u32) {
        while let Some(name) = words.first().map(|first| base_name(first)) {
            if self.commands.len() >= MOST_COMMANDS || depth == 0 {
                self.is_cut = true;
                return;
            }
            if let Some(scripts) = scripts(name, &words[1..], input) {
                for script in &scripts {
                    self.script(script, depth - 1);
                }
                return;
            }
            if let Some((_, options)) = FINDERS.iter().find(|(finder, _)| *finder == name) {
                let of_option = |word: &String| options.contains(&word.as_str());
                let parts = words.split(|word| of_option(word)).skip(1);
                let ends = |word: &&String| !matches!(word.as_str(), ";" | "+");
                let each: Vec<Vec<String>> = parts
                    .map(|part| part.iter().take_while(ends).cloned().collect())
                    .collect();
                for words in each {
                    self.command(words, &[], depth - 1);
                }
            }
            let Some(rest) = wrapped(name, &words) else {
                if PATCHERS.iter().any(|patcher| begins_with(&words, patcher)) {
                    self.patches
                        .extend(words.iter().skip(1).chain(input).cloned());
                }
                self.commands.push(words);
                return;
            };
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
fn printed(command: &Simple) -> Option<String> {
    let words = program(&command.words);
    let (name, rest) = words.split_first()?;
    match base_name(name) {
        "echo" | "printf" => Some(rest.join(" ")),
        "cat" if rest.is_empty() => command.input.last().cloned(),
        _ => None,
    }
}

/// The words of a command from its program on, without keywords and assignments.
fn program(words: &[Word]) -> Vec<String> {
    let plain = |word: &Word, list: &[&str]| !word.quoted && list.contains(&word.text.as_str());
    let start = words
        .iter()
        .position(|word| !word.assigns && !plain(word, BEFORE))
        .unwrap_or(words.len());
    let words = &words[start..];
    if words.first().is_some_and(|first| plain(first, NO_COMMAND)) {
        // What opens a function's body may stand on the same line.
        let body = words.iter().skip_while(|word| !plain(word, &["{"]));
        return body.skip(1).map(|word| word.text.clone()).collect();
    }
    words.iter().map(|word| word.text.clone()).collect()
}

/// The scripts that a program would run as a shell does; absent if it is none that does, or is given a file.
fn scripts(name: &str, arguments: &[String], input: &[String]) -> Option<Vec<String>> {
    if JOINERS.contains(&name) {
        let options = arguments.iter().take_while(|word| word.starts_with('-'));
        return Some(vec![arguments[options.count()..].join(" ")]);
    }
    if name == "trap" {
        return Some(arguments.first().cloned().into_iter().collect());
    }
    if name == "su" {
        let mut words = arguments
            .iter()
            .skip_while(|word| !matches!(word.as_str(), "-c" | "--command"));
        return Some(words.nth(1).cloned().into_iter().collect());
    }
    if !matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish") {
        return None;
    }
    if let Some(script) = inline_script(arguments) {
        return Some(vec![script.to_owned()]);
    }
    let reads = arguments.iter().all(|word| word.starts_with('-'));
    (reads && !input.is_empty()).then(|| input.to_vec())
}

/// The file name of a program that may be given by a path.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// What the wrapper `words` would run; absent if it is none.
fn wrapped(name: &str, words: &[String]) -> Option<Vec<String>> {
    let (_, valued, positional) = WRAPPERS.iter().find(|(wrapper, _, _)| *wrapper == name)?;
    let mut rest = &words[1..];
    while let Some(option) = rest
        .first()
        .filter(|word| word.len() > 1 && word.starts_with('-'))
    {
        if name == "command" && option.contains(['v', 'V']) {
            return None;
        }
        if name == "env" && matches!(option.as_str(), "-S" | "--split-string") {
            let split = rest
                .get(1)
                .map(|text| text.split_whitespace().map(str::to_owned));
            return Some(split?.chain(rest[2..].iter().cloned()).collect());
        }
        let taken = if takes_value(option, valued) { 2 } else { 1 };
        rest = rest.get(taken..).unwrap_or_default();
        if option == "--" {
            break;
        }
    }
    rest = rest.get(*positional..).unwrap_or_default();
    if matches!(name, "env" | "sudo" | "doas" | "time") {
        let assigns = |word: &&String| word.contains('=') && !word.starts_with('-');
        rest = &rest[rest.iter().take_while(assigns).count()..];
    }
    Some(rest.to_vec())
}

/// Whether an option takes the next word: it, or the last of several letters in one.
fn takes_value(option: &str, valued: &[&str]) -> bool {
    let mut letters = option.chars().rev();
    let last = letters.next().filter(|_| !option.starts_with("--"));
    valued.contains(&option)
        || last.is_some_and(|last| valued.contains(&format!("-{last}").as_str()))
}

/// The script of `sh -c SCRIPT`, with `-c` alone or among other letters.
fn inline_script(arguments: &[String]) -> Option<&str> {
    let mut wanted = false;
    let mut skip = false;
    for argument in arguments {
        let is_option = argument.starts_with(['-', '+']);
        if std::mem::take(&mut skip) {
            continue;
        }
        if is_option {
            skip = matches!(
                argument.as_str(),
                "-o" | "+o" | "-O" | "+O" | "--rcfile" | "--init-file"
            );
            wanted |=
                argument.starts_with('-') && !argument.starts_with("--") && argument.contains('c');
        } else {
            return wanted.then_some(argument);
        }
    }
    None
}

#[cfg(test)]
#[path = "shell_tests.rs"]
mod tests;
