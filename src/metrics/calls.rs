//! A call of a tool as the layers know it: the commands that it runs and the paths that it names, by its arguments.

use serde_json::Value;

use crate::layers::{Call, CommandWords, Depth, Touched, begins_with};
use crate::metrics::shell::Shown;

/// Arguments that are a command: a line, or its words.
const COMMANDS: &[&str] = &["argv", "cmd", "command", "commands", "shell_command"];
/// Arguments that go on with the words of a command beside them.
const REST: &[&str] = &["args", "arguments"];
/// What the name of an argument says if it is a path, even of one that has spaces in it or looks like a word.
const PATHS: &[&str] = &["cwd", "dir", "file", "folder", "path"];
/// Programs whose words are texts.
const TALKERS: &[&str] = &["echo", "printf"];
/// Programs whose first operand is what they look for or do, and the options that say it instead.
const SEARCHERS: &[&[&str]] = &[
    &["grep"],
    &["egrep"],
    &["fgrep"],
    &["zgrep"],
    &["rg"],
    &["ag"],
    &["ack"],
    &["sed"],
    &["awk"],
    &["gawk"],
    &["git", "grep"],
];
const SOUGHT: &[&str] = &["-e", "-f", "--expression", "--file", "--regexp"];
/// Options whose value is a text.
const TEXTS: &[&str] = &[
    "-e",
    "-m",
    "--expression",
    "--grep",
    "--message",
    "--regexp",
];
/// Programs that take a folder with all below it.
const TAKERS: &[&[&str]] = &[
    &["rm"],
    &["rmdir"],
    &["mv"],
    &["cp"],
    &["chmod"],
    &["chown"],
    &["chgrp"],
    &["rsync"],
    &["scp"],
    &["tar"],
    &["zip"],
    &["find"],
    &["grep"],
    &["rg"],
    &["ag"],
    &["ack"],
    &["diff"],
    &["du"],
    &["tree"],
    &["git", "add"],
    &["git", "clean"],
    &["git", "grep"],
    &["git", "mv"],
    &["git", "restore"],
    &["git", "rm"],
];
/// Programs that go into a folder or list it.
const ENTERERS: &[&str] = &["cd", "ln", "ls", "pushd"];
/// A longer text is no path.
const LONGEST_PATH: usize = 4096;

/// A call of `tool`; `command` is the command line that it ran, if the agent's stream tells it apart from the arguments.
#[must_use]
pub fn call_made(tool: String, arguments: Value, command: Option<&str>) -> Call {
    let mut seen = Seen {
        told: command,
        shown: Shown::default(),
        touched: Vec::new(),
    };
    if let Some(command) = command {
        seen.shown.add_line(command);
    }
    seen.value("", &arguments);
    let Shown {
        commands,
        files,
        patches,
        is_cut,
    } = seen.shown;
    let mut touched = seen.touched;
    touched.extend(patches.iter().flat_map(|text| patched(text)));
    touched.extend(files.into_iter().map(itself));
    touched.extend(commands.iter().flat_map(|words| named(words)));
    Call {
        tool,
        arguments,
        commands,
        touched,
        is_cut,
    }
}

struct Seen<'a> {
    told: Option<&'a str>,
    shown: Shown,
    touched: Vec<Touched>,
}

