//! Turns of a Claude Code stream: what the model said and called, and what the tools answered.

use serde_json::value::RawValue;

use crate::claude::at_once::{Texts, text_member};
use crate::claude::wire::{Block, Content, ShellInput, TextBlock, ToolAnswer, ToolUse, Turn};
use crate::fault::{Told, fault, speaks_of_failure};
use crate::stream::Sink;
use crate::wire::{self, Capped, Head, LIST_CAP, TEXT_CAP, WORDS_CAP, capped, cut};
use crate::words::Words;
use proctor_model::{
    Answered, Arguments, Called, Cut, EventKind, ProviderFault, Said, SeenIds, Side, ToolCall,
    ToolResult,
};
use proctor_record::run_before_escape;

/// Models of one session that are told apart.
const MODELS_CAP: usize = 64;

/// What is known of the turns so far.
#[derive(Debug, Default)]
pub(super) struct Turns {
    is_qwen: bool,
    seen: SeenIds,
    /// Names of MCP servers, which tell where a tool's name begins.
    pub(super) servers: Vec<String>,
    /// The model that answered last, outside of sub-agents.
    pub(super) model: Option<String>,
    /// All that answered there.
    pub(super) models: Vec<String>,
    /// The last text, outside of sub-agents.
    pub(super) answer: Option<String>,
}

impl Turns {
    /// The turns of Qwen Code.
    pub(super) fn of_qwen() -> Self {
        Self {
            is_qwen: true,
            ..Self::default()
        }
    }

    /// Reads an `assistant` event. A message that the client made up to tell a failure is no message of the agent: it
    /// comes back as a fault, not yet fatal, since the result tells that.
    pub(super) fn assistant(
        &mut self,
        mut turn: Turn<'_>,
        sink: &mut Sink<'_>,
    ) -> Option<ProviderFault> {
        let is_synthetic = turn.message.model.as_deref() == Some("<synthetic>");
        if is_synthetic || turn.is_api_error_message == Some(true) {
            return client_message(&turn, sink);
        }
        if let (None, Some(model)) = (&turn.parent_tool_use_id, &turn.message.model)
            && self.model.as_deref() != Some(model)
        {
            if self.models.len() < MODELS_CAP && !self.models.iter().any(|known| known == model) {
                self.models.push(model.to_string());
            }
            self.model = Some(model.to_string());
        }
        match std::mem::take(&mut turn.message.content) {
            Content::Text(text) => self.message(&turn, &Words::Owned(text), sink),
            Content::Blocks(blocks) => {
                let is_cut = blocks.len() >= LIST_CAP;
                for block in blocks {
                    if let Err(reason) = self.assistant_block(&turn, block, sink) {
                        sink.push(EventKind::Unparsed { reason });
                    }
                }
                if is_cut {
                    sink.push(EventKind::Cut(Cut::List));
                }
            }
            Content::Read(blocks) => {
                for block in blocks {
                    self.said(&turn, &block, sink);
                }
            }
        }
        None
    }

    /// Reads a `user` event: the answers of tools.
    pub(super) fn user(&mut self, mut turn: Turn<'_>, sink: &mut Sink<'_>) {
        match std::mem::take(&mut turn.message.content) {
            Content::Text(_) => {}
            Content::Blocks(blocks) => {
                let is_cut = blocks.len() >= LIST_CAP;
                for block in blocks {
                    if let Err(reason) = self.user_block(&turn, block, sink) {
                        sink.push(EventKind::Unparsed { reason });
                    }
                }
                if is_cut {
                    sink.push(EventKind::Cut(Cut::Output));
                }
            }
            Content::Read(blocks) => {
                for block in blocks {
                    self.heard(&turn, &block, sink);
                }
            }
        }
    }

