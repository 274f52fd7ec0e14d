//! The items of a Codex turn: messages, commands, file changes, MCP calls and the rest.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde::Deserialize;

use crate::agents::codex::at_once::{Item, Step};
use crate::agents::codex::wire::{
    Change, Collab, Command, FileChange, ItemHead, McpCall, Message, Text, WebSearch,
};
use crate::agents::stream::Sink;
use crate::agents::wire::{TEXT_CAP, border, capped, cut};
use crate::model::{EventKind, SeenIds, ToolCall, ToolResult};
use crate::record::push_quoted;

/// Plans that are told apart at most; a thread with more is no honest one.
const PLANS_CAP: usize = 4_096;

/// Which calls began, so that each begins and ends once.
#[derive(Debug, Default)]
pub(super) struct Items {
    started: SeenIds,
    ended: SeenIds,
    plans: HashMap<String, u32>,
    /// The agent's last message, taken by the stream.
    pub(super) answer: Option<String>,
}

/// Where an item stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Started,
    Updated,
    Completed,
}

impl Stage {
    /// Where an item stands after this event.
    pub(super) fn of(event: &str) -> Self {
        match event {
            "item.started" => Self::Started,
            "item.updated" => Self::Updated,
            _ => Self::Completed,
        }
    }
}

impl Items {
    /// Forgets all ids: a new thread counts its items anew.
    pub(super) fn forget(&mut self) {
        *self = Self {
            answer: self.answer.take(),
            ..Self::default()
        };
    }

    /// Reads the item of an `item.*` line.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn item(
        &mut self,
        event: &str,
        raw: &str,
        sink: &mut Sink<'_>,
    ) -> Result<(), String> {
        let head: ItemHead = read(raw)?;
        let stage = Stage::of(event);
        let id = head.id;
        match &*head.kind {
            "agent_message" if stage == Stage::Completed => self.message(read(raw)?, sink),
            "reasoning" if stage == Stage::Completed => {
                let text: Text = read(raw)?;
                sink.push(EventKind::Reasoning { text: text.text.0 });
            }
            "command_execution" => self.step(stage, command(id, read(raw)?), sink),
            "file_change" => {
                let change: FileChange = read(raw)?;
                if stage == Stage::Completed && !self.ended.contains(&id) {
                    sink.push(files_changed(&change));
                }
                self.step(stage, file_change(id, &change), sink);
            }
            "mcp_tool_call" => self.step(stage, mcp(id, read(raw)?), sink),
            "web_search" => self.step(stage, web_search(id, &read(raw)?), sink),
            "collab_tool_call" => self.step(stage, collab(id, &read(raw)?), sink),
            "todo_list" if stage != Stage::Completed => self.plan(&id, raw, sink),
            // A message that is not complete, and the completion of a plan, which is no call.
            "agent_message" | "reasoning" | "todo_list" => {}
            "error" => {
                let message: Message = read(raw)?;
                sink.push(EventKind::Warning {
                    text: capped(&message.message),
                });
            }
            other => sink.push(EventKind::Unknown {
                name: capped(&format!("item/{other}")),
            }),
        }
        Ok(())
    }

    /// Takes in an item that was read together with its line.
    pub(super) fn take_in(&mut self, step: Step<'_>, sink: &mut Sink<'_>) {
        let id = step.id.to_owned();
        match step.item {
            Item::Message(text) => self.message(text, sink),
            Item::Reasoning(text) => sink.push(EventKind::Reasoning { text: text.text.0 }),
            Item::Command(told) => self.step(step.stage, command(id, told), sink),
            Item::Mcp(told) => self.step(step.stage, mcp(id, told), sink),
        }
    }

    fn message(&mut self, text: Text, sink: &mut Sink<'_>) {
        let text = text.text.0;
        self.answer = Some(text.clone());
        sink.push(EventKind::Message { text });
    }

    /// A plan is one item that each call of the plan tool updates; its completion at the turn's end is no call.
    fn plan(&mut self, id: &str, raw: &str, sink: &mut Sink<'_>) {
        if self.plans.len() >= PLANS_CAP && !self.plans.contains_key(id) {
            return;
        }
        let count = self.plans.entry(id.to_owned()).or_default();
        *count += 1;
        let call = tool(format!("{id}#{count}"), "update_plan", capped(raw));
        self.step(Stage::Completed, (call, Answer::plain(false)), sink);
    }

    /// Tells a call's begin and end, each once, and a begin before every end.
    fn step(&mut self, stage: Stage, told: (ToolCall, Answer), sink: &mut Sink<'_>) {
        let (call, answer) = told;
        let id = call.id.clone();
        if self.started.is_new(&id) {
            sink.push(EventKind::ToolStarted(call));
        }
        if stage == Stage::Completed && self.ended.is_new(&id) {
            sink.push(EventKind::ToolEnded(ToolResult {
                id,
                is_error: answer.is_error,
                exit_code: answer.exit_code,
                output: cut(answer.output),
            }));
        }
    }
}

