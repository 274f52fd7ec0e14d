//! The two sides of a call of Codex, as its item tells them: made where they are wanted, or borrowed from the line.

use std::borrow::Cow;

use crate::codex::wire::{Change, Collab, Command, FileChange, McpCall, WebSearch};
use crate::wire::{TEXT_CAP, WORDS_CAP, words};
use crate::words::Words;
use proctor_model::{Answered, Arguments, Called, Spelled, ToolCall};
use proctor_record::push_quoted;

/// What tells of a call: most calls are told twice, so that each side of it is made when it is wanted.
pub(super) trait Told {
    fn call(&self, id: String) -> ToolCall;

    fn answer(&self) -> Answer;

    /// The call as it stands in its line, where it can be told so; its name may need room.
    fn called<'s>(&'s self, _id: &'s str, _name: &'s mut String) -> Option<Called<'s>> {
        None
    }

    /// The answer, likewise.
    fn answered<'s>(&'s self, _id: &'s str) -> Option<Answered<'s>> {
        None
    }
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

    fn called<'s>(&'s self, id: &'s str, _name: &'s mut String) -> Option<Called<'s>> {
        // With room for its name: no more than what arguments may hold of it.
        let command = self.command.spelled(WORDS_CAP / 2)?;
        Some(Called {
            id,
            name: "shell",
            mcp: None,
            command: Some(command),
            arguments: Arguments::Member("command", command),
        })
    }

    fn answered<'s>(&'s self, id: &'s str) -> Option<Answered<'s>> {
        let output = match &self.aggregated_output {
            Some(output) => output.spelled_cut(TEXT_CAP)?,
            None => Spelled::NOTHING,
        };
        let failed = failed(self.status.as_deref());
        Some(Answered {
            id,
            is_error: failed || self.exit_code.is_some_and(|code| code != 0),
            exit_code: self.exit_code,
            output,
        })
    }
}

impl Told for FileChange {
    fn call(&self, id: String) -> ToolCall {
        let mut list = "{\"changes\":[".to_owned();
        for (index, Change { path, kind }) in self.changes.0.iter().enumerate() {
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
        tool(id, "apply_patch", words(&list))
    }

    fn answer(&self) -> Answer {
        Answer::plain(failed(self.status.as_deref()))
    }
}

impl Told for McpCall<'_> {
    fn call(&self, id: String) -> ToolCall {
        let (server, tool_name) = (&*self.server, &*self.tool);
        let arguments = self.arguments.map_or_else(String::new, words);
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

    fn called<'s>(&'s self, id: &'s str, name: &'s mut String) -> Option<Called<'s>> {
        // What is not owned has no escapes.
        let (Cow::Borrowed(server), Cow::Borrowed(tool)) = (&self.server, &self.tool) else {
            return None;
        };
        let arguments = self.arguments.unwrap_or_default();
        (arguments.len() <= WORDS_CAP).then_some(())?;
        for part in ["mcp__", server, "__", tool] {
            name.push_str(part);
        }
        Some(Called {
            id,
            name,
            mcp: Some((server, tool)),
            command: None,
            arguments: Arguments::Json(arguments),
        })
    }

    fn answered<'s>(&'s self, id: &'s str) -> Option<Answered<'s>> {
        let blocks = self.result.iter().flat_map(|answer| &answer.content.0);
        let blocks = blocks.flat_map(|blocks| &blocks.0);
        let told = blocks.filter_map(|block| block.text.as_ref());
        let mut told = told.chain(self.error.iter().map(|error| &error.message));
        let output = match told.next() {
            Some(text) => text.spelled_cut(TEXT_CAP)?,
            None => Spelled::NOTHING,
        };
        // Several are joined.
        told.next().is_none().then_some(Answered {
            id,
            is_error: self.error.is_some() || failed(self.status.as_deref()),
            exit_code: None,
            output,
        })
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
pub(super) struct Plan<'a>(pub(super) &'a str);

impl Told for Plan<'_> {
    fn call(&self, id: String) -> ToolCall {
        tool(id, "update_plan", words(self.0))
    }

    fn answer(&self) -> Answer {
        Answer::plain(false)
    }
}

/// How a call ended.
pub(super) struct Answer {
    pub(super) is_error: bool,
    pub(super) exit_code: Option<i32>,
    pub(super) output: String,
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

pub(super) fn failed(status: Option<&str>) -> bool {
    matches!(status, Some("failed" | "error" | "declined"))
}

/// Arguments of one text, as JSON.
fn argument(key: &str, text: &str) -> String {
    let mut json = String::with_capacity(key.len() + text.len() + 16);
    json.push_str("{\"");
    json.push_str(key);
    json.push_str("\":");
    push_quoted(&mut json, text);
    json.push('}');
    words(&json)
}
