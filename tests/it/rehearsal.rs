//! `proctor model-server` and `proctor agents`: a command beside a script, and what this machine has of agents.

use std::fs;

use serde_json::Value;

use crate::sandbox::Sandbox;

const SCRIPT: &str = "plays: [{name: all, turns: [{say: hello}]}]\n";

fn with_script(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("script.yaml"), text).expect("write a script");
    sandbox
}

#[test]
fn a_command_runs_beside_the_script_with_its_address_and_its_exit_code() {
    let sandbox = with_script(SCRIPT);
    let command = "echo at $PROCTOR_MODEL_URL; exit 7";
    let told = sandbox
        .proctor(&[
            "model-server",
            "--script",
            "script.yaml",
            "--",
            "sh",
            "-c",
            command,
        ])
        .expect_code(7);
    assert!(
        told.stdout.starts_with("at http://127.0.0.1:"),
        "{}",
        told.stdout
    );
}

#[test]
fn alone_a_command_reaches_nobody_and_what_it_asked_for_is_told() {
    let sandbox = with_script(SCRIPT);
    // An address of documentation needs no name.
    let command = "getent hosts nowhere.example; bash -c 'exec 3<>/dev/tcp/192.0.2.1/80'; getent hosts localhost >/dev/null && exit 9";
    let told = sandbox.proctor(&[
        "model-server",
        "--script",
        "script.yaml",
        "--alone",
        "--names",
        "names.json",
        "--",
        "sh",
        "-c",
        command,
    ]);
    if told.code == Some(2) && told.stderr.contains("leave the network") {
        eprintln!(
            "SKIPPED: no network of loopback alone can be had here: {}",
            told.stderr.trim()
        );
        return;
    }
    let told = told.expect_code(9);
    assert!(told.stderr.contains("nowhere.example"), "{}", told.stderr);
    let names = fs::read_to_string(sandbox.path("names.json")).expect("the names are kept");
    let names: Value = serde_json::from_str(&names).expect("they are JSON");
    let asked = names["names"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| &one["name"]);
    assert_eq!(asked.collect::<Vec<_>>(), ["nowhere.example"]);
    assert_eq!(names["addresses"], 1, "{names}");
}

#[test]
fn a_script_that_cannot_be_played_is_told_with_file_and_place() {
    for (text, expected) in [
        (
            "plays: [{name: a, turns: [{do: [{dance: x}]}]}]",
            "script.yaml: plays[0].turns[0].do[0]",
        ),
        ("plays: [{name: a, turns: []}]", "plays.a: `turns` is empty"),
    ] {
        let sandbox = with_script(text);
        let told = sandbox
            .proctor(&["model-server", "--script", "script.yaml"])
            .expect_code(2);
        assert!(told.stderr.contains(expected), "{}", told.stderr);
    }
}

#[test]
fn agents_are_listed_with_version_login_and_what_is_missing() {
    let sandbox = Sandbox::new();
    sandbox.script("codex", "echo codex-cli 9.9.9");
    sandbox.script("qwen", "exit 1");
    let login = sandbox.path("home/.codex/auth.json");
    fs::create_dir_all(login.parent().expect("a folder")).expect("create a folder");
    fs::write(&login, "{}").expect("write a login");
    let told = sandbox.proctor(&["agents", "--json"]).expect_code(0);
    let told: Value = serde_json::from_str(&told.stdout).expect("one JSON document");
    let kinds = told["kinds"].as_array().expect("a list");
    let of = |kind: &str| {
        let found = kinds.iter().find(|one| one["kind"] == kind);
        found.unwrap_or_else(|| panic!("{kind} is not listed"))
    };
    assert_eq!(of("codex_cli")["version"], "codex-cli 9.9.9");
    assert_eq!(of("codex_cli")["missing"], Value::Null);
    assert!(of("codex_cli")["login"].to_string().contains("auth.json"));
    assert!(
        of("qwen_code")["missing"]
            .to_string()
            .contains("says nothing")
    );
    assert_eq!(of("claude_code_cli")["missing"], "claude is not on PATH");
    assert_eq!(of("replay")["missing"], Value::Null);
    let page = sandbox.proctor(&["agents"]).expect_code(0).stdout;
    assert!(page.contains("codex-cli 9.9.9 at "), "{page}");
}

#[test]
fn an_agent_that_does_nothing_of_the_script_does_not_pass_its_probe() {
    let sandbox = Sandbox::new();
    sandbox.script(
        "codex",
        "echo '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}'",
    );
    let told = sandbox
        .proctor(&["agents", "probe", "codex_cli"])
        .expect_code(1);
    for (fact, word) in [
        ("tokens of the row", "NOT HELD"),
        ("its shell finds the shim", "NOT HELD"),
        ("MCP on is on", "NOT HELD"),
        // What it never came to do shows nothing.
        ("MCP off is off", "not tried"),
        ("everything that it said was understood", "not tried"),
        ("it asks nobody but its model", "not tried"),
        ("its key stands in no file", "not tried"),
    ] {
        let line = told
            .stdout
            .lines()
            .find(|line| line.contains(fact))
            .expect("each fact has a line");
        assert!(line.starts_with(word), "{line}");
    }
    sandbox
        .proctor(&["agents", "probe", "no_such_kind"])
        .expect_code(2);
    sandbox
        .proctor(&["agents", "probe", "opencode"])
        .expect_code(2);
    sandbox.assert_scratch_is_empty();
}
