//! Which changes of a makefile are fair. What make does with a line cannot be told from the line: so a change is told unless it is one of
//! a few that cannot touch what was there, which is a new target or variable of a name that nothing speaks of.

use std::collections::BTreeSet;

use super::make_lines::{Block, PHONY, Parsed, Reader, rule, variable};
use super::make_words::{Variables, fits};

/// What decides about the changes of a makefile beside itself.
pub struct MakeAround<'a> {
    /// The name of the file.
    pub name: &'a str,
    /// The text of all that is read with it.
    pub beside: &'a str,
    /// Names of variables that graders set.
    pub set: &'a BTreeSet<String>,
    /// Whether somebody runs the first target.
    pub first_target_runs: bool,
    /// Whether a target is a file that is there, or a makefile that is read: make would make it anew.
    pub is_there: &'a dyn Fn(&str) -> bool,
}

/// Variables that make and its own rules use, whoever else speaks of them.
#[rustfmt::skip]
const MAKES_OWN: [&str; 56] = [
    "AR", "ARFLAGS", "AS", "ASFLAGS", "CC", "CFLAGS", "CO", "COFLAGS", "CPP", "CPPFLAGS", "CTANGLE", "CURDIR", "CWEAVE", "CXX",
    "CXXFLAGS", "FC", "FFLAGS", "F77", "GET", "GFLAGS", "LD", "LDFLAGS", "LDLIBS", "LEX", "LFLAGS", "LINT", "LINTFLAGS", "LOADLIBES", "LIBS", "M2C",
    "MAKEINFO", "MFLAGS", "MODFLAGS", "OBJC", "OBJCFLAGS", "OUTPUT_OPTION", "PC", "PFLAGS", "RFLAGS", "RM", "SHELL", "SUFFIXES",
    "TANGLE", "TARGET_ARCH", "TARGET_MACH", "TEX", "TEXI2DVI", "VPATH", "WEAVE", "YACC", "YFLAGS", "IFS", "PATH", "HOME", "ENV", "TMPDIR",
];

/// How variables begin that make or other programs take from the environment, into which make puts them if they are there already.
#[rustfmt::skip]
const TAKEN: [&str; 26] = [
    "MAKE", "GNUMAKE", "COMPILE", "LINK", "PREPROCESS", "LD_", "DYLD_", "PYTHON", "PYTEST", "NODE", "NPM", "RUST", "CARGO", "JAVA", "GO", "PERL",
    "RUBY", "GIT", "BASH", "XDG", "LC_", "LANG", "EVAL", "JEST", "CC_", "VIRTUAL_",
];

/// How the first line of a block is shown.
const SHOWN: usize = 60;

/// What in a makefile is not as before and cannot be called fair: names of targets and variables, or whole lines.
#[must_use]
pub fn changed_make((before, now): (&str, &str), around: &MakeAround<'_>) -> Vec<String> {
    let reader = Reader::of(around.name);
    let (was, is) = (reader.parse(before), reader.parse(now));
    let judge = Judge::of((before, &was), around, reader);
    let different = differences(&was.blocks, &is.blocks);
    let (old, new): (Vec<_>, Vec<_>) = different
        .into_iter()
        .partition(|(_, side)| *side == Side::Before);
    let mut told: Vec<String> = old.iter().map(|(block, _)| name_or_line(block)).collect();
    for (block, _) in new {
        if !told.contains(&name_or_line(block)) && !judge.is_fair(block) {
            told.push(line(block));
        }
    }
    let gone = was.phony.difference(&is.phony);
    told.extend(gone.map(|name| format!("{PHONY} {name}")));
    let more = is.phony.difference(&was.phony);
    let more = more.filter(|name| !judge.may_be_phony(name));
    told.extend(more.map(|name| format!("{PHONY} {name}")));
    if around.first_target_runs && first_target(&was) != first_target(&is) {
        told.push("first target".to_owned());
    }
    let mut seen = BTreeSet::new();
    told.retain(|key| seen.insert(key.clone()));
    told
}

/// Knows what the base commit speaks of.
struct Judge<'a> {
    reader: Reader,
    around: &'a MakeAround<'a>,
    words: BTreeSet<String>,
    /// Words with wildcards.
    patterns: Vec<String>,
    /// Rules with a recipe.
    rules: BTreeSet<String>,
    /// Whether all variables are put into the environment, or recipes begin otherwise.
    is_special: bool,
}

