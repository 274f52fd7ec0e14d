//! Calls of tools, and patterns for calls that must not be made.

use globset::GlobMatcher;
use serde_json::Value;

use super::pattern::Pattern;

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Call {
    /// Name of the tool.
    pub tool: String,
    /// Its arguments; a text where they are no JSON.
    pub arguments: Value,
    /// The commands that it runs, each as its words, if it is a call of a shell.
    pub commands: Vec<Vec<String>>,
}

impl Call {
    /// Every text in the arguments.
    fn texts(&self) -> Vec<&str> {
        let mut found = Vec::new();
        leaves(&self.arguments, &mut found);
        found
    }

    /// Every text that may be a path: arguments, and words of commands.
    fn paths(&self) -> impl Iterator<Item = String> {
        let words = self.commands.iter().flatten().map(String::as_str);
        let all: Vec<&str> = self.texts().into_iter().chain(words).collect();
        // `--file=x` names x.
        let each = all.into_iter().flat_map(|text| {
            let value = text.split_once('=').map(|(_, value)| value);
            [Some(text), value].into_iter().flatten()
        });
        each.map(plain_path).collect::<Vec<_>>().into_iter()
    }
}

fn leaves<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(values) => values.iter().for_each(|value| leaves(value, found)),
        Value::Object(entries) => entries.values().for_each(|value| leaves(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A path without `.`, `..` and repeated slashes, as far as its text tells.
fn plain_path(text: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            // The root is its own parent.
            ".." if text.starts_with('/') => {}
            part => parts.push(part),
        }
    }
    let root = if text.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// One of `forbidden_calls`: a call that all of it fits.
#[derive(Debug, Clone)]
pub struct CallPattern {
    /// `tool`; any where it is not said. A `*` stands for any letters.
    pub tool: Option<String>,
    /// `command`: words that a command of the call begins with.
    pub command: Vec<String>,
    /// `path`: a glob that a path in the call fits.
    pub path: Option<GlobMatcher>,
    /// `pattern`: matches in an argument.
    pub pattern: Option<Pattern>,
}

impl PartialEq for CallPattern {
    fn eq(&self, other: &Self) -> bool {
        let glob = |path: &Option<GlobMatcher>| path.as_ref().map(|it| it.glob().to_string());
        (&self.tool, &self.command, &self.pattern) == (&other.tool, &other.command, &other.pattern)
            && glob(&self.path) == glob(&other.path)
    }
}

impl CallPattern {
    /// A glob for paths: one that does not begin at the root fits at any depth.
    ///
    /// # Errors
    /// What is wrong with it, as a fragment.
    pub fn glob(written: &str) -> Result<GlobMatcher, String> {
        let anywhere = if written.starts_with('/') {
            written.to_owned()
        } else {
            format!("**/{}", written.trim_start_matches("./"))
        };
        let glob = globset::GlobBuilder::new(&anywhere)
            .literal_separator(true)
            .build();
        glob.map(|glob| glob.compile_matcher())
            .map_err(|error| error.kind().to_string())
    }

    /// Whether a call fits.
    #[must_use]
    pub fn fits(&self, call: &Call) -> bool {
        let tool = self.tool.as_ref();
        let tool = tool.is_none_or(|tool| named(tool, &call.tool));
        let command = self.command.is_empty() || call.commands.iter().any(|words| self.runs(words));
        let path = self.path.as_ref();
        let path = path.is_none_or(|glob| call.paths().any(|path| glob.is_match(path)));
        let pattern = self.pattern.as_ref();
        let pattern = pattern.is_none_or(|pattern| {
            let mut texts = call.texts().into_iter();
            // What takes too long to be known is taken for a match: a rule that may be broken is.
            texts.any(|text| pattern.found_in(text).unwrap_or(true))
        });
        tool && command && path && pattern
    }

    /// Whether a command begins with the words of the rule; programs are known without their folder.
    fn runs(&self, words: &[String]) -> bool {
        let (Some((program, arguments)), Some((asked, rest))) =
            (words.split_first(), self.command.split_first())
        else {
            return false;
        };
        let name = program.rsplit('/').next().unwrap_or(program);
        (program == asked || name == asked) && arguments.starts_with(rest)
    }

    /// What it forbids, in words.
    #[must_use]
    pub fn words(&self) -> String {
        let mut parts = Vec::new();
        if let Some(tool) = &self.tool {
            parts.push(format!("tool {tool}"));
        }
        if !self.command.is_empty() {
            parts.push(format!("command {}", self.command.join(" ")));
        }
        if let Some(path) = &self.path {
            let shown = path.glob().to_string();
            parts.push(format!("path {}", shown.trim_start_matches("**/")));
        }
        if let Some(pattern) = &self.pattern {
            parts.push(format!("pattern {}", pattern.written()));
        }
        parts.join(", ")
    }
}

/// Whether a name is the one that was written, in which a `*` stands for any letters.
fn named(written: &str, name: &str) -> bool {
    let Some((begin, rest)) = written.split_once('*') else {
        return written == name;
    };
    let Some(mut left) = name.strip_prefix(begin) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some(at) = left.find(part) else {
            return false;
        };
        left = &left[at + part.len()..];
    }
    true
}
