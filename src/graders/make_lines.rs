//! A makefile or a justfile as its reader takes it: lines that are joined, and blocks of a line with the recipe below it.

use std::collections::BTreeSet;

use super::makefiles::is_justfile;

/// How a block whose only business is to name phony targets begins.
pub(super) const PHONY: &str = ".PHONY";

/// Who reads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    Make,
    Just,
}

/// A line that is no recipe, with the recipe below it; `define` with all to its `endef`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Block {
    pub(super) head: String,
    pub(super) recipe: Vec<String>,
    /// The line before, where the recipe is that line's: below a conditional, or below what is no rule.
    after: Option<String>,
}

/// All of a file but blank lines and comments.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) blocks: Vec<Block>,
    /// What all plain lines name that say what is phony, outside of conditionals.
    pub(super) phony: BTreeSet<String>,
}

/// Lines, each with those that it goes on in.
pub(super) fn joined(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut open: Option<String> = None;
    for line in text.lines() {
        let whole = match open.take() {
            Some(before) => format!("{before} {}", line.trim_start()),
            None => line.to_owned(),
        };
        let slashes = whole.len() - whole.trim_end_matches('\\').len();
        if slashes % 2 == 1 {
            open = Some(whole[..whole.len() - 1].trim_end().to_owned());
        } else {
            lines.push(whole);
        }
    }
    lines.extend(open);
    lines
}

impl Reader {
    /// Who reads the file of this name.
    pub(super) fn of(name: &str) -> Self {
        if is_justfile(name) {
            Self::Just
        } else {
            Self::Make
        }
    }

    /// Whether a line belongs to the recipe above it.
    pub(super) fn is_recipe(self, line: &str) -> bool {
        match self {
            Self::Make => line.starts_with('\t'),
            Self::Just => line.starts_with([' ', '\t']) && !line.trim().is_empty(),
        }
    }

    /// The targets of a rule and what they are made from; of a recipe of just its name with its parameters.
    pub(super) fn rule(self, head: &str) -> Option<(&str, &str)> {
        match self {
            Self::Make => rule(head),
            Self::Just if head.contains(":=") => None,
            Self::Just => head.rsplit_once(':'),
        }
    }

    /// Reads a file.
    pub(super) fn parse(self, text: &str) -> Parsed {
        let mut parsed = Parsed::default();
        let mut all: Vec<Block> = Vec::new();
        let (mut defines, mut conditionals) = (0_usize, 0_usize);
        for line in joined(text) {
            if let (1.., Some(last)) = (defines, all.last_mut()) {
                last.head = format!("{}\n{line}", last.head);
                match line.split_ascii_whitespace().next() {
                    Some("define") => defines += 1,
                    Some("endef") => defines -= 1,
                    _ => {}
                }
                continue;
            }
            if self.is_recipe(&line) {
                match all.last_mut() {
                    Some(last) => last.recipe.push(line),
                    None => all.push(Block {
                        recipe: vec![line],
                        ..Block::default()
                    }),
                }
                continue;
            }
            let head = line.trim();
            if head.is_empty() || head.starts_with('#') {
                continue;
            }
            match opening(head) {
                Some("define") => defines = 1,
                Some("endif") => conditionals = conditionals.saturating_sub(1),
                Some("else") | None => {}
                Some(_) => conditionals += 1,
            }
            if let (0, Some((PHONY, names))) = (conditionals, rule(head)) {
                parsed
                    .phony
                    .extend(names.split_ascii_whitespace().map(str::to_owned));
            }
            all.push(Block {
                head: head.to_owned(),
                ..Block::default()
            });
        }
        parsed.take(all, self);
        parsed
    }
}

impl Parsed {
    fn take(&mut self, all: Vec<Block>, reader: Reader) {
        let mut before: Option<String> = None;
        let mut conditionals = 0_usize;
        for mut block in all {
            let head = block.head.clone();
            match opening(&head) {
                Some("ifdef" | "ifndef" | "ifeq" | "ifneq") => conditionals += 1,
                Some("endif") => conditionals = conditionals.saturating_sub(1),
                _ => {}
            }
            if !block.recipe.is_empty() && reader.rule(&head).is_none() {
                block.after = Some(before.take().unwrap_or_default());
            }
            let is_phony = rule(&head).is_some_and(|(target, _)| target == PHONY);
            if !(is_phony && conditionals == 0 && block.recipe.is_empty()) {
                self.blocks.push(block);
            }
            before = Some(head);
        }
    }
}

/// The word by which a line begins or ends something.
fn opening(head: &str) -> Option<&str> {
    const KNOWN: [&str; 7] = [
        "define", "ifdef", "ifndef", "ifeq", "ifneq", "else", "endif",
    ];
    let mut words = head.split([' ', '\t', '(']);
    let word = words.find(|word| !["override", "export", "private"].contains(word))?;
    KNOWN.contains(&word).then_some(word)
}

/// What stands before and after the colon of a rule.
pub(super) fn rule(head: &str) -> Option<(&str, &str)> {
    if head.contains('\n') {
        return None;
    }
    let (targets, rest) = head.split_once(':')?;
    let is_variable = targets.contains('=') || rest.trim_start_matches(':').starts_with('=');
    (!is_variable).then(|| (targets.trim(), rest.trim_start_matches(':').trim()))
}

/// The name and the value of the variable that a line sets.
pub(super) fn variable(head: &str) -> Option<(&str, &str)> {
    let words = ["export ", "override ", "private ", "define "];
    let head = words.iter().fold(head.trim(), |head, word| {
        head.strip_prefix(word).unwrap_or(head).trim_start()
    });
    let (name, value) = match head.split_once('=') {
        Some(parts) => parts,
        None => head.split_once('\n')?,
    };
    let name = name.trim_end_matches([':', '?', '+', '!', ' ', '\t']);
    let is_name = !name.is_empty() && !name.contains([' ', '\t', ':', '$', '%', '\n']);
    is_name.then_some((name, value.trim()))
}
