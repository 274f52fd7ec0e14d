//! Which shell command lines cannot run a program of certain names: most are seen not to without cutting them into words.

use memchr::memmem::Finder;

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
    pub(super) fn may_be_run_by(&self, command: &str) -> bool {
        let Some(finders) = &self.finders else {
            return true;
        };
        let has_one = |text: &[u8]| finders.iter().any(|finder| finder.find(text).is_some());
        if !command.bytes().any(goes_away) {
            return has_one(command.as_bytes());
        }
        let mut bare = Vec::with_capacity(command.len());
        bare.extend(command.bytes().filter(|byte| !goes_away(*byte)));
        has_one(&bare)
    }
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
        assert!(!names.may_be_run_by("bash -lc 'echo hi > out.txt && cat out.txt'"));
        assert!(names.may_be_run_by("bash -lc 'xc\"ode\"bu\\ild -list'"));
        assert!(Names::of(&["$x".to_owned()]).may_be_run_by("ls"));
        assert!(!Names::default().may_be_run_by("ls"));
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
            prop_assert!(!runs || names.may_be_run_by(&line), "{line}");
        }
    }
}
