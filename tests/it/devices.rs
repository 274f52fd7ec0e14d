//! What is on a simulator is the agent's alone: setup, builds of graders and a later start change nothing of the verdict on it.

use std::fs;

use serde_json::Value;

use crate::apple::{INSTALL, PROJECT, row, sandbox, task, told};
use crate::sandbox::{CLAUDE_DONE, Sandbox};
use crate::standin::Standin;

/// A suite whose first grading kills the harness; the row that a later start makes.
fn judged_later(work: &str, graders: &str) -> (Value, Sandbox, Standin) {
    let (sandbox, standin) = sandbox(&format!(
        "echo run >> \"$HOME/starts\"\n{work}\n{CLAUDE_DONE}"
    ));
    let mark = sandbox.path("home/killed");
    let kill = format!(
        "[ -e {mark} ] || {{ touch {mark}; kill -9 $PPID; exec sleep 5; }}",
        mark = mark.display()
    );
    let first = format!("{{type: command, argv: [sh, -c, '{kill}']}}, {graders}");
    let sandbox = sandbox.apple(&task(&first), PROJECT);
    let killed = sandbox.proctor(&["run", "--quiet"]);
    assert_eq!(killed.code, None, "{}", killed.stderr);
    let run = sandbox.run_dir().display().to_string();
    sandbox.proctor(&["run", "--quiet", "--resume", &run]);
    let starts = fs::read_to_string(sandbox.path("home/starts")).expect("read starts");
    assert_eq!(starts.lines().count(), 1, "no agent is started again");
    (sandbox.row(), sandbox, standin)
}

#[test]
fn a_later_start_judges_the_app_as_this_agent_left_it() {
    let from_tree = "{type: ios_install_check, from_tree: true}";
    let cases = [
        ("true", "ios_install_check", "fail none app_not_installed"),
        ("true", "ios_launch_check", "fail none app_launch_failed"),
        ("true", from_tree, "fail none app_not_installed"),
        (
            INSTALL,
            "ios_install_check, ios_launch_check",
            "pass none -",
        ),
        (INSTALL, from_tree, "pass none -"),
    ];
    for (work, graders, expected) in cases {
        let (row, _sandbox, _standin) = judged_later(work, graders);
        assert_eq!(told(&row), expected, "{work} {graders}: {row:#}");
    }
}

#[test]
fn a_simulator_that_did_not_tell_is_no_failure_of_the_agent_in_a_later_start_either() {
    // From now on nothing can be asked.
    let silent =
        "printf 'fail 1 the service is gone' > \"$HOME/../xcode/modes/simctl.get_app_container\"";
    let (row, _sandbox, _standin) =
        judged_later(&format!("{INSTALL}\n{silent}"), "ios_install_check");
    assert_eq!(
        (&row["grade"], &row["infra"]),
        (&"error".into(), &"simulator".into()),
        "{row:#}"
    );
}

#[test]
fn neither_setup_nor_a_test_run_of_graders_installs_for_the_agent_or_takes_from_it() {
    let setup = |graders: &str, commands: &str| {
        task(graders).replace("}\n", &format!(", setup_commands: [{commands}]}}\n"))
    };
    let install = "'xcodebuild -project Tally.xcodeproj -scheme Tally -derivedDataPath \"$HOME/dd\" build >/dev/null; xcrun simctl bootstatus \"$EVAL_SIMULATOR_UDID\" -b >/dev/null; xcrun simctl install \"$EVAL_SIMULATOR_UDID\" \"$HOME/dd/Build/Products/Debug-iphonesimulator/Tally.app\"'";
    let erase = "'xcrun simctl shutdown \"$EVAL_SIMULATOR_UDID\"; xcrun simctl erase \"$EVAL_SIMULATOR_UDID\"'";
    let absent = "fail none app_not_installed";
    let cases = [
        ("true", setup("ios_install_check", install), absent),
        (
            "true",
            setup("ios_launch_check", install),
            "fail none app_launch_failed",
        ),
        ("true", task("ios_test_pass, ios_install_check"), absent),
        (
            INSTALL,
            setup("ios_install_check, ios_launch_check", erase),
            "pass none -",
        ),
    ];
    for (work, tasks, expected) in cases {
        let (sandbox, _standin) = sandbox(&format!("{work}\n{CLAUDE_DONE}"));
        let sandbox = sandbox.apple(&tasks, PROJECT);
        let row = row(&sandbox);
        assert_eq!(told(&row), expected, "{work} {tasks}: {row:#}");
    }
}
