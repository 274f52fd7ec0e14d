//! Signals reach the tool once, and its end is the shim's end.

use super::*;

fn is_alive(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_signal_for_the_shim_reaches_the_tool_and_both_end_alike() {
    let lab = Lab::with_script("echo $$ > tool; exec sleep 60");
    let send = "(until [ -s tool ]; do sleep 0.01; done; kill -SIGNAL $(cat shim)) &";
    let ways = [
        // The shim leads its process group, and is the child that is watched.
        "echo $$ > shim; exec xcodebuild",
        // It is one of a group.
        "sh -c 'echo $$ > shim; exec xcodebuild'; exit $?",
    ];
    for way in ways {
        for (signal, exit) in [
            ("TERM", 143),
            ("INT", 130),
            ("HUP", 129),
            ("QUIT", 131),
            ("USR1", 138),
            ("KILL", 137),
        ] {
            let send = send.replace("SIGNAL", signal);
            let (ending, _) = lab.sh(&format!("rm -f tool; {send} {way}"));
            assert_eq!(code(&ending), Some(exit), "{signal}: {way}");
            let tool = fs::read_to_string(lab.folder.path().join("tool")).expect("the tool's pid");
            let gone = (0..200).any(|_| {
                let alive = is_alive(tool.trim());
                if alive {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                }
                !alive
            });
            assert!(gone, "{signal}: the tool lives");
            if signal != "KILL" {
                assert_eq!(ending.leftovers, [], "{signal}: {way}");
                assert_eq!(
                    lab.heard().calls.last().expect("a call").exit_status,
                    Some(exit),
                    "{signal}"
                );
            }
        }
    }
}

#[test]
fn a_shim_dies_of_the_signal_that_its_tool_died_of() {
    let lab = Lab::with_script("kill -SEGV $$");
    let (ending, _) = run(&lab.spec(&["xcodebuild"]));
    assert_eq!(ending.exit, Some(proctor_supervise::Exit::Signal(11)));
    assert_eq!(lab.calls()[0].exit_status, Some(139));
}

#[test]
fn a_call_whose_tool_must_be_killed_is_logged_with_that_signal_and_no_other() {
    let lab =
        Lab::with_script("trap '' INT TERM; echo ready > ready; while :; do sleep 0.01; done");
    let outers = [
        "sh -c xcodebuild",
        "setsid sh -c 'xcodebuild; exit'",
        // Shim and tool share a group that the kernel hangs up on when it is stopped and the shell above it dies.
        "set -m; xcodebuild",
        "setsid sh -c 'set -m; xcodebuild; exit'",
    ];
    for outer in outers {
        for last in ["wait", "trap '' INT TERM; while :; do sleep 0.01; done"] {
            let before = lab.calls().len();
            let mut spec = lab.spec(&["/bin/sh", "-c", &format!("{outer} & {last}")]);
            spec.limits = Limits {
                hard: Some(Duration::from_secs(2)),
                grace: Duration::from_millis(100),
                drain: Duration::from_millis(100),
                ..spec.limits
            };
            run(&spec);
            let calls = lab.calls();
            assert_eq!(calls.len(), before + 1, "{outer} & {last}");
            assert_eq!(calls[before].exit_status, Some(137), "{outer} & {last}");
        }
    }
}

#[test]
fn a_tool_can_answer_a_signal_and_go_on() {
    let lab = Lab::with_script(
        "trap 'echo got; exit 9' TERM; echo ready > ready; while :; do sleep 0.01; done",
    );
    let (_, output) = lab.sh("xcodebuild & p=$!; until [ -s ready ]; do sleep 0.01; done; kill -TERM $p; wait $p; echo $?");
    assert_eq!(text(&output.stdout), "got\n9");
}

#[test]
fn a_signal_for_the_group_arrives_once() {
    let lab = Lab::with_script(
        "trap 'echo INT' INT; echo ready > ready; i=0; while [ $i -lt 40 ]; do sleep 0.01; i=$((i+1)); done",
    );
    let (_, output) = lab.sh(
        "trap : INT; rm -f ready; (until [ -s ready ]; do sleep 0.01; done; sleep 0.05; kill -INT 0) & xcodebuild",
    );
    assert_eq!(text(&output.stdout), "INT");
}

#[test]
fn ignored_and_held_signals_are_those_of_the_caller() {
    let lab = Lab::with_script("exec grep -E 'Sig(Blk|Ign)' /proc/self/status");
    let (_, shimmed) = lab.sh("trap '' HUP CHLD USR1; xcodebuild");
    let (_, direct) = lab.sh("trap '' HUP CHLD USR1; ./real-tool");
    assert_eq!(text(&shimmed.stdout), text(&direct.stdout));
    assert!(!text(&shimmed.stdout).is_empty());
}

#[test]
fn a_stopped_call_can_be_continued() {
    let lab = Lab::with_script(
        "echo $$ > pid; i=0; while [ $i -lt 20 ]; do sleep 0.01; i=$((i+1)); done; echo done",
    );
    let state = "cut -d' ' -f3 /proc/$(cat pid)/stat";
    let (ending, output) = lab.sh(&format!(
        "set -m; xcodebuild & p=$!; until [ -s pid ]; do sleep 0.01; done; kill -TSTP $p; \
         until [ \"$({state})\" = T ]; do sleep 0.01; done; echo stopped; kill -CONT $p; wait $p; echo $?"
    ));
    assert_eq!(text(&output.stdout), "stopped\ndone\n0", "{ending:?}");
}