fn command(id: String, command: Command) -> (ToolCall, Answer) {
    let failed = failed(command.status.as_deref());
    let answer = Answer {
        is_error: failed || command.exit_code.is_some_and(|code| code != 0),
        exit_code: command.exit_code,
        output: command.aggregated_output.unwrap_or_default().0,
    };
    let mut call = tool(id, "shell", argument("command", &command.command));
    call.command = Some(command.command);
    (call, answer)
}

fn file_change(id: String, change: &FileChange) -> (ToolCall, Answer) {
    let mut list = String::new();
    for Change { path, kind } in &change.changes.0 {
        if list.len() < TEXT_CAP {
            // Writing to a String cannot fail.
            _ = writeln!(list, "{kind} {path}");
        }
    }
    let call = tool(id, "apply_patch", argument("changes", list.trim_end()));
    (call, Answer::plain(failed(change.status.as_deref())))
}

fn files_changed(change: &FileChange) -> EventKind {
    let changes = &change.changes.0;
    EventKind::FilesChanged {
        changes: changes
            .iter()
            .map(|file| (file.path.clone(), file.kind.clone()))
            .collect(),
        ok: !failed(change.status.as_deref()),
    }
}

/// A failed MCP call tells its text in the result (the tool said so) or in the error (protocol, dead server).
fn mcp(id: String, mcp: McpCall<'_>) -> (ToolCall, Answer) {
    let is_error = mcp.error.is_some() || failed(mcp.status.as_deref());
    let blocks = mcp
        .result
        .and_then(|answer| answer.content.0)
        .unwrap_or_default();
    let texts = blocks.0.into_iter().filter_map(|block| block.text);
    let texts: Vec<String> = texts.chain(mcp.error.map(|error| error.message)).collect();
    let arguments = mcp.arguments.map_or_else(String::new, capped);
    let mut call = tool(id, &format!("mcp__{}__{}", mcp.server, mcp.tool), arguments);
    call.mcp = Some((mcp.server, mcp.tool));
    let answer = Answer {
        is_error,
        exit_code: None,
        output: texts.join("\n"),
    };
    (call, answer)
}

fn web_search(id: String, search: &WebSearch) -> (ToolCall, Answer) {
    let query = search.query.0.as_deref().unwrap_or_default();
    (
        tool(id, "web_search", argument("query", query)),
        Answer::plain(false),
    )
}

fn collab(id: String, collab: &Collab) -> (ToolCall, Answer) {
    let prompt = collab.prompt.as_deref().unwrap_or_default();
    let call = tool(id, &collab.tool, argument("prompt", prompt));
    (call, Answer::plain(failed(collab.status.as_deref())))
}

struct Answer {
    is_error: bool,
    exit_code: Option<i32>,
    output: String,
}

impl Answer {
    fn plain(is_error: bool) -> Self {
        Self {
            is_error,
            exit_code: None,
            output: String::new(),
        }
    }
}

fn tool(id: String, name: &str, arguments: String) -> ToolCall {
    ToolCall {
        id,
        name: name.to_owned(),
        mcp: None,
        command: None,
        arguments,
        parent: None,
    }
}

fn failed(status: Option<&str>) -> bool {
    matches!(status, Some("failed" | "error" | "declined"))
}

/// Arguments of one text, as JSON that fits the cap however much of it must be escaped.
fn argument(key: &str, text: &str) -> String {
    let kept = &text[..border(text, TEXT_CAP / 8)];
    let mut json = String::with_capacity(key.len() + kept.len() + 16);
    json.push_str("{\"");
    json.push_str(key);
    json.push_str("\":");
    push_quoted(&mut json, kept);
    json.push('}');
    json
}

fn read<'a, T: Deserialize<'a>>(raw: &'a str) -> Result<T, String> {
    serde_json::from_str(raw).map_err(|error| error.to_string())
}
