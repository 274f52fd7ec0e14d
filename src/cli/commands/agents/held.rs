//! The result of one check of a probe.

use std::fs;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};

/// Whether one checked property holds.
#[derive(Debug)]
pub(super) enum Held {
    Yes,
    /// It does not hold, and this was observed instead.
    No(String),
    /// It could not be checked here, for this reason.
    NotHere(String),
}

impl Held {
    /// Holds if `fact` is true; otherwise the observation says what was seen.
    pub(super) fn when(fact: bool, otherwise: impl FnOnce() -> String) -> Self {
        if fact {
            Self::Yes
        } else {
            Self::No(otherwise())
        }
    }

    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Yes => "held",
            Self::No(_) => "NOT HELD",
            Self::NotHere(_) => "not tried",
        }
    }

    pub(super) fn why(&self) -> Option<&str> {
        match self {
            Self::Yes => None,
            Self::No(why) | Self::NotHere(why) => Some(why),
        }
    }

    /// The word in its colour, as wide as the longest one.
    pub(super) fn painted(&self) -> String {
        let style = match self {
            Self::Yes => AnsiColor::Green.on_default(),
            Self::NotHere(_) => AnsiColor::Yellow.on_default(),
            Self::No(_) => Style::new().bold().fg_color(Some(AnsiColor::Red.into())),
        };
        format!("{style}{:<9}{style:#}", self.word())
    }
}

/// The first file below a folder that contains this text.
pub(super) fn file_with(folder: &Path, text: &str) -> Option<PathBuf> {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let kind = entry.file_type().ok()?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() {
                let bytes = fs::read(&path).unwrap_or_default();
                if String::from_utf8_lossy(&bytes).contains(text) {
                    return Some(path);
                }
            }
        }
    }
    None
}
