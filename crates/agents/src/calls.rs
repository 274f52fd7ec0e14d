//! Calls of tools that begin and end once each, however often a stream tells them.

use crate::dialect::Sink;
use proctor_model::{EventKind, SeenIds, Side, ToolCall, ToolResult};

/// Which calls began and which ended.
#[derive(Debug, Default)]
pub(super) struct Calls {
    seen: SeenIds,
}

impl Calls {
    /// Tells the begin of a call, unless it was told.
    pub(super) fn start(&mut self, call: ToolCall, sink: &mut Sink<'_>) {
        if self.seen.is_new(&call.id, Side::Begin) {
            sink.push(EventKind::ToolStarted(call));
        }
    }

    /// Tells the end of a call, unless it was told.
    pub(super) fn end(&mut self, result: ToolResult, sink: &mut Sink<'_>) {
        if self.seen.is_new(&result.id, Side::End) {
            sink.push(EventKind::ToolEnded(result));
        }
    }

    /// Whether a side of a call is reported for the first time.
    pub(super) fn is_new(&mut self, id: &str, side: Side) -> bool {
        self.seen.is_new(id, side)
    }
}

/// Server and tool of a name that begins with what `begins` makes of a server's: by the servers known, longest first.
pub(super) fn server_and_tool(
    name: &str,
    servers: &[String],
    begins: fn(&str) -> String,
) -> Option<(String, String)> {
    let known = servers.iter().filter_map(|server| {
        let tool = name.strip_prefix(&begins(server))?;
        Some((server.clone(), tool.to_owned()))
    });
    known.max_by_key(|(server, _)| server.len())
}

/// The common form of an MCP tool's name.
pub(super) fn mcp_name(mcp: &(String, String)) -> String {
    format!("mcp__{}__{}", mcp.0, mcp.1)
}

/// Server and tool of `mcp__<server>__<tool>`: by the servers known, else at the first `__`.
pub(super) fn mcp_parts(name: &str, servers: &[String]) -> Option<(String, String)> {
    let rest = name.strip_prefix("mcp__")?;
    server_and_tool(rest, servers, |server| format!("{server}__")).or_else(|| {
        let (server, tool) = rest.split_once("__")?;
        Some((server.to_owned(), tool.to_owned()))
    })
}
