//! Which shell command lines cannot run a program of certain names: most are seen not to without cutting them into words.

use std::borrow::Cow;

use proctor_model::Spelled;

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
    /// Nothing where any line could hold one.
    names: Option<Vec<Box<[u8]>>>,
    /// The bytes that they begin with.
    begins: Vec<u8>,
}

impl Default for Names {
    fn default() -> Self {
        Self::of(&[])
    }
}

impl Names {
    pub(super) fn of(names: &[String]) -> Self {
        let is_odd = |byte: u8| byte.is_ascii_control() || goes_away(byte);
        let odd = |name: &String| name.is_empty() || name.bytes().any(is_odd);
        let mut begins: Vec<u8> = names
            .iter()
            .filter_map(|name| name.bytes().next())
            .collect();
        begins.sort_unstable();
        begins.dedup();
        let all = || names.iter().map(|name| name.as_bytes().into()).collect();
        Self {
            names: (!names.iter().any(odd)).then(all),
            begins,
        }
    }

    /// Whether a command line may hold one of the names as a word, however it is quoted: what quoting takes out of a word is
    /// passed over wherever it stands. Few lines have a place at which one could begin.
    pub(super) fn may_be_run_by(&self, command: CommandLine<'_>) -> bool {
        let Some(names) = &self.names else {
            return true;
        };
        let (inside, is_spelled) = match command {
            CommandLine::Text(text) => (text.as_bytes(), false),
            CommandLine::Spelled(spelled) => (spelled.inside().as_bytes(), true),
        };
        self.begins.iter().any(|begin| {
            memchr::memchr_iter(*begin, inside).any(|place| {
                let rest = &inside[place..];
                names.iter().any(|name| begins_with(name, rest, is_spelled))
            })
        })
    }
}

/// Whether what stays of a text begins with a name. Of one that is spelled as JSON, a letter of an escape may be taken for the
/// name's first: that is seen when the line is cut into words.
fn begins_with(name: &[u8], text: &[u8], is_spelled: bool) -> bool {
    let mut rest = text;
    for letter in name {
        loop {
            match rest {
                // Another escape is a control character, which stays; no name that is looked for has one.
                [b'\\', b'n' | b'"' | b'\\', after @ ..] if is_spelled => rest = after,
                [byte, after @ ..] if goes_away(*byte) && !(is_spelled && *byte == b'\\') => {
                    rest = after;
                }
                [byte, after @ ..] if byte == letter => {
                    rest = after;
                    break;
                }
                _ => return false,
            }
        }
    }
    true
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
    use crate::shell::{base_name, shell_commands};

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
