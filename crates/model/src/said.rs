//! What most lines of a stream tell, borrowed from them, so that nothing is copied that nobody wants.

use std::borrow::Cow;

use crate::{EventKind, ToolCall, ToolResult};

/// A text as it stands between the quotes of a JSON string that `serde_json` wrote: written elsewhere as JSON, it is spelled
/// the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spelled<'a> {
    inside: &'a str,
    escaped: bool,
    length: Option<usize>,
}

/// One thing that an agent said: what an [`EventKind`] of the same name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said<'a> {
    /// Text for the person.
    Message(Spelled<'a>),
    /// Text of the reasoning.
    Reasoning(Spelled<'a>),
    /// A tool was called.
    Called(Called<'a>),
    /// A tool answered.
    Answered(Answered<'a>),
}

/// A call of a tool. Nothing in its names and its id is escaped where they stand in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Called<'a> {
    /// Id within the stream.
    pub id: &'a str,
    /// Name in the field's common form.
    pub name: &'a str,
    /// Server and tool of an MCP call.
    pub mcp: Option<(&'a str, &'a str)>,
    /// The command line.
    pub command: Option<Spelled<'a>>,
    /// The arguments.
    pub arguments: Arguments<'a>,
}

/// Arguments of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arguments<'a> {
    /// As JSON text.
    Json(&'a str),
    /// An object of this one member.
    Member(&'static str, Spelled<'a>),
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answered<'a> {
    /// Id of the call, in which nothing is escaped where it stands in JSON.
    pub id: &'a str,
    /// Whether the stream calls it an error.
    pub is_error: bool,
    /// Exit code of a command.
    pub exit_code: Option<i32>,
    /// What the tool printed.
    pub output: Spelled<'a>,
}

impl<'a> Spelled<'a> {
    /// The empty text.
    pub const NOTHING: Self = Self::new("", false);

    /// What stands between the quotes; `escaped` tells whether a backslash is in it.
    #[must_use]
    pub const fn new(inside: &'a str, escaped: bool) -> Self {
        let length = if escaped { None } else { Some(inside.len()) };
        Self {
            inside,
            escaped,
            length,
        }
    }

    /// The same where it is known how many bytes the text has.
    #[must_use]
    pub const fn with_length(self, length: usize) -> Self {
        Self {
            length: Some(length),
            ..self
        }
    }

    /// How many bytes the text has, where that is known without reading it.
    #[must_use]
    pub const fn length(self) -> Option<usize> {
        self.length
    }

    /// As it is spelled.
    #[must_use]
    pub const fn inside(self) -> &'a str {
        self.inside
    }

    /// The text itself.
    #[must_use]
    pub fn text(self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.inside);
        }
        let mut text = String::with_capacity(self.inside.len());
        self.each_piece(|piece| {
            text.push_str(piece);
            true
        });
        Cow::Owned(text)
    }

    /// Gives the text piece by piece, as long as more of it is wanted.
    pub fn each_piece(self, mut wants_more: impl FnMut(&str) -> bool) {
        let mut rest = self.inside;
        while self.escaped
            && let Some(run) = memchr::memchr(b'\\', rest.as_bytes())
        {
            let (plain, escape) = rest.split_at(run);
            let (character, length) = Self::unescaped(escape);
            if !wants_more(plain) || !wants_more(character.encode_utf8(&mut [0; 4])) {
                return;
            }
            rest = escape.get(length..).unwrap_or_default();
        }
        wants_more(rest);
    }

    /// The character that an escape of `serde_json` stands for, and how long the escape is.
    #[must_use]
    pub fn unescaped(escape: &str) -> (char, usize) {
        let character = match escape.as_bytes().get(1) {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'u') => {
                let code = escape
                    .get(2..6)
                    .and_then(|code| u8::from_str_radix(code, 16).ok());
                return (char::from(code.unwrap_or_default()), 6);
            }
            Some(b'"') => '"',
            _ => '\\',
        };
        (character, 2)
    }
}

impl Arguments<'_> {
    /// Bytes as they are spelled: no fewer than those of the text.
    #[must_use]
    pub const fn spelled_len(&self) -> usize {
        match self {
            Self::Json(text) => text.len(),
            // {"KEY":"VALUE"}
            Self::Member(key, value) => key.len() + value.inside.len() + 7,
        }
    }

    /// As JSON text.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Json(text) => Cow::Borrowed(text),
            Self::Member(key, value) => {
                Cow::Owned(["{\"", key, "\":\"", value.inside, "\"}"].concat())
            }
        }
    }
}

impl Said<'_> {
    /// The event that tells the same.
    #[must_use]
    pub fn event(&self) -> EventKind {
        match self {
            Self::Message(text) => EventKind::Message {
                text: text.text().into_owned(),
            },
            Self::Reasoning(text) => EventKind::Reasoning {
                text: text.text().into_owned(),
            },
            Self::Called(call) => EventKind::ToolStarted(ToolCall {
                id: call.id.to_owned(),
                name: call.name.to_owned(),
                mcp: call
                    .mcp
                    .map(|(server, tool)| (server.to_owned(), tool.to_owned())),
                command: call.command.map(|command| command.text().into_owned()),
                arguments: call.arguments.text().into_owned(),
                parent: None,
            }),
            Self::Answered(answer) => EventKind::ToolEnded(ToolResult {
                id: answer.id.to_owned(),
                is_error: answer.is_error,
                exit_code: answer.exit_code,
                output: answer.output.text().into_owned(),
            }),
        }
    }
}
