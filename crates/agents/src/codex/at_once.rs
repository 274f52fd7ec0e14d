//! Lines of a Codex stream that are as the CLI prints them, read in one pass; any other line is read by `serde_json`.
//!
//! What is told here is what the types in `wire.rs` would tell: a test reads every recorded and many spoiled lines both ways.
#![expect(
    clippy::option_option,
    reason = "the outer one says whether a line is read here, the inner one whether it tells the thing"
)]

use std::borrow::Cow;

use crate::codex::in_order;
use crate::codex::items::Stage;
use crate::codex::wire::{
    Change, Collab, Command, FileChange, McpAnswer, McpBlock, McpCall, Message, Text, WebSearch,
};
use crate::scan::{Raw, Scan, once};
use crate::wire::{Few, LIST_CAP, Loose};
use crate::words::Words;

/// An item, and where it stands.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) stage: Stage,
    pub(super) id: &'a str,
    pub(super) item: Item<'a>,
}

/// The kinds of items that most lines hold.
#[derive(Debug)]
pub(super) enum Item<'a> {
    Message(Text<'a>),
    Reasoning(Text<'a>),
    Command(Command<'a>),
    Mcp(McpCall<'a>),
    Files(FileChange),
    Collab(Collab),
    Search(WebSearch),
    Warning(Message<'a>),
}

/// The message of an error and nothing besides.
pub(super) fn error(line: &str) -> Option<Cow<'_, str>> {
    line.starts_with("{\"type\":\"error\"").then_some(())?;
    let mut scan = Scan::of(line);
    let (mut event, mut message) = (None, None);
    scan.members(|scan, key| match key {
        "type" => once(&mut event, plain(scan)?),
        "message" => once(&mut message, scan.string()?),
        _ => None,
    })?;
    scan.end()?;
    (event? == "error").then_some(())?;
    Some(message?.whole())
}

/// An item's event and nothing besides.
pub(super) fn item(line: &str) -> Option<Step<'_>> {
    line.starts_with("{\"type\":\"item.").then_some(())?;
    in_order::item(line).or_else(|| in_any_order(line))
}

fn in_any_order(line: &str) -> Option<Step<'_>> {
    let mut scan = Scan::of(line);
    let (mut event, mut has_item, mut parts) = (None, None, Parts::default());
    scan.members(|scan, key| match key {
        "type" => once(&mut event, scan.string()?.plain()?),
        "item" => {
            once(&mut has_item, ())?;
            parts.read(scan)
        }
        _ => None,
    })?;
    scan.end()?;
    let event = event
        .filter(|event| matches!(*event, "item.started" | "item.updated" | "item.completed"))?;
    parts.step(Stage::of(event))
}

/// What items of these kinds hold.
#[derive(Debug, Default)]
struct Parts<'a> {
    kind: Option<&'a str>,
    id: Option<&'a str>,
    text: Option<Raw<'a>>,
    command: Option<Raw<'a>>,
    output: Option<Option<Raw<'a>>>,
    exit_code: Option<Option<i32>>,
    status: Option<Option<&'a str>>,
    server: Option<&'a str>,
    tool: Option<&'a str>,
    arguments: Option<Option<&'a str>>,
    result: Option<Option<McpAnswer<'a>>>,
    error: Option<Option<Message<'a>>>,
    message: Option<Raw<'a>>,
    changes: Option<Vec<Change>>,
    prompt: Option<Option<Raw<'a>>>,
    query: Option<Raw<'a>>,
}

impl<'a> Parts<'a> {
    /// Reads an item into parts that hold nothing yet: they are large.
    fn read(&mut self, scan: &mut Scan<'a>) -> Option<()> {
        let parts = self;
        scan.members(|scan, key| match key {
            "type" => once(&mut parts.kind, plain(scan)?),
            "id" => {
                // A web search repeats it with an id of its own.
                let id = plain(scan)?;
                parts.id.get_or_insert(id);
                Some(())
            }
            "text" => once(&mut parts.text, scan.string()?),
            "command" => once(&mut parts.command, scan.string()?),
            "aggregated_output" => once(&mut parts.output, scan.maybe(Scan::string)?),
            "exit_code" => once(&mut parts.exit_code, scan.maybe(Scan::whole)?),
            "status" => once(&mut parts.status, scan.maybe(plain)?),
            "server" => once(&mut parts.server, plain(scan)?),
            "tool" => once(&mut parts.tool, plain(scan)?),
            "arguments" => once(&mut parts.arguments, scan.maybe(Scan::piece)?),
            "result" => once(&mut parts.result, scan.maybe(answer)?),
            "error" => once(&mut parts.error, scan.maybe(message)?),
            "message" => once(&mut parts.message, scan.string()?),
            "changes" => once(&mut parts.changes, changes(scan)?),
            "prompt" => once(&mut parts.prompt, scan.maybe(Scan::string)?),
            "query" => once(&mut parts.query, scan.string()?),
            _ => scan.skip(),
        })
    }

