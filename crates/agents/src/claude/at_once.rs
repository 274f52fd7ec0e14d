//! Lines of a Claude Code stream that are as the CLI prints them, read in one pass; any other line is read by `serde_json`.
//!
//! What is told here is what the types in `wire.rs` would tell: a test reads every recorded and many spoiled lines both ways.
#![expect(
    clippy::option_option,
    reason = "the outer one says whether a line is read here, the inner one whether it tells the thing"
)]

use std::borrow::Cow;

use crate::claude::counts::ClaudeUsage;
use crate::claude::wire::{Block, Content, Message, Turn};
use crate::scan::{Raw, Scan, once};
use crate::wire::{LIST_CAP, Loose, TEXT_CAP, border, cut};
use crate::words::Words;

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    Assistant,
    User,
}

/// A turn without anything that tells a failure of the API.
pub(super) fn turn(text: &str) -> Option<(Speaker, Turn<'_>)> {
    let speaker = match text.get(..14)? {
        "{\"type\":\"assis" => Speaker::Assistant,
        "{\"type\":\"user\"" => Speaker::User,
        _ => return None,
    };
    let mut scan = Scan::of(text);
    let (mut kind, mut message, mut parent) = (None, None, None);
    scan.members(|scan, key| match key {
        "type" => once(&mut kind, scan.string()?.plain()?),
        "message" => once(&mut message, self::message(scan)?),
        "parent_tool_use_id" => once(&mut parent, scan.maybe(plain)?),
        "error"
        | "is_api_error_message"
        | "isApiErrorMessage"
        | "api_error_status"
        | "api_error_type"
        | "refused_message_id" => None,
        _ => scan.skip(),
    })?;
    scan.end()?;
    let is_known = matches!(
        (kind?, speaker),
        ("assistant", Speaker::Assistant) | ("user", Speaker::User)
    );
    let parent = parent.flatten().map(Cow::Borrowed);
    is_known.then_some((speaker, Turn::new(message?, parent)))
}

fn plain<'a>(scan: &mut Scan<'a>) -> Option<&'a str> {
    scan.string()?.plain()
}

fn message<'a>(scan: &mut Scan<'a>) -> Option<Message<'a>> {
    let (mut id, mut model, mut content, mut usage) = (None, None, None, None);
    scan.members(|scan, key| match key {
        "id" => once(&mut id, scan.maybe(plain)?),
        "model" => once(&mut model, scan.maybe(plain)?),
        "content" => once(&mut content, blocks(scan)?),
        "usage" => once(&mut usage, ClaudeUsage::at_once(scan)?),
        _ => scan.skip(),
    })?;
    // Such a message is the client's own.
    let model = model.flatten();
    (model != Some("<synthetic>")).then_some(())?;
    Some(Message {
        id: id.flatten().map(Cow::Borrowed),
        model: model.map(Cow::Borrowed),
        content: Content::Read(content?),
        usage: Loose(usage),
    })
}

fn blocks<'a>(scan: &mut Scan<'a>) -> Option<Vec<Block<'a>>> {
    let mut blocks = Vec::new();
    scan.elements(|scan| {
        // A list of so many may have been cut: it is read the other way.
        (blocks.len() + 1 < LIST_CAP).then_some(())?;
        blocks.push(block(scan)?);
        Some(())
    })?;
    Some(blocks)
}

