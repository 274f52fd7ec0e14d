//! Login shells, which set PATH anew, still call the shims.

use super::*;

/// The words that say which program a name is, run by a shell that was started so.
fn found_by(lab: &Lab, argv: &[&str]) -> String {
    let home = lab.folder.path().join("home's of '$HOME' \"x\"");
    fs::create_dir_all(&home).expect("a home");
    let mut spec = lab.spec(argv);
    spec.argv
        .push("command -v xcodebuild && xcodebuild from-shell".into());
    let variables = lab.overlay.shell_startup(&home).expect("startup files");
    spec.env.extend(
        variables
            .into_iter()
            .map(|(name, value)| (name.into(), value)),
    );
    spec.env.push(("HOME".into(), home.into()));
    let (_, output) = run(&spec);
    text(&output.stdout).to_owned()
}

#[test]
fn every_shell_finds_the_shims_first() {
    let shells: [&[&str]; 7] = [
        &["bash", "-lc"],
        &["bash", "-c"],
        &["bash", "-lic"],
        &["sh", "-lc"],
        &["dash", "-lc"],
        &["zsh", "-lc"],
        &["zsh", "-c"],
    ];
    for argv in shells {
        if find(argv[0]).is_none() {
            skipped(&format!("no {} here", argv[0]));
            continue;
        }
        let lab = Lab::with_script("");
        let shim = lab.overlay.bin_dir.join("xcodebuild");
        assert_eq!(
            found_by(&lab, argv),
            shim.to_str().expect("a path"),
            "{argv:?}"
        );
        let calls = lab.calls();
        assert_eq!(calls.len(), 1, "{argv:?}");
        assert_eq!(calls[0].argv, ["from-shell"]);
    }
}

#[test]
fn a_login_shell_sets_path_anew_without_the_startup_files() {
    if !fs::read_to_string("/etc/profile").is_ok_and(|text| text.contains("PATH=")) {
        skipped("this system's /etc/profile leaves PATH alone");
        return;
    }
    let lab = Lab::with_script("");
    let mut spec = lab.spec(&["bash", "-lc", "command -v xcodebuild"]);
    spec.env.push(("HOME".into(), "/nonexistent".into()));
    let (_, output) = run(&spec);
    assert_eq!(
        text(&output.stdout),
        "",
        "else the test above shows nothing"
    );
}

#[test]
fn startup_files_keep_what_is_there_and_add_the_shims_once() {
    let lab = Lab::with("/bin/true");
    let home = lab.folder.path();
    fs::write(home.join(".profile"), "KEPT=yes\n").expect("write");
    for _ in 0..2 {
        lab.overlay.shell_startup(home).expect("startup files");
    }
    let mut spec = lab.spec(&["sh", "-lc", "echo $KEPT; echo $PATH"]);
    spec.env.push(("HOME".into(), home.into()));
    let (_, output) = run(&spec);
    let said = text(&output.stdout);
    assert!(said.starts_with("yes\n"));
    assert_eq!(
        said.matches(lab.overlay.bin_dir.to_str().expect("a path"))
            .count(),
        1
    );
}
