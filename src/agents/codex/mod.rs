//! What Codex prints with `codex exec --json`: one JSON object a line, items with ids, usage at the end of a turn.

mod calls;
mod items;
mod stderr;
mod wire;

use serde_json::value::RawValue;

use crate::agents::codex::items::Items;
use crate::agents::codex::stderr::StderrReader;
pub(super) use crate::agents::codex::wire::CodexUsage;
use crate::agents::codex::wire::Line;
use crate::agents::fault::{Told, fault};
use crate::agents::stream::{Dialect, Sink};
use crate::agents::wire::{api_word, capped, read};
use crate::model::{EventKind, ProviderFault, ProviderFaultKind, StreamReport, Terminal, Usage};

/// How the message of a failure begins after which it tries again.
const ATTEMPT: &str = "Reconnecting...";

/// What is kept of a Codex stream.
#[derive(Debug, Default)]
pub(super) struct CodexStream {
    items: Items,
    stderr: StderrReader,
    thread: Option<String>,
    /// Usage of threads that another one followed.
    earlier: Option<Usage>,
    /// Usage of the running thread, as its last final event told it.
    current: Option<Usage>,
    usage_text: Option<String>,
    unreadable: bool,
    running: bool,
    terminal: Terminal,
    finals: u32,
    /// Whether an answer of the model broke off.
    broke_off: bool,
}

impl Dialect for CodexStream {
    fn line(&mut self, text: &str, sink: &mut Sink<'_>) -> Result<(), String> {
        let line: Line<'_> = read(text)?;
        let kind = line.kind.as_deref().unwrap_or_default();
        match kind {
            "thread.started" => self.thread_started(line.thread_id.0, sink),
            "turn.started" => self.running = true,
            "item.started" | "item.updated" | "item.completed" => {
                let item = line.item.ok_or("an item event without an item")?;
                self.items.item(kind, item.get(), sink)?;
            }
            "turn.completed" => {
                self.usage(line.usage, sink)?;
                self.ended(Terminal::Done, sink);
            }
            "turn.failed" => {
                let message = line.error.0.map(|error| error.message);
                let message = message.unwrap_or_default();
                self.failure(&message, true, sink);
                self.ended(Terminal::Failed, sink);
            }
            "error" => {
                let message = line.message.0.unwrap_or_default();
                self.failure(&message, !message.starts_with(ATTEMPT), sink);
            }
            _ => sink.push(EventKind::Unknown { name: capped(kind) }),
        }
        Ok(())
    }

    fn stderr_line(&mut self, line: &str, sink: &mut Sink<'_>) {
        self.stderr.line(line, sink);
    }

    /// Whether the last turn ended.
    fn done(&self) -> bool {
        self.finals > 0 && !self.running
    }

    fn has_ended(&self) -> bool {
        self.finals > 0
    }

    /// What the stream amounts to. It tells neither model nor cost.
    fn finish(self: Box<Self>, _sink: &mut Sink<'_>) -> StreamReport {
        let usage = self.usage_so_far();
        StreamReport {
            terminal: self.terminal,
            usage: usage.filter(|_| !self.unreadable),
            usage_is_lower_bound: self.running && usage.is_some(),
            answer: self.items.answer,
            silent_sub_agents: self.items.sub_agents,
            provider_usage: self.usage_text,
            mcp_failure: self.stderr.servers,
            broke_off: self.broke_off,
            finals: self.finals,
            spare_finals: self.finals.saturating_sub(1),
            ..StreamReport::default()
        }
    }
}

impl CodexStream {
    /// Usage of all threads.
    fn usage_so_far(&self) -> Option<Usage> {
        match (self.earlier, self.current) {
            (Some(earlier), Some(current)) => Some(earlier.plus(current)),
            (earlier, current) => earlier.or(current),
        }
    }

    fn thread_started(&mut self, thread: Option<String>, sink: &mut Sink<'_>) {
        if self.thread.is_some() && self.thread != thread {
            self.earlier = self.usage_so_far();
            self.current = None;
        }
        self.thread.clone_from(&thread);
        self.items.begin_thread();
        self.running = true;
        sink.push(EventKind::Started {
            session: thread,
            model: None,
            cli_version: None,
            mcp_servers: Vec::new(),
            tools: Vec::new(),
        });
    }

    /// Takes the usage of a turn's end. It counts from the start of the thread, earlier turns and resumed ones included
    /// (codex prints the thread's `total_token_usage`), so the last one of a thread counts and threads are added.
    fn usage(&mut self, raw: Option<&RawValue>, sink: &mut Sink<'_>) -> Result<(), String> {
        let Some(raw) = raw else { return Ok(()) };
        let told: CodexUsage = read(raw.get())?;
        self.usage_text = Some(capped(raw.get()));
        let Some(usage) = told.unified() else {
            self.unreadable = true;
            let text = "the token counts of turn.completed cannot be read".to_owned();
            sink.push(EventKind::Warning { text });
            return Ok(());
        };
        if told.contradicts_itself() {
            let text = "turn.completed tells more cached than input tokens".to_owned();
            sink.push(EventKind::Warning { text });
        }
        self.current = Some(usage);
        sink.push(EventKind::UsageSeen(self.usage_so_far().unwrap_or(usage)));
        Ok(())
    }

    /// Tells a failure of the provider. The message may be the body of the API's answer, whose code says more than its words.
    fn failure(&mut self, message: &str, fatal: bool, sink: &mut Sink<'_>) {
        let fault = fault_of(message, fatal);
        self.broke_off |= broke_off(&fault);
        sink.push(EventKind::ProviderFault(fault));
    }

    fn ended(&mut self, terminal: Terminal, sink: &mut Sink<'_>) {
        self.running = false;
        self.terminal = terminal;
        self.finals = self.finals.saturating_add(1);
        sink.push(EventKind::Finished {
            ok: terminal == Terminal::Done,
            answer: self.items.answer.clone(),
        });
    }
}

/// Whether an answer ended before it was whole. A request that reached nobody may be told in the same words.
fn broke_off(fault: &ProviderFault) -> bool {
    const REACHED_NOBODY: [&str; 3] = ["error sending request", "lookup address", "refused"];
    let told = &fault.message;
    fault.kind == ProviderFaultKind::Unreachable
        && told.contains("stream disconnected before completion")
        && !REACHED_NOBODY.iter().any(|words| told.contains(words))
}

fn fault_of(message: &str, fatal: bool) -> ProviderFault {
    // Most are plain words.
    let may_be_json = message.trim_start().starts_with(['{', '[']);
    let code = may_be_json.then(|| api_word(message)).flatten();
    fault(&Told {
        status: None,
        code: code.as_deref(),
        message,
        fatal,
        reset: None,
    })
}

#[cfg(test)]
mod tests;
