//! Grading again without an agent: the kept work, today's graders, an untouched journal.

use std::fs;

use crate::sandbox::{CLAUDE_DONE, SOLVE, Sandbox};

fn tasks(grader: &str) -> String {
    format!(
        "- id: answer\n  prompt: p\n  setup_commands: ['echo made > setup.txt']\n  graders:\n    - type: git_diff_forbidden\n      forbidden_globs: ['tests/**']\n    - type: command\n      argv: {grader}\n"
    )
}

#[test]
fn the_kept_work_is_graded_again_by_todays_graders() {
    let body = format!(
        "mkdir -p deep/er; printf '\\377\\000' > deep/er/raw.bin; ln -s answer.txt link; rm README.md; echo x >> starts\necho run >> \"$HOME/starts\"\n{SOLVE}\n{CLAUDE_DONE}"
    );
    let sandbox = Sandbox::new()
        .agent("fake", "claude_code_cli", &body)
        .set("trials_per_cell", "2")
        .tasks(&tasks("[grep, -qx, '42', answer.txt]"));
    sandbox.proctor(&["run", "--quiet"]).expect_code(0);
    let journal = fs::read(sandbox.run_dir().join("runs.jsonl")).expect("read the journal");

    let same = sandbox.regraded(0);
    assert_eq!(same["trials"].as_array().map(Vec::len), Some(2));
    assert!(
        same["trials"]
            .as_array()
            .expect("trials")
            .iter()
            .all(|trial| trial["changed"] == false && trial["after"]["success"] == true),
        "{same:#}"
    );

    // The whole tree is there again: binary, link, removal, setup.
    let sandbox = sandbox.tasks(&tasks("[sh, -c, 'test -L link && test ! -e README.md && test -e setup.txt && test \"$(wc -c < deep/er/raw.bin)\" -eq 2']"));
    assert!(
        sandbox.regraded(0)["trials"]
            .as_array()
            .expect("trials")
            .iter()
            .all(|trial| trial["after"]["success"] == true)
    );

    let sandbox = sandbox.tasks(&tasks("[grep, -qx, '43', answer.txt]"));
    let changed = sandbox.regraded(1);
    let trial = &changed["trials"][0];
    assert_eq!(trial["before"]["success"], true);
    assert_eq!(trial["after"]["success"], false);
    assert_eq!(trial["after"]["failure_reason"], "command_failed:exit=1");

    assert_eq!(
        fs::read(sandbox.run_dir().join("runs.jsonl")).expect("read the journal"),
        journal
    );
    let starts = fs::read_to_string(sandbox.path("home/starts")).expect("read the starts");
    assert_eq!(starts.lines().count(), 2, "no agent was started again");
    let run = sandbox.run_dir().display().to_string();
    sandbox.proctor(&["verify", "--run", &run]).expect_code(0);
    sandbox.assert_scratch_is_empty();
}

#[test]
fn a_forbidden_edit_is_found_again_and_what_was_not_graded_is_left_out() {
    let body = format!("echo x >> tests/t.txt\n{SOLVE}\n{CLAUDE_DONE}");
    let sandbox = Sandbox::new()
        .agent("cheat", "claude_code_cli", &body)
        .agent("mute", "claude_code_cli", "exec sleep 600")
        .tasks(&tasks("['true']"));
    sandbox.proctor(&["run", "--quiet"]);
    let found = sandbox.regraded(0);
    assert_eq!(
        found["trials"].as_array().map(Vec::len),
        Some(1),
        "{found:#}"
    );
    assert_eq!(
        found["trials"][0]["after"]["failure_reason"],
        "forbidden_modified:tests/t.txt"
    );
    assert_eq!(found["left_out"]["it was not graded"], 1);
}

#[test]
fn what_setup_laid_down_is_no_change_of_the_agents_and_todays_setup_counts() {
    let tasks = |line: &str| {
        format!(
            "- id: answer\n  prompt: p\n  setup_commands: ['echo {line} > tests/t.txt; rm -f README.md']\n  graders:\n    - type: git_diff_forbidden\n      forbidden_globs: ['tests/**']\n    - type: command\n      argv: [grep, -qx, {line}, tests/t.txt]\n"
        )
    };
    let body = format!("{SOLVE}\n{CLAUDE_DONE}");
    let sandbox = Sandbox::new()
        .agent("fake", "claude_code_cli", &body)
        .tasks(&tasks("first"));
    sandbox.proctor(&["run", "--quiet"]).expect_code(0);
    let kept = fs::read_to_string(sandbox.trial_file("changes.jsonl")).expect("read the changes");
    assert_eq!(kept.lines().count(), 1, "{kept}");
    assert!(kept.contains("answer.txt"), "{kept}");
    let sandbox = sandbox.tasks(&tasks("second"));
    let found = sandbox.regraded(0);
    assert_eq!(found["trials"][0]["after"]["success"], true, "{found:#}");
}

#[test]
fn validation_needs_no_agent_and_leaves_no_trial() {
    let sandbox = Sandbox::new()
        .agent("fake", "claude_code_cli", CLAUDE_DONE)
        .tasks("- id: answer\n  prompt: p\n  reference_patch: solution.patch\n  graders:\n    - type: command\n      argv: [grep, -qx, '42', answer.txt]\n");
    sandbox.write();
    fs::write(sandbox.path("solution.patch"), "diff --git a/answer.txt b/answer.txt\nnew file mode 100644\n--- /dev/null\n+++ b/answer.txt\n@@ -0,0 +1 @@\n+42\n").expect("write a patch");
    fs::remove_file(sandbox.path("bin/agent-fake")).expect("remove the agent");
    sandbox.proctor(&["validate", "--quiet"]).expect_code(0);
    assert!(
        sandbox
            .run_dir()
            .join("reference_checks/reference_checks.jsonl")
            .exists()
    );
    assert!(!sandbox.run_dir().join("trials").exists());
}
