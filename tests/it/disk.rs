//! A disk that fills up: whole rows stay, the run stops by itself, and goes on when there is room again.

use std::fs;
use std::process::Command;

use crate::sandbox::{CLAUDE_DONE, SOLVE, Sandbox, read_rows};

#[test]
fn a_full_disk_loses_no_row_and_the_run_goes_on_later() {
    let sandbox = Sandbox::new()
        .agent("fake", "claude_code_cli", &format!("[ -e \"$HOME/fill\" ] && head -c 60000 /dev/zero | tr '\\0' x\n{SOLVE}\n{CLAUDE_DONE}"))
        .set("trials_per_cell", "40");
    sandbox.write();
    fs::write(sandbox.path("home/fill"), "").expect("write a file");
    let script = format!(
        "set -u\nmount -t tmpfs -o size=1m tmpfs '{runs}' || exit 77\n'{proctor}' run --quiet > first.out 2> first.err; echo $? > first.code\nrun=$(ls -d '{runs}'/*)\ncp \"$run/runs.jsonl\" first.jsonl\nrm \"$HOME/fill\"\nmount -o remount,size=64m '{runs}'\n'{proctor}' run --quiet --resume \"$run\" > second.out 2> second.err; echo $? > second.code\ncp \"$run/runs.jsonl\" second.jsonl\n",
        runs = sandbox.path("runs").display(),
        proctor = env!("CARGO_BIN_EXE_proctor"),
    );
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .current_dir(sandbox.path("."))
        .env("HOME", sandbox.path("home"))
        .env("TMPDIR", sandbox.path("tmp"))
        .env(
            "PATH",
            format!(
                "{}:/usr/local/bin:/usr/bin:/bin",
                sandbox.path("bin").display()
            ),
        )
        .output();
    let read = |name: &str| fs::read_to_string(sandbox.path(name)).unwrap_or_default();
    match output {
        Ok(output) if output.status.success() => {}
        other => {
            eprintln!("SKIPPED: no mount in a namespace of its own here: {other:?}");
            return;
        }
    }
    assert_ne!(read("first.code").trim(), "0", "{}", read("first.err"));
    assert!(
        read("first.err").contains("space") || read("first.err").contains("full"),
        "{}",
        read("first.err")
    );
    let first = fs::read(sandbox.path("first.jsonl")).expect("the first journal");
    let second = fs::read(sandbox.path("second.jsonl")).expect("the second journal");
    assert!(second.starts_with(&first), "the journal was rewritten");
    let first_rows = read_rows(&sandbox.path("first.jsonl"));
    assert!(first_rows.len() < 40, "the disk never filled up");
    assert_eq!(read("second.code").trim(), "0", "{}", read("second.err"));
    let done = read_rows(&sandbox.path("second.jsonl"))
        .iter()
        .filter(|row| row["success"] == true)
        .count();
    assert_eq!(done, 40);
}