    fn assistant_block(
        &mut self,
        turn: &Turn<'_>,
        block: &RawValue,
        sink: &mut Sink<'_>,
    ) -> Result<(), String> {
        let head = head(block)?;
        let kind = head.kind.as_deref().unwrap_or_default();
        let mut read_block = Block {
            kind,
            ..Block::default()
        };
        let (call, answer);
        match kind {
            "text" => {
                let text = read::<TextBlock>(block)?.text;
                read_block.text = Words::Owned(text.unwrap_or_default().0);
            }
            "thinking" => {
                let thinking = read::<TextBlock>(block)?.thinking;
                read_block.text = Words::Owned(thinking.unwrap_or_default().0);
            }
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                call = read::<ToolUse<'_>>(block)?;
                call.put(&mut read_block);
            }
            answered if answered.ends_with("tool_result") => {
                answer = read::<ToolAnswer<'_>>(block)?;
                answer.put(&mut read_block);
            }
            _ => {}
        }
        self.said(turn, &read_block, sink);
        Ok(())
    }

    /// Takes in a block of what the model said.
    fn said(&mut self, turn: &Turn<'_>, block: &Block<'_>, sink: &mut Sink<'_>) {
        match block.kind {
            "text" => self.message(turn, &block.text, sink),
            "thinking" => match block.text.spelled_cut(TEXT_CAP) {
                Some(text) => sink.say(&Said::Reasoning(text)),
                None => sink.push(EventKind::Reasoning {
                    text: block.text.text(TEXT_CAP),
                }),
            },
            "redacted_thinking" => {}
            "tool_use" | "server_tool_use" | "mcp_tool_use" => self.call(turn, block, sink),
            answer if answer.ends_with("tool_result") => self.answer(block, sink),
            other => sink.push(EventKind::Unknown {
                name: capped(&format!("assistant/{other}")),
            }),
        }
    }

    fn user_block(
        &mut self,
        turn: &Turn<'_>,
        block: &RawValue,
        sink: &mut Sink<'_>,
    ) -> Result<(), String> {
        let head = head(block)?;
        let kind = head.kind.as_deref().unwrap_or_default();
        let mut read_block = Block {
            kind,
            ..Block::default()
        };
        let answer;
        if kind.ends_with("tool_result") {
            answer = read::<ToolAnswer<'_>>(block)?;
            answer.put(&mut read_block);
        }
        self.heard(turn, &read_block, sink);
        Ok(())
    }

    /// Takes in a block of what the model was told.
    fn heard(&mut self, turn: &Turn<'_>, block: &Block<'_>, sink: &mut Sink<'_>) {
        match block.kind {
            answer if answer.ends_with("tool_result") => self.answer(block, sink),
            "text" | "image" | "document" => {}
            other if turn.parent_tool_use_id.is_none() => sink.push(EventKind::Unknown {
                name: capped(&format!("user/{other}")),
            }),
            _ => {}
        }
    }

    fn message(&mut self, turn: &Turn<'_>, words: &Words<'_>, sink: &mut Sink<'_>) {
        if turn.parent_tool_use_id.is_none() {
            let answer = self.answer.get_or_insert_default();
            answer.clear();
            words.push_to(answer, WORDS_CAP);
        }
        match words.spelled_cut(WORDS_CAP) {
            Some(text) => sink.say(&Said::Message(text)),
            None => sink.push(EventKind::Message {
                text: words.text(WORDS_CAP),
            }),
        }
    }

    /// A call counts once, however often its block is printed.
    fn call(&mut self, turn: &Turn<'_>, call: &Block<'_>, sink: &mut Sink<'_>) {
        if !self.seen.is_new(call.id, Side::Begin) {
            return;
        }
        let input = call.input.unwrap_or("{}");
        if let Some(called) = self.called(turn, call, input) {
            return sink.say(&Said::Called(called));
        }
        let mcp = self.mcp_parts(call.name);
        sink.push(EventKind::ToolStarted(ToolCall {
            id: call.id.to_owned(),
            name: capped(call.name),
            mcp: mcp.map(|(server, tool)| (server.to_owned(), tool.to_owned())),
            command: shell_command(call.name, input),
            arguments: wire::words(input),
            parent: turn.parent_tool_use_id.as_deref().map(str::to_owned),
        }));
    }

    /// The call as it stands in its line, where it can be told so.
    fn called<'s>(&self, turn: &Turn<'_>, call: &Block<'s>, input: &'s str) -> Option<Called<'s>> {
        let is_plain = is_plain(call.id) && is_plain(call.name);
        let fits = call.name.len() <= TEXT_CAP && input.len() <= WORDS_CAP;
        (is_plain && fits && turn.parent_tool_use_id.is_none()).then_some(())?;
        let command = if runs_shell(call.name) {
            let command = text_member(input, "command")?;
            command
                .map(|raw| raw.spelled(usize::MAX))
                .map_or(Some(None), |it| it.map(Some))?
        } else {
            None
        };
        Some(Called {
            id: call.id,
            name: call.name,
            mcp: self.mcp_parts(call.name),
            command,
            arguments: Arguments::Json(input),
        })
    }

    /// An answer counts once; one to a call that was never seen is told all the same.
    fn answer(&mut self, answer: &Block<'_>, sink: &mut Sink<'_>) {
        if !self.seen.is_new(answer.id, Side::End) {
            return;
        }
        let tells_code = self.is_qwen || answer.is_error;
        if !tells_code
            && is_plain(answer.id)
            && let Some(output) = answer.text.spelled_cut(TEXT_CAP)
        {
            return sink.say(&Said::Answered(Answered {
                id: answer.id,
                is_error: false,
                exit_code: None,
                output,
            }));
        }
        let output = answer.text.text(TEXT_CAP);
        let exit_code = match (self.is_qwen, answer.is_error) {
            (true, _) => qwen_exit_code(&output),
            (false, true) => exit_code(&output),
            (false, false) => None,
        };
        sink.push(EventKind::ToolEnded(ToolResult {
            id: answer.id.to_owned(),
            is_error: answer.is_error || exit_code.is_some_and(|code| code != 0),
            exit_code,
            output,
        }));
    }

    /// Server and tool of `mcp__<server>__<tool>`: by the servers known, else at the first `__`.
    fn mcp_parts<'n>(&self, name: &'n str) -> Option<(&'n str, &'n str)> {
        let rest = name.strip_prefix("mcp__")?;
        let known = self
            .servers
            .iter()
            .filter(|server| {
                rest.strip_prefix(server.as_str())
                    .is_some_and(|tool| tool.starts_with("__"))
            })
            .max_by_key(|server| server.len());
        let (server, tool) = match known {
            Some(server) => (&rest[..server.len()], &rest[server.len() + 2..]),
            None => rest.split_once("__")?,
        };
        Some((server, tool))
    }
}