    fn step(self, stage: Stage) -> Option<Step<'a>> {
        let status = self.status.flatten();
        let item = match (self.kind?, stage) {
            ("agent_message", Stage::Completed) => Item::Message(spoken(self.text)),
            ("reasoning", Stage::Completed) => Item::Reasoning(spoken(self.text)),
            ("command_execution", _) => Item::Command(Command {
                command: Words::of(self.command),
                aggregated_output: self.output.flatten().map(Words::Raw),
                exit_code: self.exit_code.flatten(),
                status: status.map(Cow::Borrowed),
                ..Command::default()
            }),
            ("mcp_tool_call", _) => Item::Mcp(McpCall {
                server: Cow::Borrowed(self.server.unwrap_or_default()),
                tool: Cow::Borrowed(self.tool.unwrap_or_default()),
                arguments: self.arguments.flatten(),
                result: self.result.flatten(),
                error: self.error.flatten(),
                status: status.map(Cow::Borrowed),
                ..McpCall::default()
            }),
            ("file_change", _) => Item::Files(FileChange {
                changes: Few(self.changes.unwrap_or_default()),
                status: status.map(str::to_owned),
                ..FileChange::default()
            }),
            ("collab_tool_call", _) => Item::Collab(Collab {
                tool: self.tool.unwrap_or_default().to_owned(),
                prompt: self.prompt.flatten().map(|raw| raw.text(usize::MAX)),
                status: status.map(str::to_owned),
                ..Collab::default()
            }),
            ("web_search", _) => Item::Search(WebSearch {
                query: Loose(self.query.map(|raw| raw.text(usize::MAX))),
            }),
            ("error", _) => Item::Warning(Message {
                message: Words::of(self.message),
            }),
            _ => return None,
        };
        Some(Step {
            stage,
            id: self.id?,
            item,
        })
    }
}

fn whole(raw: Option<Raw<'_>>) -> String {
    raw.map_or_else(String::new, |raw| raw.text(usize::MAX))
}

pub(super) fn spoken(raw: Option<Raw<'_>>) -> Text<'_> {
    Text {
        text: Words::of(raw),
        ..Text::default()
    }
}

pub(super) fn plain<'a>(scan: &mut Scan<'a>) -> Option<&'a str> {
    scan.string()?.plain()
}

pub(super) fn message<'a>(scan: &mut Scan<'a>) -> Option<Message<'a>> {
    let mut message = None;
    scan.members(|scan, key| match key {
        "message" => once(&mut message, scan.string()?),
        _ => scan.skip(),
    })?;
    Some(Message {
        message: Words::of(message),
    })
}

fn changes(scan: &mut Scan<'_>) -> Option<Vec<Change>> {
    let mut changes = Vec::new();
    scan.elements(|scan| {
        (changes.len() + 1 < LIST_CAP).then_some(())?;
        let (mut path, mut kind) = (None, None);
        scan.members(|scan, key| match key {
            "path" => once(&mut path, scan.string()?),
            "kind" => once(&mut kind, scan.string()?),
            _ => scan.skip(),
        })?;
        let (path, kind) = (whole(path), whole(kind));
        changes.push(Change { path, kind });
        Some(())
    })?;
    Some(changes)
}

pub(super) fn answer<'a>(scan: &mut Scan<'a>) -> Option<McpAnswer<'a>> {
    let mut content = None;
    scan.members(|scan, key| match key {
        "content" => {
            let mut blocks = Vec::new();
            scan.elements(|scan| {
                (blocks.len() < LIST_CAP).then_some(())?;
                blocks.push(block(scan)?);
                Some(())
            })?;
            once(&mut content, Few(blocks))
        }
        _ => scan.skip(),
    })?;
    Some(McpAnswer {
        content: Loose(content),
    })
}

fn block<'a>(scan: &mut Scan<'a>) -> Option<McpBlock<'a>> {
    let mut text = None;
    scan.members(|scan, key| match key {
        "text" => once(&mut text, scan.maybe(Scan::string)?),
        _ => scan.skip(),
    })?;
    Some(McpBlock {
        text: text.flatten().map(Words::Raw),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_as_the_cli_prints_them_are_read_in_one_pass() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/fixtures/streams/codex-0.169.0/"
        );
        let mut in_order = 0;
        for name in [
            "shell",
            "mcp",
            "mcpfail",
            "mcpcrash",
            "bigline",
            "xcbflow",
            "edit",
            "spawn-fallbackmodel",
            "websearch",
            "http401",
            "http500",
        ] {
            let stream = std::fs::read_to_string(format!("{folder}{name}.jsonl")).unwrap();
            let items = stream.lines().filter(|line| line.contains("\"item\""));
            for line in items {
                assert!(item(line).is_some(), "{name}: {line}");
                let told = |step: Option<Step<'_>>| format!("{step:?}");
                if let step @ Some(_) = in_order::item(line) {
                    assert_eq!(told(step), told(in_any_order(line)), "{name}: {line}");
                    in_order += 1;
                }
            }
            let errors = stream
                .lines()
                .filter(|line| line.starts_with("{\"type\":\"error\""));
            for line in errors {
                assert!(error(line).is_some(), "{name}: {line}");
            }
        }
        assert!(in_order > 40, "{in_order}");
    }
}
