//! One finding: what was looked for, what is there, what it is for, what to do.

/// How it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// There.
    Ok,
    /// Not there, or odd; nothing that the suite needs.
    Warn,
    /// Not there, and needed.
    Missing,
}

impl State {
    /// The word in pages and documents.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Missing => "missing",
        }
    }

    /// What an absent thing is.
    pub(super) const fn absent(is_needed: bool) -> Self {
        if is_needed { Self::Missing } else { Self::Warn }
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) state: State,
    pub(super) found: String,
    pub(super) needed_for: String,
    pub(super) advice: Option<String>,
}

impl Check {
    pub(super) fn new(name: impl Into<String>, state: State) -> Self {
        Self {
            name: name.into(),
            state,
            found: String::new(),
            needed_for: String::new(),
            advice: None,
        }
    }

    /// What is there, on one line: a page shows a line for each check.
    pub(super) fn found(mut self, found: impl Into<String>) -> Self {
        self.found = found.into().replace('\n', " ");
        self
    }

    pub(super) fn needed_for(mut self, needed_for: impl Into<String>) -> Self {
        self.needed_for = needed_for.into();
        self
    }

    pub(super) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}
