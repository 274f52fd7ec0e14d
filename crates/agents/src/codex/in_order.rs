//! Items of the kinds that most lines hold, where their members stand as Codex 0.169 prints them and nothing else is there.

use std::borrow::Cow;

use crate::codex::at_once::{Item, Step, answer, message, plain, spoken};
use crate::codex::items::Stage;
use crate::codex::wire::{Command, McpCall};
use crate::scan::Scan;
use crate::words::Words;

/// An item's event; what it tells is what is told in any order.
pub(super) fn item(line: &str) -> Option<Step<'_>> {
    let mut scan = Scan::of(line);
    let stage = if scan.passed("{\"type\":\"item.completed\",\"item\":{\"id\":") {
        Stage::Completed
    } else if scan.passed("{\"type\":\"item.started\",\"item\":{\"id\":") {
        Stage::Started
    } else {
        return None;
    };
    let id = plain(&mut scan)?;
    scan.passed(",\"type\":\"").then_some(())?;
    let item = if scan.passed("agent_message\",\"text\":") {
        (stage == Stage::Completed).then_some(())?;
        Item::Message(spoken(Some(scan.string()?)))
    } else if scan.passed("command_execution\",\"command\":") {
        Item::Command(command(&mut scan)?)
    } else if scan.passed("mcp_tool_call\",\"server\":") {
        Item::Mcp(call(&mut scan)?)
    } else {
        return None;
    };
    scan.passed("}}").then_some(())?;
    scan.end()?;
    Some(Step { stage, id, item })
}

fn command<'a>(scan: &mut Scan<'a>) -> Option<Command<'a>> {
    let command = scan.string()?;
    scan.passed(",\"aggregated_output\":").then_some(())?;
    let output = scan.maybe(Scan::string)?;
    scan.passed(",\"exit_code\":").then_some(())?;
    let exit_code = scan.maybe(Scan::whole)?;
    let mut command = Command {
        command: Words::Raw(command),
        aggregated_output: output.map(Words::Raw),
        exit_code,
        ..Command::default()
    };
    status(scan, &mut command.status)?;
    Some(command)
}

fn call<'a>(scan: &mut Scan<'a>) -> Option<McpCall<'a>> {
    let server = plain(scan)?;
    scan.passed(",\"tool\":").then_some(())?;
    let tool = plain(scan)?;
    scan.passed(",\"arguments\":").then_some(())?;
    let arguments = scan.maybe(Scan::piece)?;
    scan.passed(",\"result\":").then_some(())?;
    let result = scan.maybe(answer)?;
    scan.passed(",\"error\":").then_some(())?;
    let error = scan.maybe(message)?;
    let mut call = McpCall {
        server: Cow::Borrowed(server),
        tool: Cow::Borrowed(tool),
        arguments,
        result,
        error,
        ..McpCall::default()
    };
    status(scan, &mut call.status)?;
    Some(call)
}

/// Sets the status, where there is one.
fn status<'a>(scan: &mut Scan<'a>, status: &mut Option<Cow<'a, str>>) -> Option<()> {
    scan.passed(",\"status\":").then_some(())?;
    *status = scan.maybe(plain)?.map(Cow::Borrowed);
    Some(())
}