impl<'a> Judge<'a> {
    fn of((before, was): (&str, &Parsed), around: &'a MakeAround<'a>, reader: Reader) -> Self {
        let all = format!("{}\n{before}\n", around.beside);
        let variables = Variables::of(&all);
        let lines = all
            .lines()
            .filter(|line| !line.trim_start().starts_with('#'));
        let raw: String = lines.flat_map(|line| [line, "\n"]).collect();
        let expanded = variables.rules(&all);
        let is_word =
            |character: char| character.is_ascii_alphanumeric() || "_-./%*+".contains(character);
        let words = |text: &str| -> BTreeSet<String> {
            let words = text.split(|character: char| !is_word(character));
            words.map(str::to_owned).collect()
        };
        let mut all_words = words(&raw);
        all_words.extend(words(&variables.expand(&raw)));
        let rule_words = words(&expanded);
        let is_pattern = |word: &&String| word.contains(['%', '*']) && word.len() > 1;
        let patterns = rule_words.iter().filter(is_pattern).cloned().collect();
        all_words.extend(rule_words);
        let rules = was.blocks.iter().filter(|block| !block.recipe.is_empty());
        let rules = rules.filter_map(|block| rule(&block.head));
        let rules = rules.flat_map(|(targets, _)| targets.split_ascii_whitespace());
        let is_special = all.lines().any(|line| {
            let line = line.trim();
            line == "export" || line.contains(".RECIPEPREFIX") || line.contains(".EXPORT_ALL")
        });
        Self {
            reader,
            around,
            patterns,
            rules: rules.map(str::to_owned).collect(),
            words: all_words,
            is_special,
        }
    }

    /// Whether a block that was not there touches nothing that was.
    fn is_fair(&self, block: &Block) -> bool {
        if self.is_special {
            return false;
        }
        match (self.reader, self.reader.rule(&block.head)) {
            (Reader::Make, Some((targets, from))) => {
                let mut targets = targets.split_ascii_whitespace().peekable();
                targets.peek().is_some()
                    && targets.all(|target| self.is_new(target))
                    && is_plain_list(from)
            }
            (Reader::Just, Some((head, _))) => {
                let name = head.trim_start_matches('@').split_ascii_whitespace().next();
                let is_word = |name: &str| JUSTS_OWN.contains(&name);
                name.is_some_and(|name| self.is_new(name) && !is_word(name))
            }
            (_, None) => block.recipe.is_empty() && self.is_fair_variable(&block.head),
        }
    }

    fn is_fair_variable(&self, head: &str) -> bool {
        let set = variable(head).filter(|(name, _)| head.starts_with(name));
        let Some((name, value)) = set.filter(|_| !head.contains(['\n', '!'])) else {
            return false;
        };
        let is_name = name
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '_');
        let is_taken = MAKES_OWN.contains(&name)
            || TAKEN.iter().any(|begin| name.starts_with(begin))
            || self.around.set.contains(name);
        let may_call = self.reader == Reader::Just && value.contains('(');
        is_name && !is_taken && !may_call && !self.words.contains(name) && is_plain_value(value)
    }

    /// Whether a name is a plain one that nothing before speaks of.
    fn is_new(&self, name: &str) -> bool {
        let is_plain = name
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || "_-./".contains(it));
        is_plain
            && !name.starts_with(['.', '-'])
            && !self.words.contains(name)
            && !(self.around.is_there)(name)
            && !self.is_step_to_known(name)
            && !self.patterns.iter().any(|pattern| fits(pattern, name))
    }

    /// Whether make's own rules may take a file for what something that was known is made from: `check.o` for `check`.
    fn is_step_to_known(&self, name: &str) -> bool {
        let last = name.rsplit('/').next().unwrap_or(name);
        last.contains('.') && last.split('.').any(|part| self.words.contains(part))
    }

    /// Whether make does for a phony target what it did before.
    fn may_be_phony(&self, name: &str) -> bool {
        self.is_new(name) || self.rules.contains(name)
    }
}

