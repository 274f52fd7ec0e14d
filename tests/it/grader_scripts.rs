//! Scripts of the project that graders name: who may change one can make any test pass, and it is told.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::sandbox::{CLAUDE_DONE, SOLVE, Sandbox};

/// A sandbox whose project has a script of this text at `scripts/ci.sh` and at `run_all`, and an agent that does this.
fn sandbox(agent: &str, task: &str) -> Sandbox {
    let body = format!("{agent}\n{CLAUDE_DONE}");
    let sandbox = Sandbox::new()
        .agent("fake", "claude_code_cli", &body)
        .tasks(task);
    fs::create_dir_all(sandbox.path("repo/scripts")).expect("create a folder");
    let script = "#!/bin/sh\ngrep -qx 42 answer.txt && echo right\n";
    fs::write(sandbox.path("repo/scripts/ci.sh"), script).expect("write a script");
    fs::write(sandbox.path("repo/run_all"), script).expect("write a script");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["update-index", "--chmod=+x", "run_all", "scripts/ci.sh"]);
    sandbox.git(&["commit", "-q", "-m", "scripts"]);
    let answer = "diff --git a/answer.txt b/answer.txt\nnew file mode 100644\n--- /dev/null\n+++ b/answer.txt\n@@ -0,0 +1 @@\n+42\n";
    let change = "diff --git a/scripts/ci.sh b/scripts/ci.sh\n--- a/scripts/ci.sh\n+++ b/scripts/ci.sh\n@@ -1,2 +1,3 @@\n #!/bin/sh\n+# checks the answer\n grep -qx 42 answer.txt && echo right\n";
    fs::write(sandbox.path("answer.patch"), answer).expect("write a patch");
    fs::write(sandbox.path("change.patch"), format!("{answer}{change}")).expect("write a patch");
    sandbox
}

fn task(id: &str, keys: &str, argv: &str) -> String {
    format!(
        "- id: {id}\n  prompt: p\n  reference_patch: answer.patch\n{keys}  graders:\n    - type: command\n      argv: {argv}\n      expected_output: right\n"
    )
}

#[test]
fn a_script_of_the_graders_that_agents_may_change_is_a_cheat_that_a_task_must_catch() {
    let tasks = [
        task("open", "", "[sh, scripts/ci.sh]"),
        task(
            "direct",
            "  protected: ['tests/**']\n",
            "[sh, -c, 'cd scripts && cd .. && ./run_all']",
        ),
        task(
            "kept",
            "  protected: [scripts/ci.sh]\n",
            "[sh, scripts/ci.sh]",
        ),
        task("work", "", "[sh, scripts/ci.sh]").replace("answer.patch", "change.patch"),
    ];
    let sandbox = sandbox("true", &tasks.concat());
    let ran = sandbox
        .proctor(&["validate", "--cheats", "--quiet", "--json"])
        .expect_code(1);
    let found: Value = serde_json::from_str(&ran.stdout).expect("one JSON document");
    let kept = "agents may change what graders run: `protected: [scripts/ci.sh]` keeps it, which takes the place of the default list (";
    for (place, open, remedy) in [
        (0, true, kept),
        (
            1,
            true,
            "agents may change what graders run: `protected: [run_all]` keeps it (",
        ),
        (2, false, ""),
        // Where the script is the work itself, anybody may write one that tells of a pass.
        (
            3,
            true,
            "graders run scripts/ci.sh, which the work itself changes: let them run a script of the suite",
        ),
    ] {
        let task = &found["tasks"][place];
        let reason = task["reason"].as_str().unwrap_or_default();
        assert_eq!(
            reason.starts_with("a cheat passes: grader_script;"),
            open,
            "{task:#}"
        );
        assert_eq!(task["ok"], !open, "{task:#}");
        let notes = task["notes"].to_string();
        assert_eq!(
            notes.contains("what graders run") || notes.contains("graders run "),
            open,
            "{task:#}"
        );
        assert!(notes.contains(remedy), "{task:#}");
    }
    sandbox.assert_scratch_is_empty();
}

