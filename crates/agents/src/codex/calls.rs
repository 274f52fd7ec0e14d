//! The calls that items of a Codex stream stand for.

use serde_json::json;
use serde_json::value::RawValue;

use crate::calls::mcp_name;
use crate::codex::wire::{Collab, Command, FileChange, McpCall, WebSearch};
use crate::wire::{TEXT_CAP, words};

/// A call and, once its item is complete, how it ended.
#[derive(Debug, Default)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) mcp: Option<(String, String)>,
    pub(super) command: Option<String>,
    /// JSON text.
    pub(super) arguments: String,
    pub(super) is_error: bool,
    pub(super) exit_code: Option<i32>,
    pub(super) output: String,
}

impl From<Command> for Call {
    fn from(item: Command) -> Self {
        let failed = failed(item.status.as_deref());
        Self {
            name: "shell".to_owned(),
            arguments: words(&json!({ "command": item.command }).to_string()),
            command: Some(item.command),
            is_error: failed || item.exit_code.is_some_and(|code| code != 0),
            exit_code: item.exit_code,
            output: item.aggregated_output.unwrap_or_default(),
            ..Self::default()
        }
    }
}

impl From<&FileChange> for Call {
    fn from(item: &FileChange) -> Self {
        Self {
            name: "apply_patch".to_owned(),
            arguments: words(&json!({ "changes": item.changes.0 }).to_string()),
            is_error: failed(item.status.as_deref()),
            ..Self::default()
        }
    }
}

impl From<McpCall<'_>> for Call {
    fn from(item: McpCall<'_>) -> Self {
        let output = answer_text(&item);
        let mcp = (item.server, item.tool);
        Self {
            name: mcp_name(&mcp),
            mcp: Some(mcp),
            arguments: item
                .arguments
                .map(RawValue::get)
                .map_or_else(String::new, words),
            is_error: item.error.is_some() || failed(item.status.as_deref()),
            output,
            ..Self::default()
        }
    }
}

impl From<WebSearch> for Call {
    fn from(item: WebSearch) -> Self {
        Self {
            name: "web_search".to_owned(),
            arguments: words(&json!({ "query": item.query.0.unwrap_or_default() }).to_string()),
            ..Self::default()
        }
    }
}

impl From<Collab> for Call {
    fn from(item: Collab) -> Self {
        Self {
            name: item.tool,
            arguments: words(&json!({ "prompt": item.prompt.unwrap_or_default() }).to_string()),
            is_error: failed(item.status.as_deref()),
            ..Self::default()
        }
    }
}

/// The texts of an MCP answer, each on lines of its own. A failed call has its text in the result (the tool said so) or in
/// the error (protocol, dead server).
fn answer_text(item: &McpCall<'_>) -> String {
    let blocks = item.result.iter().flat_map(|answer| &answer.content.0);
    let texts = blocks.flat_map(|blocks| blocks.0.iter().filter_map(|block| block.text.as_deref()));
    let mut answer = String::new();
    for (number, text) in texts
        .chain(item.error.as_ref().map(|error| &*error.message))
        .enumerate()
    {
        if number > 0 {
            answer.push('\n');
        }
        answer.push_str(text);
        if answer.len() > TEXT_CAP {
            break;
        }
    }
    answer
}

pub(super) fn failed(status: Option<&str>) -> bool {
    matches!(status, Some("failed" | "error" | "declined"))
}
