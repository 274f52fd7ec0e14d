//! What graders run: what they start (commands and scripts of shells), what that comes to (`reached`), and what else of the project may
//! start a tool.

mod started;

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::graders::is_makefile;
use crate::supervise::find_program;
use crate::trial::known::Known;
use crate::trial::reached::Reached;
use crate::trial::runs::Run;

pub(super) use started::Started;

/// Of so many files it is looked what they start.
const MOST_TEXTS: usize = 2000;
/// No script and no manifest is longer.
const LONGEST: u64 = 1 << 20;

/// What reads makefiles.
pub(super) const MAKE_TOOLS: [&str; 4] = ["make", "gmake", "bmake", "just"];

/// Files that say what a tool is to start.
#[rustfmt::skip]
const MANIFESTS: [&str; 22] = [
    "package.json", "composer.json", "deno.json", "tox.ini", "setup.cfg", "setup.py", "pyproject.toml", "noxfile.py", "tasks.py", "Rakefile",
    "Gruntfile.js", "gulpfile.js", "build.gradle", "build.gradle.kts", "pom.xml", "CMakeLists.txt", "meson.build", "Taskfile.yml", "Taskfile.yaml",
    "build.rs", "mix.exs", "project.pbxproj",
];

/// Where graders run, beside the project.
#[derive(Clone, Copy)]
pub(super) struct Spot<'a> {
    /// Folders of their programs.
    pub(super) path: &'a OsStr,
    /// The folder of the suite.
    pub(super) suite: &'a Path,
}

/// What graders run.
pub(super) struct Errands<'a> {
    pub(super) run: &'a Run,
    pub(super) base: &'a Known<'a>,
    spot: Spot<'a>,
    is_kept: &'a dyn Fn(&Path) -> bool,
    started: OnceCell<Vec<Started>>,
    lines: OnceCell<Vec<String>>,
    reached: OnceCell<Reached>,
    words: OnceCell<BTreeSet<String>>,
    texts: OnceCell<Vec<(PathBuf, String)>>,
}