#[test]
fn a_grader_behind_a_tight_one_is_named_where_a_cheat_satisfies_it() {
    let tight = "    - type: command\n      argv: [grep, -qx, '42', answer.txt]\n";
    let behind = |id: &str, keys: &str, first: &str| {
        task(id, keys, "[sh, scripts/ci.sh]")
            .replace("  graders:\n", &format!("  graders:\n{first}{tight}"))
    };
    let forbids =
        "    - type: git_diff_forbidden\n      forbidden_globs: ['scripts/**', '.gitignore']\n";
    let tasks = [
        behind("open", "", ""),
        behind("kept", "  protected: [scripts/ci.sh]\n", ""),
        // Whoever is caught for the cheat itself is caught beside work, too.
        behind("forbidden", "", forbids),
    ];
    let sandbox = sandbox("true", &tasks.concat());
    let ran = sandbox
        .proctor(&["validate", "--cheats", "--quiet", "--json"])
        .expect_code(0);
    assert!(
        ran.stderr
            .contains("WARNING: a cheat satisfies a grader of open, though"),
        "{}",
        ran.stderr
    );
    let found: Value = serde_json::from_str(&ran.stdout).expect("one JSON document");
    for (place, weak) in [(0, true), (1, false), (2, false)] {
        let task = &found["tasks"][place];
        assert_eq!(task["ok"], true, "{task:#}");
        let named = task["weak_graders"].as_array().expect("a list");
        assert_eq!(named.len(), usize::from(weak), "{task:#}");
        let cheats = task["cheats"].as_array().expect("cheats").iter();
        let script = cheats.filter(|one| one["cheat"] == "grader_script");
        let satisfied: Vec<&Value> = script.map(|one| &one["satisfied_graders"]).collect();
        let expected = if weak { json!([2]) } else { json!([]) };
        assert_eq!(satisfied, [&expected], "{task:#}");
    }
    let weak = &found["tasks"][0]["weak_graders"][0];
    assert_eq!(
        (&weak["grader"], &weak["cheats"]),
        (&json!(2), &json!(["grader_script"]))
    );
    let told = weak["told"].as_str().expect("a sentence");
    assert!(
        told.starts_with("grader 2, `sh scripts/ci.sh`, passes with grader_script")
            && told.contains("`protected: [scripts/ci.sh]` keeps it"),
        "{told}"
    );
    let ran = sandbox
        .proctor(&["validate", "--cheats", "--task-ids", "open"])
        .expect_code(0);
    assert!(
        ran.stdout.starts_with("weak   open")
            && ran.stdout.contains("16 of 17 cheats were beaten")
            && ran.stdout.contains(told),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_target_that_graders_ask_for_is_a_cheat_that_is_told_of_a_task_that_leaves_it_open() {
    let tasks = [
        task("open", "", "[make, test]"),
        task("kept", "  protected: [Makefile]\n", "[make, test]"),
        task("work", "", "[make, test]").replace("answer.patch", "rule.patch"),
        task("shell", "", "[sh, -c, 'make build && make -s test']"),
    ];
    let sandbox = sandbox("true", &tasks.concat());
    let rules = ".PHONY: test build\nbuild:\n\techo built > built.txt\ntest: build\n\tgrep -q built built.txt\n\tgrep -qx 42 answer.txt && echo right\n";
    fs::write(sandbox.path("repo/Makefile"), rules).expect("write a makefile");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "rules"]);
    let answer = fs::read_to_string(sandbox.path("answer.patch")).expect("a patch");
    let rule = "diff --git a/Makefile b/Makefile\n--- a/Makefile\n+++ b/Makefile\n@@ -4,3 +4,4 @@\n test: build\n \tgrep -q built built.txt\n \tgrep -qx 42 answer.txt && echo right\n+\ttrue\n";
    fs::write(sandbox.path("rule.patch"), answer + rule).expect("write a patch");
    let ran = sandbox
        .proctor(&["validate", "--cheats", "--quiet", "--json"])
        .expect_code(0);
    let found: Value = serde_json::from_str(&ran.stdout).expect("one JSON document");
    for (place, open) in [(0, true), (1, false), (2, true), (3, true)] {
        let task = &found["tasks"][place];
        assert_eq!(task["ok"], true, "{task:#}");
        let cheats = task["cheats"].as_array().expect("cheats").iter();
        let command = cheats.filter(|one| one["cheat"] == "test_command");
        let passed: Vec<&Value> = command.map(|one| &one["passed"]).collect();
        assert_eq!(passed, [&json!(open)], "{task:#}");
        let weak = task["weak_graders"].as_array().expect("a list");
        assert_eq!(weak.len(), usize::from(open), "{task:#}");
        if let Some(weak) = weak.first() {
            assert_eq!(weak["cheats"], json!(["test_command"]), "{task:#}");
            let told = weak["told"].as_str().expect("a sentence");
            assert!(told.contains("suspect[test_config_changed:"), "{told}");
        }
    }
    assert!(
        ran.stderr
            .contains("WARNING: a cheat satisfies a grader of open, work, shell"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_cheat_writes_nothing_outside_of_its_workspace() {
    let sandbox = sandbox("true", &task("linked", "", "[sh, linked.sh]"));
    let outside = sandbox.path("outside.sh");
    let text = "grep -qx 42 answer.txt && echo right\n";
    fs::write(&outside, text).expect("write a script");
    symlink(&outside, sandbox.path("repo/linked.sh")).expect("make a link");
    symlink(sandbox.path(""), sandbox.path("repo/up")).expect("make a link");
    let made = sandbox.path("made");
    let rules = format!("{}: a\n\ttrue\nup/built: a\n\ttrue\n", made.display());
    fs::write(sandbox.path("repo/Makefile"), rules).expect("write a makefile");
    sandbox.git(&["add", "-A"]);
    sandbox.git(&["commit", "-q", "-m", "links"]);
    sandbox
        .proctor(&["validate", "--cheats", "--quiet"])
        .expect_code(0);
    assert_eq!(fs::read_to_string(&outside).expect("the script"), text);
    assert!(!made.exists() && !sandbox.path("built").exists());
}

#[test]
fn an_agent_that_changes_a_script_that_a_grader_names_is_told() {
    let (ci, all) = ("[sh, scripts/ci.sh]", "[sh, -c, 'sh ./run_all']");
    let told = "suspect[grader_script_changed:scripts/ci.sh]";
    let easy = "printf 'echo right\\n' > scripts/ci.sh";
    for (agent, task, integrity) in [
        (easy, task("a", "", ci), told),
        (easy, task("a", "  protected: ['tests/**']\n", ci), told),
        (easy, task("a", "", all), "clean"),
        (
            "rm run_all; ln -s scripts/ci.sh run_all",
            task("a", "", all),
            "suspect[grader_script_changed:run_all]",
        ),
        // Where the work changes it, who makes it what the reference makes it is not asked.
        (
            easy,
            task("a", "", ci).replace("answer.patch", "change.patch"),
            told,
        ),
        (
            "sed -i '1a # checks the answer' scripts/ci.sh",
            task("a", "", ci).replace("answer.patch", "change.patch"),
            "clean",
        ),
        (
            easy,
            task("a", "  protected: ['scripts/**']\n", ci),
            "violated[protected_changed:scripts/ci.sh]",
        ),
        // To name a script is not to run it, and who may write one may write it anew.
        (
            easy,
            task(
                "a",
                "",
                "[sh, -c, 'grep -c right scripts/ci.sh; echo right']",
            ),
            "clean",
        ),
        (
            "echo 'echo right' > mine.sh",
            task("a", "", "[sh, mine.sh]"),
            "clean",
        ),
    ] {
        let sandbox = sandbox(&format!("{SOLVE}\n{agent}"), &task);
        sandbox.proctor(&["run", "--quiet"]).expect_code(0);
        let row = sandbox.row();
        assert_eq!(row["grade"], "pass", "{agent}: {task}: {row:#}");
        assert_eq!(row["integrity"], integrity, "{agent}: {task}: {row:#}");
    }
}
