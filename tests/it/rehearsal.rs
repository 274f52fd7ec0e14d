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