fn block<'a>(scan: &mut Scan<'a>) -> Option<Block<'a>> {
    let (mut kind, mut id, mut answered, mut name) = (None, None, None, None);
    let (mut text, mut thinking, mut content) = (None, None, None);
    let (mut input, mut is_error) = (None, None);
    scan.members(|scan, key| match key {
        "type" => once(&mut kind, plain(scan)?),
        "id" => once(&mut id, plain(scan)?),
        "name" => once(&mut name, plain(scan)?),
        "input" => once(&mut input, scan.maybe(Scan::piece)?),
        "tool_use_id" => once(&mut answered, plain(scan)?),
        "content" => once(&mut content, answer(scan)?),
        "is_error" => once(&mut is_error, scan.maybe(Scan::truth)?),
        "text" => once(&mut text, scan.maybe(Scan::string)?),
        "thinking" => once(&mut thinking, scan.maybe(Scan::string)?),
        // The API has no such key, and the head of a block knows it.
        "subtype" => None,
        _ => scan.skip(),
    })?;
    let kind = kind?;
    let mut block = Block {
        kind,
        ..Block::default()
    };
    match kind {
        "text" => block.text = Words::of(text.flatten()),
        "thinking" => block.text = Words::of(thinking.flatten()),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            (block.id, block.name) = (id?, name?);
            block.input = input.flatten();
        }
        told if told.ends_with("tool_result") => {
            block.id = answered?;
            block.is_error = is_error.flatten() == Some(true);
            block.text = content.unwrap_or_default();
        }
        _ => {}
    }
    Some(block)
}

/// The text of a tool's answer, which is one text or a list of blocks.
fn answer<'a>(scan: &mut Scan<'a>) -> Option<Words<'a>> {
    if scan.is_string() {
        return Some(Words::Raw(scan.string()?));
    }
    let mut texts = Texts::default();
    let mut count = 0;
    let mut only = None;
    scan.elements(|scan| {
        count += 1;
        (count <= LIST_CAP).then_some(())?;
        let (text, piece) = scan.with_piece(text_block)?;
        if count == 1 && text.is_some() {
            only = text;
            return Some(());
        }
        if let Some(first) = only.take() {
            texts.add(Some(&first.text(TEXT_CAP)), "");
        }
        texts.add(text.map(|raw| raw.text(TEXT_CAP)).as_deref(), piece);
        Some(())
    })?;
    Some(only.map_or_else(|| Words::Owned(texts.finish()), Words::Raw))
}

fn text_block<'a>(scan: &mut Scan<'a>) -> Option<Option<Raw<'a>>> {
    let (mut kind, mut text) = (None, None);
    scan.members(|scan, key| match key {
        "type" => once(&mut kind, plain(scan)?),
        "text" => once(&mut text, scan.string()?),
        "thinking" => None,
        _ => scan.skip(),
    })?;
    Some(text)
}

/// The text of a member of an object: nothing where it has none, or no text there.
pub(super) fn text_member<'a>(object: &'a str, name: &str) -> Option<Option<Raw<'a>>> {
    let mut scan = Scan::of(object);
    let mut found = None;
    scan.members(|scan, key| {
        if key == name {
            return once(&mut found, scan.string()?);
        }
        scan.skip()
    })?;
    scan.end()?;
    Some(found)
}

/// What the client tells of its own work: the event's subtype, and the status and word of a request that failed.
pub(super) struct Note<'a> {
    pub(super) subtype: &'a str,
    pub(super) status: Option<u16>,
    pub(super) error: Option<&'a str>,
}

/// A `system` event of which nothing else may be of interest.
pub(super) fn note(text: &str) -> Option<Note<'_>> {
    text.starts_with("{\"type\":\"system\"").then_some(())?;
    let mut scan = Scan::of(text);
    let (mut kind, mut subtype, mut status, mut error) = (None, None, None, None);
    let mut seen = 0_u16;
    scan.members(|scan, key| match key {
        "type" => once(&mut kind, plain(scan)?),
        "subtype" => once(&mut subtype, plain(scan)?),
        "error_status" => once(&mut status, scan.maybe(Scan::count)?),
        "error" => once(&mut error, scan.maybe(plain)?),
        _ => {
            let field = system_field(key);
            (seen & field == 0).then_some(())?;
            seen |= field;
            scan.skip()
        }
    })?;
    scan.end()?;
    (kind == Some("system")).then_some(())?;
    Some(Note {
        subtype: subtype?,
        status: status.flatten().and_then(|status| status.try_into().ok()),
        error: error.flatten(),
    })
}

