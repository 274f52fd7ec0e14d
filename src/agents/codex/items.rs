//! The items of a Codex turn: messages, commands, file changes, MCP calls and the rest.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agents::codex::wire::{
    Collab, Command, FileChange, ItemHead, McpCall, Message, Text, WebSearch,
};
use crate::agents::stream::Sink;
use crate::agents::wire::{TEXT_CAP, border, capped};
use crate::model::{EventKind, ToolCall, ToolResult};

/// Ids that are remembered at most; a stream with more calls than that is no honest one.
const IDS_CAP: usize = 100_000;

/// Which calls began, so that each begins and ends once.
#[derive(Debug, Default)]
pub(super) struct Items {
    started: HashSet<String>,
    ended: HashSet<String>,
    plans: HashMap<String, u32>,
    /// The agent's last message, taken by the stream.
    pub(super) answer: Option<String>,
}

/// Where an item stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Started,
    Updated,
    Completed,
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
        raw: Option<&RawValue>,
        sink: &mut Sink<'_>,
    ) -> Result<(), String> {
        let raw = raw.ok_or("an item event without an item")?.get();
        let head: ItemHead = read(raw)?;
        let stage = match event {
            "item.started" => Stage::Started,
            "item.updated" => Stage::Updated,
            _ => Stage::Completed,
        };
        match head.kind.as_str() {
            "agent_message" | "reasoning" => self.text(&head, stage, &read(raw)?, sink),
            "command_execution" => self.command(head.id, stage, read(raw)?, sink),
            "file_change" => self.file_change(head.id, stage, read(raw)?, sink),
            "mcp_tool_call" => self.mcp(head.id, stage, read(raw)?, sink),
            "web_search" => self.web_search(head.id, stage, read(raw)?, sink),
            "collab_tool_call" => self.collab(head.id, stage, read(raw)?, sink),
            "todo_list" => self.plan(&head.id, stage, raw, sink),
            "error" => warning(&read(raw)?, sink),
            other => sink.push(EventKind::Unknown {
                name: capped(&format!("item/{other}")),
            }),
        }
        Ok(())
    }

    fn text(&mut self, head: &ItemHead, stage: Stage, text: &Text, sink: &mut Sink<'_>) {
        if stage != Stage::Completed {
            return;
        }
        let told = capped(&text.text);
        if head.kind == "reasoning" {
            sink.push(EventKind::Reasoning { text: told });
        } else {
            self.answer = Some(told.clone());
            sink.push(EventKind::Message { text: told });
        }
    }

    fn command(&mut self, id: String, stage: Stage, command: Command, sink: &mut Sink<'_>) {
        let is_error = command.exit_code.is_some_and(|code| code != 0) || failed(command.status.as_deref());
        let call = ToolCall {
            id,
            name: "shell".to_owned(),
            mcp: None,
            arguments: argument("command", &command.command),
            command: Some(command.command),
            parent: None,
        };
        let answer = Answer {
            is_error,
            exit_code: command.exit_code,
            output: command.aggregated_output.unwrap_or_default(),
        };
        self.call(call, stage, answer, sink);
    }

    fn file_change(&mut self, id: String, stage: Stage, change: FileChange, sink: &mut Sink<'_>) {
        let is_error = failed(change.status.as_deref());
        let changes: Vec<(String, String)> = change
            .changes
            .0
            .into_iter()
            .map(|change| (change.path, change.kind))
            .collect();
        let mut arguments = String::new();
        for (path, kind) in &changes {
            if arguments.len() < TEXT_CAP {
                _ = writeln!(arguments, "{kind} {path}");
            }
        }
        if stage == Stage::Completed && !self.ended.contains(&id) {
            sink.push(EventKind::FilesChanged {
                changes,
                ok: !is_error,
            });
        }
        let call = tool(id, "apply_patch", argument("changes", arguments.trim_end()));
        self.call(call, stage, Answer::plain(is_error), sink);
    }

    fn mcp(&mut self, id: String, stage: Stage, mcp: McpCall<'_>, sink: &mut Sink<'_>) {
        let is_error = mcp.error.is_some() || failed(mcp.status.as_deref());
        let blocks = mcp.result.and_then(|answer| answer.content.0);
        let mut output = String::new();
        for text in blocks.into_iter().flat_map(|blocks| blocks.0).filter_map(|block| block.text) {
            if !output.is_empty() {
                output.push('\n');
            }
            output.push_str(&text);
        }
        if let Some(error) = mcp.error {
            output.push_str(&error.message);
        }
        let call = ToolCall {
            id,
            name: format!("mcp__{}__{}", mcp.server, mcp.tool),
            mcp: Some((mcp.server, mcp.tool)),
            command: None,
            arguments: mcp.arguments.map_or_else(String::new, |raw| capped(raw.get())),
            parent: None,
        };
        let answer = Answer {
            is_error,
            exit_code: None,
            output,
        };
        self.call(call, stage, answer, sink);
    }

    fn web_search(&mut self, id: String, stage: Stage, search: WebSearch, sink: &mut Sink<'_>) {
        let query = search.query.0.unwrap_or_default();
        let call = tool(id, "web_search", argument("query", &query));
        self.call(call, stage, Answer::plain(false), sink);
    }

    fn collab(&mut self, id: String, stage: Stage, collab: Collab, sink: &mut Sink<'_>) {
        let arguments = argument("prompt", collab.prompt.as_deref().unwrap_or_default());
        let call = tool(id, &collab.tool, arguments);
        self.call(call, stage, Answer::plain(failed(collab.status.as_deref())), sink);
    }

    /// A plan is one item that each call of the plan tool updates; its completion at the turn's end is no call.
    fn plan(&mut self, id: &str, stage: Stage, raw: &str, sink: &mut Sink<'_>) {
        if stage == Stage::Completed || self.plans.len() >= IDS_CAP {
            return;
        }
        let count = self.plans.entry(id.to_owned()).or_default();
        *count += 1;
        let call = tool(format!("{id}#{count}"), "update_plan", capped(raw));
        self.call(call, Stage::Completed, Answer::plain(false), sink);
    }

    /// Tells a call's begin and end, each once, and a begin before every end.
    fn call(&mut self, call: ToolCall, stage: Stage, answer: Answer, sink: &mut Sink<'_>) {
        let id = call.id.clone();
        if self.started.len() < IDS_CAP && self.started.insert(id.clone()) {
            sink.push(EventKind::ToolStarted(call));
        }
        if stage == Stage::Completed && self.ended.len() < IDS_CAP && self.ended.insert(id.clone())
        {
            sink.push(EventKind::ToolEnded(ToolResult {
                id,
                is_error: answer.is_error,
                exit_code: answer.exit_code,
                output: capped(&answer.output),
            }));
        }
    }
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

fn warning(message: &Message, sink: &mut Sink<'_>) {
    sink.push(EventKind::Warning {
        text: capped(&message.message),
    });
}

fn failed(status: Option<&str>) -> bool {
    matches!(status, Some("failed" | "error" | "declined"))
}

/// Arguments of one text, as JSON that fits the cap however much of it must be escaped.
fn argument(key: &str, text: &str) -> String {
    let kept = &text[..border(text, TEXT_CAP / 8)];
    serde_json::json!({ key: kept }).to_string()
}

fn read<'a, T: Deserialize<'a>>(raw: &'a str) -> Result<T, String> {
    serde_json::from_str(raw).map_err(|error| error.to_string())
}
