//! What opencode tells of turns that never began, in its log and in its stream.

use std::time::Duration;

use crate::StreamReader;
use proctor_config::AgentKind;
use proctor_model::{ProviderFault, ProviderFaultKind, Terminal};

/// What opencode 1.18.33 says on standard output where a turn could not begin.
const UNTOLD: &str = r#"{"type":"error","timestamp":1795410193650,"sessionID":"ses_d","error":{"name":"UnknownError","data":{"message":"Unexpected server error. Check server logs for details.","ref":"err_6d0690c6"}}}"#;

/// What its log says of it, by this mark.
fn logged(mark: &str, error: &str) -> String {
    format!(
        "timestamp=2026-11-23T05:03:13.648Z level=ERROR run=93c9e0c8 message=failed ref={mark} error=\"{error}\" cause=\"{error}\\n    at <anonymous> (x.js:439:94416)\""
    )
}

/// The fault of a stream with this line of the log, which comes first or last.
fn fault(log: &str, log_first: bool) -> ProviderFault {
    let mut reader = StreamReader::for_kind(AgentKind::Opencode);
    let mut events = Vec::new();
    if log_first {
        reader.stderr_line(log.as_bytes(), Duration::ZERO, &mut events);
    }
    reader.line(UNTOLD.as_bytes(), Duration::ZERO, &mut events);
    if !log_first {
        reader.stderr_line(log.as_bytes(), Duration::ZERO, &mut events);
    }
    let report = reader.finish(Duration::ZERO, &mut events);
    assert_eq!(report.terminal, Terminal::Failed);
    report.provider_fault.expect("a fault")
}

#[test]
fn a_model_that_opencode_has_not_and_a_provider_without_a_login_are_known_from_its_log() {
    for words in [
        "Model not found: anthropic/claude-sonnet-4-5. Did you mean: claude-sonnet-4-5, claude-sonnet-4-5-20250929?",
        "Model not found: fake/nope.",
    ] {
        let log = logged(
            "err_6d0690c6",
            &format!("ProviderModelNotFoundError: {words}"),
        );
        for log_first in [true, false] {
            let found = fault(&log, log_first);
            let told = (found.kind, found.fatal, found.message.as_str());
            let expected = (ProviderFaultKind::Auth, true, words);
            assert_eq!(told, expected, "log first: {log_first}");
        }
    }
}

#[test]
fn what_the_log_of_opencode_tells_by_another_mark_says_nothing_of_a_failure() {
    let log = logged(
        "err_other",
        "ProviderModelNotFoundError: Model not found: x.",
    );
    for log_first in [true, false] {
        let found = fault(&log, log_first);
        assert_eq!(found.kind, ProviderFaultKind::Other);
        assert!(found.message.starts_with("Unexpected server error"));
    }
}

#[test]
fn a_server_that_opencode_could_not_reach_is_known_from_its_log() {
    let mut reader = StreamReader::for_kind(AgentKind::Opencode);
    let mut events = Vec::new();
    for told in [
        r#"level=WARN run=d message="server unavailable" key=lab type=remote status=failed"#,
        r#"level=WARN run=d message="server unavailable" key="my lab" type=remote status=needs_auth"#,
        r#"level=WARN run=d message="other words" key=up type=remote status=failed"#,
    ] {
        let line = format!("timestamp=2026-11-23T07:34:53.270Z {told}");
        reader.stderr_line(line.as_bytes(), Duration::ZERO, &mut events);
    }
    let servers = reader.finish(Duration::ZERO, &mut events).mcp_servers;
    let told: Vec<(&str, &str)> = servers
        .iter()
        .map(|server| (server.name.as_str(), server.status.as_str()))
        .collect();
    assert_eq!(told, [("lab", "failed"), ("my lab", "needs_auth")]);
}
