//! What outlives a child, and that it does not live long.

use super::*;

#[cfg(target_os = "linux")]
fn python() -> bool {
    use std::io::Write as _;

    let found = find_program(
        "python3".as_ref(),
        "/usr/local/bin:/usr/bin:/bin".as_ref(),
        Path::new("/"),
    );
    if found.is_none() {
        writeln!(std::io::stderr(), "SKIPPED: no python3 here").expect("say so");
    }
    found.is_some()
}

#[cfg(target_os = "linux")]
fn names(ending: &ChildEnding) -> Vec<&str> {
    ending
        .leftovers
        .iter()
        .map(|one| one.argv.as_str())
        .collect()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn whoever_left_the_group_is_killed_and_named() {
    let cases = [
        ("setsid sleep 61.01 & sleep 0.3; exit 0", "sleep 61.01"),
        (
            "(setsid sleep 61.02 >/dev/null 2>&1 &) ; sleep 0.3",
            "sleep 61.02",
        ),
        ("env -i setsid sleep 61.03 & sleep 0.3", "sleep 61.03"),
        (
            "cd /; env -i setsid sh -c 'exec sleep 61.04 <&- >&- 2>&-' & sleep 0.3",
            "sleep 61.04",
        ),
        (
            "setsid setsid sh -c 'setsid sleep 61.05 & exit' & sleep 0.3",
            "sleep 61.05",
        ),
    ];
    for (text, word) in cases {
        let mut spec = script(text);
        spec.marker = Some(word.to_owned());
        let (ending, _) = hear(&spec).await;
        assert_eq!(ending.exit, Some(Exit::Code(0)), "{text}");
        assert!(!runs(word), "{word} lives");
        assert_eq!(names(&ending), [word], "{text}");
        assert!(!ending.uncontained);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_stalled_child_takes_a_setsid_child_with_it() {
    let mut spec =
        script("setsid sleep 61.11 & sleep 61.12 & trap '' INT TERM; while :; do sleep 0.05; done");
    spec.limits.hard = Some(ms(600));
    let (ending, _) = hear(&spec).await;
    assert_eq!(
        (ending.reason, ending.exit),
        (EndReason::HardTimeout, Some(Exit::Signal(9)))
    );
    assert_eq!(
        names(&ending),
        ["sleep 61.11"],
        "its group is the child itself"
    );
    assert!(!runs("sleep 61.11") && !runs("sleep 61.12"));
}

/// Shells in a row, each in the way of job control or in a session of its own, of which each would go on when the one below dies.
#[cfg(target_os = "linux")]
const GOES_ON: &str = "set -m; for n in 1 2 3 4 5 6; do sh -c 'sleep 61.13; echo job >> went-on' & setsid sh -c 'sh -c \"sleep 61.13; echo inner >> went-on\"; echo outer >> went-on' & done; sleep 0.2";

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_shell_whose_command_is_killed_does_not_go_on_to_the_next() {
    for end in ["exit 0", "trap '' INT TERM; while :; do sleep 0.05; done"] {
        let folder = tempfile::tempdir().expect("a folder");
        let mut spec = script(&format!("{GOES_ON}; {end}"));
        spec.argv[0] = "/bin/bash".into();
        spec.cwd = folder.path().to_owned();
        spec.limits.hard = Some(ms(1500));
        let (ending, _) = hear(&spec).await;
        assert!(ending.leftovers.len() >= 12, "{ending:?}");
        let told = std::fs::read_to_string(folder.path().join("went-on"));
        assert_eq!(told.unwrap_or_default(), "", "{end}");
        assert!(!runs("61.13"), "{end}: {ending:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_double_fork_with_nothing_of_its_parent_is_found() {
    if !python() {
        return;
    }
    let code = "import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0:\n  os.chdir('/')\n  [os.close(i) for i in (0,1,2)]\n  time.sleep(61.21)\n os._exit(0)\ntime.sleep(0.3)";
    let (ending, _) = hear(&script(&format!("exec python3 -c \"{code}\""))).await;
    assert_eq!(ending.leftovers.len(), 1, "{ending:?}");
    assert!(!ending.leak);
    assert!(!runs("61.21"));
}

#[tokio::test]
async fn a_daemon_that_holds_the_output_is_a_leak_and_loses_no_line() {
    let (ending, notes) = hear(&script(
        "printf 'a\\nb\\nc\\n'; setsid sleep 61.31 & exit 0",
    ))
    .await;
    assert_eq!(notes.lines(), ["a", "b", "c"]);
    assert!(ending.leak);
    assert_eq!(ending.exit, Some(Exit::Code(0)));
    assert!(
        ending.wall < ms(5000),
        "the exit is seen at once: {:?}",
        ending.wall
    );
    assert!(!runs("sleep 61.31"));
}

#[tokio::test]
async fn a_daemon_writes_nothing_after_the_ending() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut spec =
        script("setsid sh -c 'while :; do echo x >> solution; done' >/dev/null 2>&1 & sleep 0.3");
    spec.cwd = folder.path().to_owned();
    let (ending, _) = hear(&spec).await;
    let solution = folder.path().join("solution");
    let before = read(&solution);
    std::thread::sleep(ms(200));
    assert!(!before.is_empty() && before == read(&solution));
    assert!(!ending.leak && !ending.leftovers.is_empty());
}

#[tokio::test]
async fn a_sibling_that_outlives_its_leader_is_killed_too() {
    let mut spec =
        script("(trap '' INT TERM; while :; do sleep 0.05; done; : 61.41) & exec sleep 61.42");
    spec.limits.hard = Some(ms(600));
    let (ending, _) = hear(&spec).await;
    assert_eq!(
        ending.exit,
        Some(Exit::Signal(2)),
        "the leader left when it was asked"
    );
    assert!(!ending.leftovers.is_empty());
    assert!(!runs("61.41"));
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_trials_do_not_kill_each_others_processes() {
    let folders = [0, 1].map(|_| tempfile::tempdir().expect("a folder"));
    let text = "setsid sh -c 'while [ ! -e stop ]; do sleep 0.02; done; echo alive > told' & echo ready; wait";
    let mut long = script(text);
    long.cwd = folders[0].path().to_owned();
    let stop = folders[0].path().join("stop");
    let long = tokio::spawn(async move { hear(&long).await });
    for _ in 0..5 {
        let mut short = script("env -i setsid sleep 61.51 & sleep 0.1");
        short.cwd = folders[1].path().to_owned();
        let (ending, _) = hear(&short).await;
        assert_eq!(names(&ending), ["sleep 61.51"]);
    }
    std::fs::write(stop, "").expect("write the sign");
    let (ending, _) = long.await.expect("the other trial");
    assert_eq!(
        (ending.reason, ending.exit),
        (EndReason::Exited, Some(Exit::Code(0)))
    );
    assert!(ending.leftovers.is_empty(), "{ending:?}");
    assert_eq!(read(&folders[0].path().join("told")), "alive\n");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_child_of_many_gets_its_own_exit_status() {
    let children = (0..60).map(|code| {
        tokio::spawn(async move {
            let (ending, _) = hear(&script(&format!("(setsid sleep 0.01 &); exit {code}"))).await;
            assert_eq!(ending.exit, Some(Exit::Code(code)));
        })
    });
    for child in children.collect::<Vec<_>>() {
        child.await.expect("its status");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn adopted_orphans_leave_no_zombies() {
    let (ending, _) = hear(&script(
        "for i in 1 2 3 4 5 6 7 8 9; do (setsid true &); done; sleep 0.3",
    ))
    .await;
    assert_eq!(ending.exit, Some(Exit::Code(0)));
    registry::reap_orphans();
    let me = std::process::id();
    let leaders = registry::leaders().clone();
    let zombies = processes::snapshot().into_iter().filter(|one| {
        one.gone
            && one.parent == me
            && one.session != registry::own_session()
            && !leaders.contains_key(&one.pid)
            && processes::argv(one.pid) == "[true]"
    });
    // Another test's orphan may die at any moment, these nine are long dead.
    assert!(zombies.count() < 9);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_daemon_that_was_spared_outlives_the_sweep_of_an_older_neighbour() {
    let older = tokio::spawn(async { hear(&script("sleep 1.5")).await });
    tokio::time::sleep(ms(200)).await;
    let mut starter = script("setsid sleep 61.61 </dev/null >/dev/null 2>&1 & exit 0");
    starter.limits.spare_leftovers = true;
    let (ending, _) = hear(&starter).await;
    assert_eq!(ending.exit, Some(Exit::Code(0)));
    let (ending, _) = older.await.expect("the neighbour's ending");
    assert!(runs("sleep 61.61"), "{ending:?}");
    assert!(!ending.uncontained && ending.leftovers.is_empty());
    let daemons = processes::snapshot().into_iter();
    let daemons = daemons.filter(|one| processes::argv(one.pid) == "sleep 61.61");
    daemons.for_each(|one| kill::send(&one, rustix::process::Signal::KILL));
}