impl<'a> Errands<'a> {
    /// Those of `run` in the project that `base` holds, of which `is_kept` knows what agents cannot change.
    pub(super) fn of(
        run: &'a Run,
        (base, spot): (&'a Known<'a>, Spot<'a>),
        is_kept: &'a dyn Fn(&Path) -> bool,
    ) -> Self {
        Self {
            run,
            base,
            spot,
            is_kept,
            started: OnceCell::new(),
            lines: OnceCell::new(),
            reached: OnceCell::new(),
            words: OnceCell::new(),
            texts: OnceCell::new(),
        }
    }

    /// The text of a file as graders find it, where no agent changed it.
    pub(super) fn text(&self, path: &Path) -> Option<String> {
        if let Some(from) = self.run.laid.get(path) {
            return read(from);
        }
        let bytes = self.base.file(path)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The same, where it can be read.
    pub(super) fn plain_text(&self, path: &Path) -> Option<String> {
        self.text(path).filter(|text| !text.contains('\u{fffd}'))
    }

    /// Whether the base commit has a file, or one is laid there.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.base.has(path) || self.run.laid.contains_key(path)
    }

    /// The lines of what graders start.
    pub(super) fn lines(&self) -> &[String] {
        let lines = || self.started().iter().flat_map(Started::lines).collect();
        self.lines.get_or_init(lines)
    }

    /// What that comes to.
    pub(super) fn reached(&self) -> &Reached {
        self.reached.get_or_init(|| Reached::of(self))
    }

    /// The words of what graders start.
    pub(super) fn words(&self) -> &BTreeSet<String> {
        self.words.get_or_init(|| {
            let lines = self.lines().iter();
            let words = lines.flat_map(|line| line.split_ascii_whitespace());
            let words = words.map(|word| word.trim_matches(['"', '\'', ';', ')', '(']));
            let words = words.map(str::to_owned);
            self.run.words.iter().cloned().chain(words).collect()
        })
    }

    /// Whether graders may come to run one of `tools`: their commands and scripts do, or what is laid or protected or a manifest of the
    /// base commit names it like a command.
    pub(super) fn may_run(&self, tools: &[&str]) -> bool {
        let mut words = self.lines().iter().flat_map(|line| split(line));
        let is_tool = |word: &str| tools.contains(&word.rsplit('/').next().unwrap_or(word));
        words.any(is_tool)
            || self.texts().iter().any(|(path, text)| {
                // A makefile starts other tools once somebody runs make.
                let name = path.file_name().and_then(OsStr::to_str);
                let is_own = tools.contains(&"make") && name.is_some_and(is_makefile);
                !is_own && starts(text, tools)
            })
    }

    /// The texts of what is laid or protected, and of manifests and makefiles of the base commit.
    pub(super) fn texts(&self) -> &[(PathBuf, String)] {
        self.texts.get_or_init(|| {
            let laid = self.run.laid.iter().take(MOST_TEXTS);
            let laid = laid.filter_map(|(path, from)| Some((path.clone(), read(from)?)));
            let is_read = |path: &Path| {
                let name = path.file_name().and_then(OsStr::to_str);
                name.is_some_and(|name| MANIFESTS.contains(&name) || is_makefile(name))
                    || (self.is_kept)(path)
            };
            let files = self.base.files(MOST_TEXTS, &is_read).into_iter();
            let texts = files.filter_map(|(path, bytes)| {
                let is_short = u64::try_from(bytes.len()).is_ok_and(|long| long <= LONGEST);
                let text = is_short.then(|| String::from_utf8(bytes).ok())?;
                Some((path, text?))
            });
            laid.chain(texts).collect()
        })
    }

    /// Whether graders find a program of this name.
    pub(super) fn finds(&self, name: &OsStr) -> bool {
        find_program(name, self.spot.path, Path::new("/")).is_some()
    }
}

fn read(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok()?;
    (about.is_file() && about.len() <= LONGEST).then(|| fs::read_to_string(path).ok())?
}

/// The words of a line, as a shell parts them.
fn split(line: &str) -> impl Iterator<Item = &str> {
    let parts = |it: char| it.is_ascii_whitespace() || "\"'`;|&<>()".contains(it);
    line.split(parts).filter(|word| !word.is_empty())
}

/// Whether a line of `text` names a tool where a command begins: first in it, or after a quote or what parts commands.
fn starts(text: &str, tools: &[&str]) -> bool {
    let is_comment = |line: &&str| !line.starts_with('#') && !line.starts_with("//");
    let mut lines = text.lines().map(str::trim).filter(is_comment);
    lines.any(|line| {
        let places = tools.iter().flat_map(|tool| {
            line.match_indices(tool)
                .map(|(at, tool)| (at, at + tool.len()))
        });
        let mut places = places;
        places.any(|(from, to)| {
            let before = &line[..from];
            let begins = before.ends_with('/')
                || before.ends_with(['"', '\'', '`', '=', '&', '|', ';', '(', '[', '{', '!', '@'])
                || before.trim_end().len() < before.len()
                    && before.trim_end().ends_with([
                        '"', '\'', '=', '&', '|', ';', '(', '[', '{', ':', '!', '-', ',',
                    ])
                || before.is_empty();
            let after = line[to..].chars().next();
            begins && after.is_none_or(|it| it.is_whitespace() || "\"'`;,)&|]".contains(it))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_started_where_a_command_begins() {
        for (text, starts_it) in [
            ("{\"test\": \"make test\"}", true),
            ("{\"test\": \"cd a && make -C b\"}", true),
            ("subprocess.run(['/usr/bin/make', 'x'])", true),
            ("commands = make test", true),
            ("- make\n", true),
            ("# make test\n", false),
            (
                "we make sure that it is cmake, \"remake\" and make_user()",
                false,
            ),
            ("{\"make-it\": 1}", false),
        ] {
            assert_eq!(starts(text, &["make", "gmake"]), starts_it, "{text}");
        }
    }
}
