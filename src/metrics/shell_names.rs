//! Which shell command lines cannot run a program of certain names: most are seen not to without cutting them into words.

use std::borrow::Cow;

use memchr::memmem::Finder;

use crate::model::Spelled;

/// A command line, as a text or as it is spelled in a line of a stream.
#[derive(Debug, Clone, Copy)]
pub(super) enum CommandLine<'a> {
    Text(&'a str),
    Spelled(Spelled<'a>),
}

impl<'a> CommandLine<'a> {
    pub(super) fn text(self) -> Cow<'a, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            Self::Spelled(spelled) => spelled.text(),
        }
    }
}

/// Names of programs.
#[derive(Debug, Clone)]
pub(super) struct Names {
    /// What looks for each; nothing where any line could hold one.
    finders: Option<Vec<Finder<'static>>>,
}

impl Default for Names {
    fn default() -> Self {
        Self::of(&[])
    }
}

impl Names {
    pub(super) fn of(names: &[String]) -> Self {
        let odd = |name: &String| name.is_empty() || name.bytes().any(goes_away);
        let finders = || names.iter().map(|name| Finder::new(name).into_owned());
        Self {
            finders: (!names.iter().any(odd)).then(|| finders().collect()),
        }
    }

    /// Whether a command line may hold one of the names as a word, however it is quoted. What quoting takes out of a word is
    /// taken out of the whole line, and the name looked for in what is left.
    pub(super) fn may_be_run_by(&self, command: CommandLine<'_>) -> bool {
        let Some(finders) = &self.finders else {
            return true;
        };
        let has_one = |text: &[u8]| finders.iter().any(|finder| finder.find(text).is_some());
        let (inside, is_spelled) = match command {
            CommandLine::Text(text) => (text, false),
            CommandLine::Spelled(spelled) => (spelled.inside(), true),
        };
        if !inside.bytes().any(goes_away) {
            return has_one(inside.as_bytes());
        }
        let bare = if is_spelled {
            bare_of_spelled(inside)
        } else {
            bytes_that_stay(inside).collect()
        };
        has_one(&bare)
    }
}

fn bytes_that_stay(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().filter(|byte| !goes_away(*byte))
}

/// What stays of a text that is spelled so.
fn bare_of_spelled(inside: &str) -> Vec<u8> {
    let mut bare = Vec::with_capacity(inside.len());
    let mut rest = inside;
    while let Some(run) = rest.find('\\') {
        let (plain, escape) = rest.split_at(run);
        bare.extend(bytes_that_stay(plain));
        let (character, length) = Spelled::unescaped(escape);
        bare.extend(bytes_that_stay(character.encode_utf8(&mut [0; 4])));
        rest = escape.get(length..).unwrap_or_default();
    }
    bare.extend(bytes_that_stay(rest));
    bare
}

/// Whether quoting may take this byte out of a word.
const fn goes_away(byte: u8) -> bool {
    matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'\n')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::metrics::shell::{base_name, shell_commands};

    const PIECES: [&str; 24] = [
        "xcode",
        "build",
        "xcodebuild",
        "xcrun",
        "'",
        "\"",
        "\\",
        "\\\n",
        "\n",
        "$'",
        "$(",
        ")",
        "`",
        "${x}",
        " ",
        ";",
        "| xargs ",
        "sh -c ",
        "eval ",
        "env A=1 ",
        "/usr/bin/",
        "\\n",
        "<<E\n",
        "é",
    ];

    #[test]
    fn lines_without_a_name_are_told_from_those_with_one() {
        let names = Names::of(&["xcodebuild".to_owned(), "xcrun".to_owned()]);
        assert!(!names.may_be_run_by(CommandLine::Text(
            "bash -lc 'echo hi > out.txt && cat out.txt'"
        )));
        assert!(names.may_be_run_by(CommandLine::Text("bash -lc 'xc\"ode\"bu\\ild -list'")));
        assert!(Names::of(&["$x".to_owned()]).may_be_run_by(CommandLine::Text("ls")));
        assert!(!Names::default().may_be_run_by(CommandLine::Text("ls")));
    }

    proptest! {
        #[test]
        fn whoever_is_run_may_be_run(pieces in prop::collection::vec(select(PIECES.to_vec()), 0..12)) {
            let line = pieces.concat();
            let watched = ["xcodebuild", "xcrun"];
            let names = Names::of(&watched.map(str::to_owned));
            let runs = shell_commands(&line).iter().any(|words| {
                words.first().is_some_and(|program| watched.contains(&base_name(program)))
            });
            let may = names.may_be_run_by(CommandLine::Text(&line));
            prop_assert!(!runs || may, "{line}");
            let spelled = serde_json::Value::from(line.as_str()).to_string();
            let inside = &spelled[1..spelled.len() - 1];
            let spelled = Spelled::new(inside, inside.contains('\\'));
            prop_assert_eq!(names.may_be_run_by(CommandLine::Spelled(spelled)), may, "{}", line);
        }
    }
}
