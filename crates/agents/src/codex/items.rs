//! The items of a Codex turn: messages, commands, file changes, MCP calls and the rest.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;

use crate::codex::at_once::{Item, Step};
use crate::codex::told::{Plan, Told, failed};
use crate::codex::wire::{
    Collab, Command, FileChange, ItemHead, McpCall, Message, Text, WebSearch,
};
use crate::stream::Sink;
use crate::wire::{LIST_CAP, TEXT_CAP, WORDS_CAP, capped, cut};
use proctor_model::{Cut, EventKind, Said, SeenIds, Side, ToolResult};
use proctor_record::run_before_escape;

/// Plans that are told apart at most; a stream with more is no honest one.
const PLANS_CAP: usize = 4_096;

/// Which calls began, so that each begins and ends once.
#[derive(Debug, Default)]
pub(super) struct Items {
    /// Threads that began.
    threads: u32,
    seen: SeenIds,
    plans: HashMap<String, u32>,
    /// The agent's last message.
    pub(super) answer: Option<String>,
    /// Sub-agents that it started.
    pub(super) sub_agents: u64,
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
    /// A thread begins, which counts its items anew.
    pub(super) fn begin_thread(&mut self) {
        self.threads = self.threads.saturating_add(1);
    }

    /// The id of an item in the whole stream: as it was told in the first thread, with the thread's number before it in others.
    fn id_in_stream<'a>(&self, told: &'a str) -> Cow<'a, str> {
        if self.threads < 2 {
            return Cow::Borrowed(told);
        }
        Cow::Owned(format!("{}:{told}", self.threads))
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
        let id = &*self.id_in_stream(&head.id);
        let place = (stage, id);
        match &*head.kind {
            "agent_message" if stage == Stage::Completed => self.message(&read(raw)?, sink),
            "reasoning" if stage == Stage::Completed => reasoning(&read(raw)?, sink),
            "command_execution" => self.step(place, &read::<Command<'_>>(raw)?, sink),
            "file_change" => self.changed(place, &read(raw)?, sink),
            "mcp_tool_call" => self.step(place, &read::<McpCall<'_>>(raw)?, sink),
            "web_search" => self.step(place, &read::<WebSearch>(raw)?, sink),
            "collab_tool_call" => self.collab(place, &read(raw)?, sink),
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
        let id = &*self.id_in_stream(step.id);
        let place = (step.stage, id);
        match step.item {
            Item::Message(text) => self.message(&text, sink),
            Item::Reasoning(text) => reasoning(&text, sink),
            Item::Command(command) => self.step(place, &command, sink),
            Item::Mcp(call) => self.step(place, &call, sink),
            Item::Files(change) => self.changed(place, &change, sink),
            Item::Collab(collab) => self.collab(place, &collab, sink),
            Item::Search(search) => self.step(place, &search, sink),
            Item::Warning(message) => warn(&message, sink),
        }
    }

    fn message(&mut self, told: &Text<'_>, sink: &mut Sink<'_>) {
        if let Some(text) = told.text.spelled_cut(WORDS_CAP) {
            let answer = self.answer.get_or_insert_default();
            answer.clear();
            text.each_piece(|piece| {
                answer.push_str(piece);
                true
            });
            return sink.say(&Said::Message(text));
        }
        let text = told.text.text(WORDS_CAP);
        self.answer.get_or_insert_default().clone_from(&text);
        sink.push(EventKind::Message { text });
    }

    fn collab(&mut self, place: (Stage, &str), collab: &Collab, sink: &mut Sink<'_>) {
        let (stage, id) = place;
        let is_over = stage == Stage::Completed && !self.seen.contains(id, Side::End);
        let is_new = collab.tool == "spawn_agent" && !failed(collab.status.as_deref());
        self.sub_agents += u64::from(is_over && is_new);
        self.step(place, collab, sink);
    }

    fn changed(&mut self, place: (Stage, &str), change: &FileChange, sink: &mut Sink<'_>) {
        let (stage, id) = place;
        if stage == Stage::Completed && !self.seen.contains(id, Side::End) {
            sink.push(files_changed(change));
        }
        let is_new = !self.seen.contains(id, Side::Begin);
        self.step(place, change, sink);
        if is_new && change.changes.0.len() >= LIST_CAP {
            sink.push(EventKind::Cut(Cut::Arguments));
        }
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
        let is_plain = run_before_escape(id.as_bytes()) == id.len();
        if self.seen.is_new(id, Side::Begin) {
            let mut name = String::new();
            match told.called(id, &mut name).filter(|_| is_plain) {
                Some(call) => sink.say(&Said::Called(call)),
                None => sink.push(EventKind::ToolStarted(told.call(id.to_owned()))),
            }
        }
        if stage == Stage::Completed && self.seen.is_new(id, Side::End) {
            if let Some(answer) = told.answered(id).filter(|_| is_plain) {
                return sink.say(&Said::Answered(answer));
            }
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
    if let Some(text) = told.text.spelled_cut(TEXT_CAP) {
        return sink.say(&Said::Reasoning(text));
    }
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

fn read<'a, T: Deserialize<'a>>(raw: &'a str) -> Result<T, String> {
    serde_json::from_str(raw).map_err(|error| error.to_string())
}