fn head(block: &RawValue) -> Result<Head<'_>, String> {
    Head::at_once(block.get()).map_or_else(|| read(block), Ok)
}

/// What the client itself says in the model's place: a failure of the provider, or a remark that is none.
fn client_message(turn: &Turn<'_>, sink: &mut Sink<'_>) -> Option<ProviderFault> {
    let text = match &turn.message.content {
        Content::Text(text) => text.clone(),
        // Such a turn is read block by block.
        Content::Read(_) => String::new(),
        Content::Blocks(blocks) => blocks
            .iter()
            .filter_map(|block| Some(read::<TextBlock>(block).ok()?.text?.0))
            .collect::<Vec<_>>()
            .join("\n"),
    };
    let is_failure = turn.is_api_error_message == Some(true)
        || turn.error.0.is_some()
        || speaks_of_failure(&text);
    if !is_failure {
        sink.push(EventKind::Warning {
            text: capped(&text),
        });
        return None;
    }
    let refused = turn.refused_message_id.0.as_ref().map(|_| "refusal");
    let code = turn.error.0.as_deref().filter(|code| *code != "unknown");
    let found = fault(&Told {
        status: turn.api_error_status.0,
        code: refused.or(code).or(turn.api_error_type.0.as_deref()),
        message: &text,
        fatal: false,
        reset: None,
    });
    sink.push(EventKind::ProviderFault(found.clone()));
    Some(found)
}

/// The command of a shell tool.
fn shell_command(name: &str, input: &str) -> Option<String> {
    if !runs_shell(name) {
        return None;
    }
    match text_member(input, "command") {
        Some(told) => told.map(|raw| raw.text(usize::MAX)),
        None => serde_json::from_str::<ShellInput>(input).ok()?.command.0,
    }
}

fn runs_shell(name: &str) -> bool {
    matches!(name, "Bash" | "PowerShell" | "run_shell_command")
}

/// Whether nothing in a text is escaped where it stands in JSON.
fn is_plain(text: &str) -> bool {
    run_before_escape(text.as_bytes()) == text.len()
}

impl ToolUse<'_> {
    fn put<'b>(&'b self, block: &mut Block<'b>) {
        block.id = &self.id;
        block.name = &self.name;
        block.input = self.input.map(RawValue::get);
    }
}

impl ToolAnswer<'_> {
    fn put<'b>(&'b self, block: &mut Block<'b>) {
        block.id = &self.tool_use_id;
        block.is_error = self.is_error == Some(true);
        block.text = Words::Owned(self.content.map_or_else(String::new, answer_text));
    }
}

/// The text of a tool's answer; images and the like are named.
fn answer_text(content: &RawValue) -> String {
    if let Ok(Capped(text)) = read(content) {
        return text;
    }
    match serde_json::from_str::<Content<'_>>(content.get()) {
        Ok(Content::Text(text)) => cut(text),
        Ok(Content::Blocks(blocks)) => {
            let mut texts = Texts::default();
            for block in blocks {
                let text = read::<TextBlock>(block).ok().and_then(|block| block.text);
                texts.add(text.map(|text| text.0).as_deref(), block.get());
            }
            texts.finish()
        }
        Ok(Content::Read(_)) | Err(_) => capped(content.get()),
    }
}

/// A failed command's answer opens with `Exit code N`.
fn exit_code(output: &str) -> Option<i32> {
    output
        .strip_prefix("Exit code ")?
        .lines()
        .next()?
        .trim()
        .parse()
        .ok()
}

/// Qwen Code's account of a command that failed ends with its exit code, its signal and its group.
fn qwen_exit_code(output: &str) -> Option<i32> {
    let account = output.strip_prefix("Command: ")?;
    let (_, after) = account.rsplit_once("\nExit Code: ")?;
    let (code, rest) = after.split_once('\n')?;
    rest.starts_with("Signal: ")
        .then(|| code.parse().ok())
        .flatten()
}

fn read<'a, T: serde::Deserialize<'a>>(raw: &'a RawValue) -> Result<T, String> {
    serde_json::from_str(raw.get()).map_err(|error| error.to_string())
}
