//! The items of a Codex turn: messages, commands, file changes, MCP calls and the rest.

use std::collections::HashMap;

use serde::Deserialize;

use crate::agents::codex::at_once::{Item, Step};
use crate::agents::codex::wire::{
    Change, Collab, Command, FileChange, ItemHead, McpCall, Message, Text, WebSearch,
};
use crate::agents::stream::Sink;
use crate::agents::wire::{TEXT_CAP, border, capped, cut};
use crate::agents::words::Words;
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
    /// The agent's last message.
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
        let id = &*head.id;
        let place = (stage, id);
        match &*head.kind {
            "agent_message" if stage == Stage::Completed => self.message(&read(raw)?, sink),
            "reasoning" if stage == Stage::Completed => reasoning(&read(raw)?, sink),
            "command_execution" => self.step(place, &read::<Command<'_>>(raw)?, sink),
            "file_change" => self.changed(place, &read(raw)?, sink),
            "mcp_tool_call" => self.step(place, &read::<McpCall<'_>>(raw)?, sink),
            "web_search" => self.step(place, &read::<WebSearch>(raw)?, sink),
            "collab_tool_call" => self.step(place, &read::<Collab>(raw)?, sink),
            "todo_list" if stage != Stage::Completed => self.plan(id, raw, sink),
            // A message that is not complete, and the completion of a plan, which is no call.
            "agent_message" | "reasoning" | "todo_list" => {}
            "error" => warn(&read(raw)?, sink),
            other => sink.push(EventKind::Unknown {
                name: capped(&format!("item/{other}")),
            }),
        }
        Ok(())
    }

    /// Takes in an item that was read together with its line.
    pub(super) fn take_in(&mut self, step: Step<'_>, sink: &mut Sink<'_>) {
        let place = (step.stage, step.id);
        match step.item {
            Item::Message(text) => self.message(&text, sink),
            Item::Reasoning(text) => reasoning(&text, sink),
            Item::Command(command) => self.step(place, &command, sink),
            Item::Mcp(call) => self.step(place, &call, sink),
            Item::Files(change) => self.changed(place, &change, sink),
            Item::Collab(collab) => self.step(place, &collab, sink),
            Item::Search(search) => self.step(place, &search, sink),
            Item::Warning(message) => warn(&message, sink),
        }
    }

    fn message(&mut self, told: &Text<'_>, sink: &mut Sink<'_>) {
        let text = told.text.text(TEXT_CAP);
        self.answer.get_or_insert_default().clone_from(&text);
        sink.push(EventKind::Message { text });
    }

    fn changed(&mut self, place: (Stage, &str), change: &FileChange, sink: &mut Sink<'_>) {
        let (stage, id) = place;
        if stage == Stage::Completed && !self.ended.contains(id) {
            sink.push(files_changed(change));
        }
        self.step(place, change, sink);
    }

    /// A plan is one item that each call of the plan tool updates; its completion at the turn's end is no call.
    fn plan(&mut self, id: &str, raw: &str, sink: &mut Sink<'_>) {
        if self.plans.len() >= PLANS_CAP && !self.plans.contains_key(id) {
            return;
        }
        let count = self.plans.entry(id.to_owned()).or_default();
        *count += 1;
        let id = format!("{id}#{count}");
        self.step((Stage::Completed, &id), &Plan(raw), sink);
    }

    /// Tells a call's begin and end, each once, and a begin before every end.
    fn step(&mut self, place: (Stage, &str), told: &impl Told, sink: &mut Sink<'_>) {
        let (stage, id) = place;
        if self.started.is_new(id) {
            sink.push(EventKind::ToolStarted(told.call(id.to_owned())));
        }
        if stage == Stage::Completed && self.ended.is_new(id) {
            let answer = told.answer();
            sink.push(EventKind::ToolEnded(ToolResult {
                id: id.to_owned(),
                is_error: answer.is_error,
                exit_code: answer.exit_code,
                output: cut(answer.output),
            }));
        }
    }
}

fn reasoning(told: &Text<'_>, sink: &mut Sink<'_>) {
    let text = told.text.text(TEXT_CAP);
    sink.push(EventKind::Reasoning { text });
}

