//! The items of a Codex turn: messages, commands, file changes, MCP calls and the rest.

use std::collections::HashMap;

use crate::calls::Calls;
use crate::codex::calls::{Call, failed};
use crate::codex::wire::{
    Collab, Command, FileChange, ItemHead, McpCall, Message, Text, WebSearch,
};
use crate::stream::Sink;
use crate::wire::{LIST_CAP, TEXT_CAP, WORDS_CAP, cut, read, words};
use proctor_model::{Cut, EventKind, Side, ToolCall, ToolResult};

/// Plans that are told apart at most; a stream with more is no honest one.
const PLANS_CAP: usize = 4_096;

/// Which calls began, so that each begins and ends once.
#[derive(Debug, Default)]
pub(super) struct Items {
    /// Threads that began.
    threads: u32,
    calls: Calls,
    plans: HashMap<String, u32>,
    /// The agent's last message.
    pub(super) answer: Option<String>,
    /// Sub-agents that it started.
    pub(super) sub_agents: u64,
}

/// Which item an event is about, and whether it is the last one about it.
struct Place {
    id: String,
    is_complete: bool,
}

impl Items {
    /// A thread begins, which counts its items anew.
    pub(super) fn begin_thread(&mut self) {
        self.threads = self.threads.saturating_add(1);
    }

    /// The id of an item in the whole stream: as it is in the first thread, with the thread's number before it in others.
    fn id_in_stream(&self, id: String) -> String {
        if self.threads < 2 {
            return id;
        }
        format!("{}:{id}", self.threads)
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
        let place = Place {
            id: self.id_in_stream(head.id),
            is_complete: event == "item.completed",
        };
        match &*head.kind {
            // A message that is not complete, and the completion of a plan, which is no call.
            "agent_message" | "reasoning" if !place.is_complete => {}
            "todo_list" if place.is_complete => {}
            "agent_message" => self.message(read(raw)?, sink),
            "reasoning" => {
                let text = cut(read::<Text>(raw)?.text, TEXT_CAP);
                sink.push(EventKind::Reasoning { text });
            }
            "command_execution" => self.call(place, read::<Command>(raw)?.into(), sink),
            "file_change" => self.changed(place, &read(raw)?, sink),
            "mcp_tool_call" => self.call(place, read::<McpCall<'_>>(raw)?.into(), sink),
            "web_search" => self.call(place, read::<WebSearch>(raw)?.into(), sink),
            "collab_tool_call" => self.collab(place, read(raw)?, sink),
            "todo_list" => self.plan(&place.id, raw, sink),
            "error" => sink.warn(&read::<Message>(raw)?.message),
            other => sink.unknown(&format!("item/{other}")),
        }
        Ok(())
    }

    fn message(&mut self, item: Text, sink: &mut Sink<'_>) {
        let text = cut(item.text, WORDS_CAP);
        self.answer = Some(text.clone());
        sink.push(EventKind::Message { text });
    }

    fn collab(&mut self, place: Place, collab: Collab, sink: &mut Sink<'_>) {
        let is_over = place.is_complete && !self.calls.has(&place.id, Side::End);
        let is_new = collab.tool == "spawn_agent" && !failed(collab.status.as_deref());
        self.sub_agents += u64::from(is_over && is_new);
        self.call(place, collab.into(), sink);
    }

    fn changed(&mut self, place: Place, change: &FileChange, sink: &mut Sink<'_>) {
        if place.is_complete && !self.calls.has(&place.id, Side::End) {
            sink.push(files_changed(change));
        }
        let is_new = !self.calls.has(&place.id, Side::Begin);
        self.call(place, change.into(), sink);
        if is_new && change.changes.0.len() >= LIST_CAP {
            sink.push(EventKind::Cut {
                what: Cut::Arguments,
            });
        }
    }

    /// A plan is one item that each call of the plan tool updates; its completion at the turn's end is no call.
    fn plan(&mut self, id: &str, raw: &str, sink: &mut Sink<'_>) {
        if self.plans.len() >= PLANS_CAP && !self.plans.contains_key(id) {
            return;
        }
        let count = self.plans.entry(id.to_owned()).or_default();
        *count += 1;
        let place = Place {
            id: format!("{id}#{count}"),
            is_complete: true,
        };
        let call = Call {
            name: "update_plan".to_owned(),
            arguments: words(raw),
            ..Call::default()
        };
        self.call(place, call, sink);
    }

    /// Reports a call's begin and end, each once, and a begin before every end.
    fn call(&mut self, place: Place, call: Call, sink: &mut Sink<'_>) {
        let begin = ToolCall {
            id: place.id.clone(),
            name: call.name,
            mcp: call.mcp,
            command: call.command,
            arguments: call.arguments,
            parent: None,
        };
        self.calls.start(begin, sink);
        if place.is_complete {
            let end = ToolResult {
                id: place.id,
                is_error: call.is_error,
                exit_code: call.exit_code,
                output: cut(call.output, TEXT_CAP),
            };
            self.calls.end(end, sink);
        }
    }
}

fn files_changed(change: &FileChange) -> EventKind {
    let changes = change.changes.0.iter();
    EventKind::FilesChanged {
        changes: changes
            .map(|file| (file.path.clone(), file.kind.clone()))
            .collect(),
        ok: !failed(change.status.as_deref()),
    }
}
