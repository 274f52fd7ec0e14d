//! Which programs a shell command line would run, seen from its text alone.
//!
//! Wrappers are looked through: `bash -lc '...'`, `env X=1 cmd`, `time`, `exec`, `xargs`, `$(...)` and so on.
//! Both branches of a condition count, and a loop's body counts once: this is what was written, not what ran.

use crate::metrics::shell_lexer::{Word, cut};

/// Longer command lines are cut: no person or model writes them.
const LONGEST: usize = 256 * 1024;
/// No more commands are looked for in one line.
const MOST_COMMANDS: usize = 2_000;
/// Scripts within scripts are followed this far.
const DEEPEST: u32 = 8;

/// Programs that run another: their options that take a value, and how many words come before that program.
const WRAPPERS: &[(&str, &[&str], usize)] = &[
    ("arch", &["-e", "-d"], 0),
    ("builtin", &[], 0),
    ("caffeinate", &["-t", "-w"], 0),
    ("command", &[], 0),
    ("env", &["-u", "-C", "-P", "--unset", "--chdir"], 0),
    ("exec", &["-a"], 0),
    ("gtimeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    ("ionice", &["-c", "-n", "-p"], 0),
    ("nice", &["-n", "--adjustment"], 0),
    ("nohup", &[], 0),
    ("setsid", &[], 0),
    ("stdbuf", &["-i", "-o", "-e"], 0),
    (
        "sudo",
        &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U"],
        0,
    ),
    ("time", &["-o", "-f"], 0),
    ("timeout", &["-s", "-k", "--signal", "--kill-after"], 1),
    (
        "xargs",
        &["-I", "-n", "-P", "-L", "-d", "-s", "-E", "-a"],
        0,
    ),
];

/// Words that stand before a command without being one.
const BEFORE: &[&str] = &[
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "coproc", "fi", "done", "esac",
    "}",
];
/// Words whose command is a list of words, a pattern or a name.
const NO_COMMAND: &[&str] = &["for", "case", "select", "function"];

/// The simple commands inside a shown shell command line, each as its program and arguments, as written.
#[must_use]
pub fn shell_commands(command: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut end = command.len().min(LONGEST);
    while !command.is_char_boundary(end) {
        end -= 1;
    }
    collect(&command[..end], DEEPEST, &mut found);
    found
}

fn collect(text: &str, depth: u32, found: &mut Vec<Vec<String>>) {
    if depth == 0 {
        return;
    }
    let script = cut(text);
    for command in &script.commands {
        if found.len() >= MOST_COMMANDS {
            return;
        }
        unwrap(program(command), depth, found);
    }
    for nested in &script.nested {
        collect(nested, depth - 1, found);
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

/// Adds a command, or what it runs if it is a wrapper. Each turn leaves fewer words.
fn unwrap(mut words: Vec<String>, depth: u32, found: &mut Vec<Vec<String>>) {
    while let Some(name) = words.first().map(|first| base_name(first)) {
        if matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh" | "fish")
            && let Some(script) = inline_script(&words[1..])
        {
            collect(script, depth - 1, found);
            return;
        }
        if name == "eval" {
            collect(&words[1..].join(" "), depth - 1, found);
            return;
        }
        let Some(rest) = wrapped(name, &words) else {
            found.push(words);
            return;
        };
        words = rest.to_vec();
    }
}

/// The file name of a program that may be given by a path.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// What the wrapper `words` would run; absent if it is none.
fn wrapped<'a>(name: &str, words: &'a [String]) -> Option<&'a [String]> {
    let (_, valued, positional) = WRAPPERS.iter().find(|(wrapper, _, _)| *wrapper == name)?;
    let mut rest = &words[1..];
    while let Some(option) = rest
        .first()
        .filter(|word| word.len() > 1 && word.starts_with('-'))
    {
        if name == "command" && option.contains(['v', 'V']) {
            return None;
        }
        let taken = if valued.contains(&option.as_str()) {
            2
        } else {
            1
        };
        rest = rest.get(taken..).unwrap_or_default();
        if option == "--" {
            break;
        }
    }
    rest = rest.get(*positional..).unwrap_or_default();
    if matches!(name, "env" | "sudo" | "time") {
        let assigns = |word: &&String| word.contains('=') && !word.starts_with('-');
        rest = &rest[rest.iter().take_while(assigns).count()..];
    }
    Some(rest)
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