fn warn(message: &Message<'_>, sink: &mut Sink<'_>) {
    let text = message.message.text(TEXT_CAP);
    sink.push(EventKind::Warning { text });
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

/// What tells of a call: most calls are told twice, so that each side of it is made when it is wanted.
trait Told {
    fn call(&self, id: String) -> ToolCall;

    fn answer(&self) -> Answer;
}

impl Told for Command<'_> {
    fn call(&self, id: String) -> ToolCall {
        let command = self.command.text(usize::MAX);
        let call = tool(id, "shell", argument("command", &command));
        ToolCall {
            command: Some(command),
            ..call
        }
    }

    fn answer(&self) -> Answer {
        let output = self.aggregated_output.as_ref();
        let failed = failed(self.status.as_deref());
        Answer {
            is_error: failed || self.exit_code.is_some_and(|code| code != 0),
            exit_code: self.exit_code,
            output: output.map_or_else(String::new, |output| output.text(TEXT_CAP)),
        }
    }
}

impl Told for FileChange {
    fn call(&self, id: String) -> ToolCall {
        let mut list = "{\"changes\":[".to_owned();
        for (index, Change { path, kind }) in self.changes.0.iter().enumerate() {
            // However much of a path must be escaped, what is here is JSON that fits the cap.
            if list.len() + 8 * (path.len() + kind.len()) > TEXT_CAP / 2 {
                break;
            }
            list.push_str(if index > 0 {
                ",{\"kind\":"
            } else {
                "{\"kind\":"
            });
            push_quoted(&mut list, kind);
            list.push_str(",\"path\":");
            push_quoted(&mut list, path);
            list.push('}');
        }
        list.push_str("]}");
        tool(id, "apply_patch", list)
    }

    fn answer(&self) -> Answer {
        Answer::plain(failed(self.status.as_deref()))
    }
}

impl Told for McpCall<'_> {
    fn call(&self, id: String) -> ToolCall {
        let (server, tool_name) = (&*self.server, &*self.tool);
        let arguments = self.arguments.map_or_else(String::new, capped);
        let name = ["mcp__", server, "__", tool_name].concat();
        ToolCall {
            mcp: Some((server.to_owned(), tool_name.to_owned())),
            ..named(id, name, arguments)
        }
    }

    /// A failed MCP call tells its text in the result (the tool said so) or in the error (protocol, dead server).
    fn answer(&self) -> Answer {
        let mut output: Option<String> = None;
        let mut add = |text: &Words<'_>| {
            let output = match &mut output {
                Some(output) => {
                    output.push('\n');
                    output
                }
                None => output.insert(String::new()),
            };
            if output.len() <= TEXT_CAP {
                // One character more than is kept, so that a text that is too long is seen to be.
                text.push_to(output, TEXT_CAP + 4);
            }
        };
        let blocks = self.result.iter().flat_map(|answer| &answer.content.0);
        let texts =
            blocks.flat_map(|blocks| blocks.0.iter().filter_map(|block| block.text.as_ref()));
        texts.for_each(&mut add);
        if let Some(error) = &self.error {
            add(&error.message);
        }
        Answer {
            is_error: self.error.is_some() || failed(self.status.as_deref()),
            exit_code: None,
            output: output.unwrap_or_default(),
        }
    }
}

impl Told for WebSearch {
    fn call(&self, id: String) -> ToolCall {
        let query = self.query.0.as_deref().unwrap_or_default();
        tool(id, "web_search", argument("query", query))
    }

    fn answer(&self) -> Answer {
        Answer::plain(false)
    }
}

impl Told for Collab {
    fn call(&self, id: String) -> ToolCall {
        let prompt = self.prompt.as_deref().unwrap_or_default();
        tool(id, &self.tool, argument("prompt", prompt))
    }

    fn answer(&self) -> Answer {
        Answer::plain(failed(self.status.as_deref()))
    }
}

/// A plan as it stands in its line.
struct Plan<'a>(&'a str);

impl Told for Plan<'_> {
    fn call(&self, id: String) -> ToolCall {
        tool(id, "update_plan", capped(self.0))
    }

    fn answer(&self) -> Answer {
        Answer::plain(false)
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
    named(id, name.to_owned(), arguments)
}

fn named(id: String, name: String, arguments: String) -> ToolCall {
    ToolCall {
        id,
        name,
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
