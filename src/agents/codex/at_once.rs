//! Lines of a Codex stream that are as the CLI prints them, read in one pass; any other line is read by `serde_json`.
//!
//! What is told here is what the types in `wire.rs` would tell: a test reads every recorded and many spoiled lines both ways.
#![expect(
    clippy::option_option,
    reason = "the outer one says whether a line is read here, the inner one whether it tells the thing"
)]

use crate::agents::codex::items::Stage;
use crate::agents::codex::wire::{Command, McpAnswer, McpBlock, McpCall, Message, Text};
use crate::agents::scan::{Raw, Scan, once};
use crate::agents::wire::{Capped, Few, LIST_CAP, Loose, TEXT_CAP};

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
    Message(Text),
    Reasoning(Text),
    Command(Command),
    Mcp(McpCall<'a>),
}

/// An item's event and nothing besides.
pub(super) fn item(line: &str) -> Option<Step<'_>> {
    line.starts_with("{\"type\":\"item.").then_some(())?;
    let mut scan = Scan::of(line)?;
    let (mut event, mut parts) = (None, None);
    scan.members(|scan, key| match key {
        "type" => once(&mut event, scan.string()?.plain()?),
        "item" => once(&mut parts, Parts::read(scan)?),
        _ => None,
    })?;
    scan.end()?;
    let event = event
        .filter(|event| matches!(*event, "item.started" | "item.updated" | "item.completed"))?;
    parts?.step(Stage::of(event))
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
    result: Option<Option<McpAnswer>>,
    error: Option<Option<Message>>,
}

impl<'a> Parts<'a> {
    fn read(scan: &mut Scan<'a>) -> Option<Self> {
        let mut parts = Self::default();
        scan.members(|scan, key| match key {
            "type" => once(&mut parts.kind, plain(scan)?),
            "id" => once(&mut parts.id, plain(scan)?),
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
            _ => scan.skip(),
        })?;
        Some(parts)
    }

    fn step(self, stage: Stage) -> Option<Step<'a>> {
        let status = self.status.flatten().map(str::to_owned);
        let item = match (self.kind?, stage) {
            ("agent_message", Stage::Completed) => Item::Message(spoken(self.text)),
            ("reasoning", Stage::Completed) => Item::Reasoning(spoken(self.text)),
            ("command_execution", _) => Item::Command(Command {
                command: self
                    .command
                    .map_or_else(String::new, |raw| raw.text(usize::MAX)),
                aggregated_output: Some(capped(self.output.flatten())),
                exit_code: self.exit_code.flatten(),
                status,
                ..Command::default()
            }),
            ("mcp_tool_call", _) => Item::Mcp(McpCall {
                server: self.server.unwrap_or_default().to_owned(),
                tool: self.tool.unwrap_or_default().to_owned(),
                arguments: self.arguments.flatten(),
                result: self.result.flatten(),
                error: self.error.flatten(),
                status,
                ..McpCall::default()
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

fn capped(raw: Option<Raw<'_>>) -> Capped {
    Capped(raw.map_or_else(String::new, |raw| raw.text(TEXT_CAP)))
}

fn spoken(raw: Option<Raw<'_>>) -> Text {
    Text {
        text: capped(raw),
        ..Text::default()
    }
}

fn plain<'a>(scan: &mut Scan<'a>) -> Option<&'a str> {
    scan.string()?.plain()
}

fn message(scan: &mut Scan<'_>) -> Option<Message> {
    let mut message = None;
    scan.members(|scan, key| match key {
        "message" => once(&mut message, scan.string()?.text(usize::MAX)),
        _ => scan.skip(),
    })?;
    Some(Message {
        message: message.unwrap_or_default(),
    })
}

fn answer(scan: &mut Scan<'_>) -> Option<McpAnswer> {
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

fn block(scan: &mut Scan<'_>) -> Option<McpBlock> {
    let mut text = None;
    scan.members(|scan, key| match key {
        // One character more than is kept, so that a text that is too long is seen to be.
        "text" => once(
            &mut text,
            scan.maybe(Scan::string)?.map(|raw| raw.text(TEXT_CAP + 4)),
        ),
        _ => scan.skip(),
    })?;
    Some(McpBlock {
        text: text.flatten(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_as_the_cli_prints_them_are_read_in_one_pass() {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/streams/codex-0.169.0/"
        );
        for name in ["shell", "mcp", "mcpfail", "mcpcrash", "bigline", "xcbflow"] {
            let stream = std::fs::read_to_string(format!("{folder}{name}.jsonl")).unwrap();
            let items = stream.lines().filter(|line| line.contains("\"item\""));
            for line in items {
                assert!(item(line).is_some(), "{name}: {line}");
            }
        }
    }
}
