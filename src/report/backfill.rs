//! Tool errors of a row, counted anew from the files of its trial: in derived files only, never in the journal.

use crate::record::{Row, RunDir};
use crate::report::classes::is_mcp_error_discovery;
use crate::report::error_log;

/// Fills in what a row does not tell of its tool errors; with `anew`, replaces what it tells.
///
/// Rows of the older harness do not say whether an MCP error was a session-defaults discovery: their error log does.
pub(crate) fn errors(run: &RunDir, row: &mut Row, anew: bool) {
    let in_doubt =
        row.tool_error_discovery.is_none() && row.tool_error_mcp.is_some_and(|errors| errors > 0);
    if !anew && !in_doubt {
        return;
    }
    let path = row.tool_error_log_path.as_deref();
    let Some(errors) = path.and_then(|path| error_log::read(run.root(), path)) else {
        return;
    };
    let count = |counted: &dyn Fn(&error_log::LoggedError) -> bool| {
        Some(errors.iter().filter(|error| counted(error)).count() as u64)
    };
    row.tool_error_discovery = count(&|error| error.mcp && is_mcp_error_discovery(&error.payload));
    if anew {
        row.tool_error_total = count(&|_| true);
        row.tool_error_mcp = count(&|error| error.mcp);
        row.tool_error_non_mcp = count(&|error| !error.mcp);
    }
}
