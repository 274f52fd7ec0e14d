//! Watched commands, through the whole program: what is counted, and what an agent can do to the counting.

use std::fs;

use serde_json::Value;

use crate::sandbox::{CLAUDE_DONE, SOLVE, Sandbox};

/// The row of an agent that does this, then solves the task; `xcodebuild` is a program that says its arguments.
fn row_after(actions: &str) -> (Sandbox, Value) {
    let body = format!("{actions}\n{SOLVE}\n{CLAUDE_DONE}");
    let sandbox = Sandbox::new().agent("fake", "claude_code_cli", &body);
    sandbox.script("xcodebuild", "echo real \"$@\"; exit 3");
    let ran = sandbox.proctor(&["run", "--quiet"]);
    let row = sandbox.row();
    assert_eq!(row["success"], true, "{row:#}\n{}", ran.stderr);
    (sandbox, row)
}

fn calls(row: &Value) -> u64 {
    row["xcodebuild_calls"].as_u64().expect("a count")
}

#[test]
fn a_shim_that_an_agent_rewrites_or_removes_is_told() {
    let changes = [
        "s=$(command -v xcodebuild); rm -f \"$s\"; printf '#!/bin/sh\\n' > \"$s\"; chmod +x \"$s\"",
        "rm -f \"$(command -v xcodebuild)\"",
        "ln -sf /bin/true \"$(command -v xcodebuild)\"",
    ];
    for change in changes {
        let (_, row) = row_after(&format!("xcodebuild -version\n{{ {change}; }} 2>/dev/null"));
        assert_eq!(calls(&row), 1, "{change}: {row:#}");
        let told = row["integrity"].as_str().expect("a word");
        // In a jail the shims cannot be changed at all.
        let refused = row["isolation"] == "jail" && told == "clean";
        let seen = told == "suspect[shim_tampered:the shim of xcodebuild was changed]";
        assert!(seen || refused, "{change}: {row:#}");
    }
}

#[test]
fn lines_that_no_shim_wrote_are_told_and_count_for_nothing() {
    let forged = [
        r#"echo '{"cmd":"xcodebuild"}' >> "$EVAL_CMD_LOG""#,
        r#"printf 'xcodebuild build\n\377\n' >> "$EVAL_CMD_LOG""#,
        r#"head -c 3000000 /dev/zero >> "$EVAL_CMD_LOG"; echo >> "$EVAL_CMD_LOG""#,
    ];
    for forgery in forged {
        let (_, row) = row_after(&format!("xcodebuild build\n{forgery}"));
        assert_eq!(calls(&row), 1, "{forgery}: {row:#}");
        let told = row["integrity"].as_str().expect("a word");
        assert!(
            told.starts_with("suspect[cmd_log_bad_lines="),
            "{forgery}: {row:#}"
        );
    }
}

#[test]
fn a_call_past_the_shims_is_missing_from_the_count_but_not_from_the_stream() {
    let call = r#"echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"xcodebuild -list"}}]}}'"#;
    let (sandbox, row) = row_after(&format!("env -i /bin/sh -c true\n{call}"));
    assert_eq!(calls(&row), 1, "{row:#}");
    let log = fs::read_to_string(sandbox.trial_file("cmd_log.jsonl")).expect("the log");
    assert!(log.contains("\"seen_by\":\"stream\""), "{log}");
}

#[test]
fn exit_codes_signals_and_arguments_pass_through_a_whole_trial() {
    let body = r#"xcodebuild 'a b' "c
d" "$(printf '\377')" > out.txt; echo "code $?" >> out.txt
PATH= "$(command -v xcodebuild)" >> out.txt; echo "code $?" >> out.txt
PYTHONHOME=/nowhere LD_LIBRARY_PATH=/nowhere xcodebuild x >> out.txt; echo "code $?" >> out.txt"#;
    let (sandbox, row) = row_after(body);
    assert_eq!(calls(&row), 3, "{row:#}");
    let patch = fs::read(sandbox.trial_file("changes.jsonl")).expect("the changes");
    let patch = String::from_utf8_lossy(&patch);
    assert!(patch.contains("out.txt"), "{patch}");
    let log = fs::read_to_string(sandbox.trial_file("cmd_log.jsonl")).expect("the log");
    let codes: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["exit"].clone())
        .collect();
    assert_eq!(codes, [3, 3, 3], "{log}");
}

#[test]
fn a_flood_of_calls_is_counted_and_ends() {
    let (sandbox, row) = row_after(
        "for i in 1 2 3 4 5 6 7 8 9 10; do for j in 1 2 3 4 5 6 7 8 9 10; do xcodebuild $i $j; done; done >/dev/null",
    );
    assert_eq!(calls(&row), 100, "{row:#}");
    let log = fs::metadata(sandbox.trial_file("cmd_log.jsonl")).expect("the log");
    assert!(log.len() < 100_000, "{} bytes", log.len());
}