/// A bit for each further field of such an event that spoils the line where it stands twice.
fn system_field(key: &str) -> u16 {
    match key {
        "session_id" => 1,
        "model" => 2,
        "claude_code_version" | "qwen_code_version" => 4,
        "mcp_servers" => 8,
        "tools" => 16,
        "message" => 32,
        "tool_name" => 64,
        "tasks" => 128,
        "data" => 256,
        _ => 0,
    }
}

/// What a part of a message tells: the message's id, its model, where it is named, and its tokens so far.
pub(super) fn partial(text: &str) -> Option<Option<(&str, Option<&str>, ClaudeUsage)>> {
    text.starts_with("{\"type\":\"stream_event\"")
        .then_some(())?;
    let mut scan = Scan::of(text);
    let (mut kind, mut event, mut id) = (None, None, None);
    scan.members(|scan, key| match key {
        "type" => once(&mut kind, plain(scan)?),
        "event" => once(&mut event, partial_event(scan)?),
        "api_message_id" => once(&mut id, plain(scan)?),
        "subtype" => None,
        _ => scan.skip(),
    })?;
    scan.end()?;
    (kind == Some("stream_event")).then_some(())?;
    let (id, model, usage) = match event? {
        (Some((id, model, usage)), _) => (id, model, usage),
        (None, usage) => (id, None, usage),
    };
    Some(id.zip(usage).map(|(id, usage)| (id, model, usage)))
}

/// Id, model and tokens of the message that a part of one brings.
type Started<'a> = (Option<&'a str>, Option<&'a str>, Option<ClaudeUsage>);

fn partial_event<'a>(scan: &mut Scan<'a>) -> Option<(Option<Started<'a>>, Option<ClaudeUsage>)> {
    let (mut message, mut usage) = (None, None);
    scan.members(|scan, key| match key {
        "message" => {
            let (mut id, mut model, mut usage) = (None, None, None);
            scan.members(|scan, key| match key {
                "id" => once(&mut id, plain(scan)?),
                "model" => once(&mut model, scan.maybe(plain)?),
                "usage" => once(&mut usage, ClaudeUsage::at_once(scan)?),
                _ => scan.skip(),
            })?;
            once(&mut message, (id, model.flatten(), usage))
        }
        "usage" => once(&mut usage, ClaudeUsage::at_once(scan)?),
        _ => scan.skip(),
    })?;
    Some((message, usage))
}

/// The texts of a tool's answer, each on lines of its own.
#[derive(Debug, Default)]
pub(super) struct Texts(String);

impl Texts {
    /// Adds a block: its text, or the beginning of what it is instead.
    pub(super) fn add(&mut self, text: Option<&str>, block: &str) {
        if self.0.len() >= TEXT_CAP {
            return;
        }
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0
            .push_str(text.unwrap_or(&block[..border(block, 200)]));
    }

    pub(super) fn finish(self) -> String {
        cut(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_as_the_cli_prints_them_are_read_in_one_pass() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/fixtures/streams/claude-2.1.329/"
        );
        for name in ["shell", "mcp", "manylines", "partial-mcp", "subagent"] {
            let stream = std::fs::read_to_string(format!("{folder}{name}.jsonl")).unwrap();
            let turns = stream.lines().filter(|line| {
                line.starts_with("{\"type\":\"assistant\"")
                    || line.starts_with("{\"type\":\"user\"")
            });
            assert!(
                turns.clone().count() > 3 && turns.clone().all(|line| turn(line).is_some()),
                "{name}"
            );
            let parts = stream.lines().filter(|line| line.contains("stream_event"));
            assert!(parts.clone().all(|line| partial(line).is_some()), "{name}");
            let notes = stream
                .lines()
                .filter(|line| line.starts_with("{\"type\":\"system\""));
            assert!(notes.clone().all(|line| note(line).is_some()), "{name}");
        }
    }
}