impl Seen<'_> {
    /// Takes in an argument and all in it.
    fn value(&mut self, key: &str, value: &Value) {
        match value {
            Value::String(text) => self.text(key, text),
            Value::Array(values) => values.iter().for_each(|value| self.value(key, value)),
            Value::Object(entries) => {
                let rest = REST.iter().find_map(|key| words(entries.get(*key)?));
                for (key, value) in entries {
                    let runs =
                        COMMANDS.contains(&key.as_str()) && self.command(value, rest.as_deref());
                    if !runs {
                        self.value(key, value);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Takes in a command, if it is one.
    fn command(&mut self, value: &Value, rest: Option<&[String]>) -> bool {
        match (value, words(value)) {
            (Value::String(line), _)
                if self
                    .told
                    .is_some_and(|told| told.starts_with(line.as_str())) => {}
            (Value::String(line), _) if rest.is_none() => self.shown.add_line(line),
            (Value::String(program), _) => {
                let rest = rest.unwrap_or_default().iter().cloned();
                self.shown
                    .add_words(std::iter::once(program.clone()).chain(rest).collect());
            }
            // No program has a space in its name: they are lines.
            (_, Some(words)) if words.first().is_some_and(|first| first.contains(' ')) => {
                for line in &words {
                    self.shown.add_line(line);
                }
            }
            (_, Some(words)) => self.shown.add_words(words),
            // A list of commands, each a line or its words.
            (Value::Array(each), None) => each.iter().for_each(|one| _ = self.command(one, None)),
            _ => return false,
        }
        true
    }

    fn text(&mut self, key: &str, text: &str) {
        let names_path = PATHS
            .iter()
            .any(|word| key.to_ascii_lowercase().contains(word));
        if text.trim_start().starts_with("*** Begin Patch")
            || key.contains("patch")
            || key.contains("diff")
        {
            self.touched.extend(patched(text));
        }
        let one_word = || !text.contains(char::is_whitespace);
        if text.len() <= LONGEST_PATH && (names_path || one_word()) {
            let depth = if names_path {
                Depth::Entries
            } else {
                Depth::Itself
            };
            self.touched.push(Touched {
                path: text.to_owned(),
                depth,
            });
        }
    }
}

/// The texts of a list that has nothing else.
fn words(value: &Value) -> Option<Vec<String>> {
    let items = value.as_array()?.iter();
    items.map(|item| item.as_str().map(str::to_owned)).collect()
}

fn itself(path: String) -> Touched {
    Touched {
        path,
        depth: Depth::Itself,
    }
}

/// The paths that the words of a command name.
fn named(words: &[String]) -> Vec<Touched> {
    let Some(parts) = CommandWords::of(words) else {
        return Vec::new();
    };
    if TALKERS.contains(&parts.program) {
        return Vec::new();
    }
    let is = |kinds: &[&[&str]]| {
        kinds
            .iter()
            .find(|kind| begins_with(words, kind))
            .map(|kind| kind.len())
    };
    let depth = if is(TAKERS).is_some() {
        Depth::All
    } else if ENTERERS.contains(&parts.program) {
        Depth::Entries
    } else {
        Depth::Itself
    };
    let says = |(option, _): &(&str, Option<&str>)| SOUGHT.contains(option);
    let sought = usize::from(!parts.options.iter().any(says));
    // A subcommand is no path, and neither is what is looked for.
    let skipped = is(SEARCHERS).map_or(0, |length| length - 1 + sought);
    let options = parts.options.iter().flat_map(|(option, value)| {
        let value = value.filter(|_| !TEXTS.contains(option));
        std::iter::once(*option).chain(value)
    });
    let operands = parts.operands.iter().skip(skipped).map(|path| Touched {
        path: (*path).to_owned(),
        depth,
    });
    let program = words.first().map(String::as_str);
    let texts = program.into_iter().chain(options);
    texts
        .map(|text| itself(text.to_owned()))
        .chain(operands)
        .collect()
}

/// The files that a patch changes: one of Codex's own form, or a unified diff.
fn patched(text: &str) -> Vec<Touched> {
    const HEADS: [&str; 4] = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ];
    const DIFF_HEADS: [&str; 4] = ["--- ", "+++ ", "rename from ", "rename to "];
    let own = text.contains("*** Begin Patch");
    let heads: &[&str] = if own { &HEADS } else { &DIFF_HEADS };
    let paths = text.lines().filter_map(|line| {
        let line = if own { line.trim_start() } else { line };
        let path = heads.iter().find_map(|head| line.strip_prefix(head))?;
        Some(path.split('\t').next().unwrap_or(path).trim())
    });
    paths.map(|path| itself(path.to_owned())).collect()
}

#[cfg(test)]
#[path = "calls_tests.rs"]
mod tests;
