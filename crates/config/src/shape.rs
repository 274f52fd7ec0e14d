//! What a value may be: the one description that the check, the reading and the JSON Schemas share.

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Any text.
    Text,
    /// Text that is not blank.
    Filled,
    /// Text, or a number or boolean that reads back as it was written.
    Word,
    /// Text fit for a path component.
    Id,
    /// A path, relative to the config file's folder.
    Path,
    /// A relative path that stays below the folder it starts from.
    Inside,
    /// A pattern for paths.
    Glob,
    /// Name of an environment variable; a `*` may end it.
    Variable,
    /// Name of a program, without a folder.
    Program,
    /// A host, or all below a domain, with a port or without.
    Host,
    Bool,
    /// A limit in seconds, at least a millisecond and at most 30 days.
    Seconds,
    /// A pause in seconds, at most an hour; 0 is one.
    Pause,
    /// A whole number.
    Whole {
        least: u64,
        most: u64,
    },
    /// A finite number that is not negative.
    Number,
    /// A number from 0 to 1.
    Share,
    /// One of some words.
    OneOf(&'static [Choice]),
    /// A list.
    List {
        of: &'static Self,
        least: usize,
    },
    /// A mapping with free keys.
    Map {
        keys: FreeKey,
        of: &'static Self,
    },
    /// A mapping that may hold anything.
    Mapping,
    /// A mapping with known keys.
    Object(&'static Section),
    /// What stands there decides: scalar, list or mapping, one shape for each.
    Either(&'static [Self]),
    /// A mapping whose known keys depend on the word under `tag`, or that word alone.
    Tagged {
        /// What the word names.
        noun: &'static str,
        tag: &'static str,
        variants: &'static [Variant],
    },
}

/// A word and what it means.
pub(super) type Choice = (&'static str, &'static str);

/// A word under the tag and the keys that it brings.
pub(super) type Variant = (&'static str, &'static Section);

/// What free keys may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum FreeKey {
    /// Names of environment variables.
    Variable,
    /// Ids of scenarios.
    Scenario,
    /// Kinds of agents.
    Kind,
    /// Names of models.
    Model,
}

/// A mapping with known keys.
#[derive(Debug)]
pub(super) struct Section {
    /// What it describes.
    pub(super) doc: &'static str,
    pub(super) keys: &'static [Key],
    /// What unknown keys may hold, where they are allowed.
    pub(super) open: Option<&'static Shape>,
}

/// A known key.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) need: Need,
    /// What it is for.
    pub(super) doc: &'static str,
}

/// Whether a key must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    /// Absent and null mean the same.
    Optional,
    /// The same, and this JSON stands for it.
    Default(&'static str),
}

impl Section {
    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }
}

impl Shape {
    /// What the value must be, for a message.
    pub(super) fn wanted(&self) -> String {
        match self {
            Self::Text => "text".to_owned(),
            Self::Filled => "text that is not blank".to_owned(),
            Self::Word => "text or a number".to_owned(),
            Self::Id => "an id".to_owned(),
            Self::Path => "a path".to_owned(),
            Self::Inside => "a relative path".to_owned(),
            Self::Glob => "a pattern for paths".to_owned(),
            Self::Variable => "the name of a variable".to_owned(),
            Self::Program => "the name of a program".to_owned(),
            Self::Host => "a host".to_owned(),
            Self::Bool => "true or false".to_owned(),
            Self::Seconds | Self::Pause => "a number of seconds".to_owned(),
            Self::Whole { .. } => "a whole number".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Share => "a number from 0 to 1".to_owned(),
            Self::OneOf(choices) => {
                let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
                format!("one of {}", words.join(", "))
            }
            Self::List { of: Self::Word, .. } => "a list of words".to_owned(),
            Self::List { .. } => "a list".to_owned(),
            Self::Map { .. } | Self::Mapping | Self::Object(_) => "a mapping".to_owned(),
            Self::Either(shapes) => {
                let wanted: Vec<String> = shapes.iter().map(Self::wanted).collect();
                wanted.join(" or ")
            }
            Self::Tagged { tag, .. } => format!("a name, or a mapping with `{tag}`"),
        }
    }
}

pub(super) const fn required(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    key(name, shape, Need::Required, doc)
}

pub(super) const fn optional(name: &'static str, shape: Shape, doc: &'static str) -> Key {
    key(name, shape, Need::Optional, doc)
}

/// A key with its default and its meaning.
pub(super) const fn defaulted(
    name: &'static str,
    shape: Shape,
    default: &'static str,
    doc: &'static str,
) -> Key {
    key(name, shape, Need::Default(default), doc)
}

const fn key(name: &'static str, shape: Shape, need: Need, doc: &'static str) -> Key {
    Key {
        name,
        shape,
        need,
        doc,
    }
}