/// Words that begin no recipe of just.
const JUSTS_OWN: [&str; 6] = ["alias", "export", "import", "mod", "set", "unexport"];

/// Whether what a target is made from calls no function and sets nothing.
fn is_plain_list(from: &str) -> bool {
    let from = from.split(';').next().unwrap_or(from);
    is_plain_value(from) && !from.contains(['=', ':', '%', '&'])
}

/// Whether a value holds no more of make than other variables.
fn is_plain_value(value: &str) -> bool {
    let mut parts = value.split('$');
    parts.next();
    let are_plain = parts.all(|part| {
        let inner = match part.split_at_checked(1) {
            Some(("(", rest)) => rest.split_once(')'),
            Some(("{", rest)) => rest.split_once('}'),
            _ => None,
        };
        inner.is_some_and(|(name, _)| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|it| it.is_ascii_alphanumeric() || it == '_')
        })
    });
    are_plain && !value.contains('`')
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Before,
    Now,
}

/// The blocks that are on one side alone, in order.
fn differences<'a>(was: &'a [Block], is: &'a [Block]) -> Vec<(&'a Block, Side)> {
    /// Longer makefiles are compared as a whole.
    const MOST: usize = 3000;
    let same = was.iter().zip(is).take_while(|(a, b)| a == b).count();
    let (was, is) = (&was[same..], &is[same..]);
    let both = was.iter().rev().zip(is.iter().rev());
    let end = both.take_while(|(a, b)| a == b).count();
    let (was, is) = (&was[..was.len() - end], &is[..is.len() - end]);
    let mut found = Vec::new();
    if was.len().max(is.len()) > MOST {
        found.extend(was.iter().map(|block| (block, Side::Before)));
        return found;
    }
    // The longest common sequence, from the end: how long it is from each place on.
    let wide = is.len() + 1;
    let mut lengths = vec![0_u16; (was.len() + 1) * wide];
    for i in (0..was.len()).rev() {
        for j in (0..is.len()).rev() {
            lengths[i * wide + j] = if was[i] == is[j] {
                lengths[(i + 1) * wide + j + 1] + 1
            } else {
                lengths[(i + 1) * wide + j].max(lengths[i * wide + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < was.len() || j < is.len() {
        if i < was.len() && j < is.len() && was[i] == is[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == is.len()
            || (i < was.len() && lengths[(i + 1) * wide + j] >= lengths[i * wide + j + 1])
        {
            found.push((&was[i], Side::Before));
            i += 1;
        } else {
            found.push((&is[j], Side::Now));
            j += 1;
        }
    }
    found
}

/// A target or a variable by its name, anything else by its line.
fn name_or_line(block: &Block) -> String {
    let target = rule(&block.head).map(|(targets, _)| targets);
    let name = target.or_else(|| Some(variable(&block.head)?.0));
    name.map_or_else(|| line(block), shown)
}

fn line(block: &Block) -> String {
    let recipe = block.recipe.first().map(|line| line.trim());
    let line = block.head.lines().next().or(recipe);
    shown(line.unwrap_or_default())
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN).collect()
}

/// The target that make runs where it is told none.
#[must_use]
pub fn first_make_target(text: &str) -> Option<String> {
    first_target(&Reader::Make.parse(text)).map(str::to_owned)
}

fn first_target(parsed: &Parsed) -> Option<&str> {
    let rules = parsed.blocks.iter().filter_map(|block| rule(&block.head));
    let mut targets = rules.filter_map(|(targets, _)| targets.split_ascii_whitespace().next());
    targets.find(|target| !target.starts_with('.') && !target.contains('%'))
}

/// What is new in a file that nobody read before: no more than rules that speak of tests can be told.
#[must_use]
pub fn new_make(name: &str, now: &str, speaks: &dyn Fn(&str) -> bool) -> Vec<String> {
    let parsed = Reader::of(name).parse(now);
    let rules = parsed.blocks.iter().filter_map(|block| rule(&block.head));
    let targets: BTreeSet<&str> = rules.map(|(targets, _)| targets).collect();
    let told = targets.into_iter().filter(|targets| speaks(targets));
    told.map(shown).collect()
}

#[cfg(test)]
#[path = "make_changes_tests.rs"]
mod tests;
