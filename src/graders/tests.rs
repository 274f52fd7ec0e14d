//! Graders over workspaces as agents leave them, hostile ones included.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use image::{ImageFormat, Rgb, RgbImage};

use super::*;
use crate::config::{GraderSpec, IosTestOptions};
use crate::model::{Grade, Verdict};
use crate::supervise::Cancel;

/// A workspace with a project in `App`, and a place for logs.
struct Desk {
    home: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let desk = Self {
            home: tempfile::tempdir().expect("make a folder"),
        };
        desk.put("App/Tests/Unit/a.swift", "assert(1)\n");
        desk.put("App/Tests/run.sh", "#!/bin/sh\nexit 0\n");
        desk.put("App/Sources/main.swift", "print(1)\n");
        desk.put("Package.swift", "let x = 1\n");
        fs::create_dir(desk.home.path().join("logs")).expect("make the logs' folder");
        desk
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("work")
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    fn put(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("a folder above")).expect("make folders");
        fs::write(path, text).expect("write a file");
    }

    async fn grade(
        &self,
        specs: &[GraderSpec],
        baseline: Option<&ForbiddenBaseline>,
    ) -> Vec<Verdict> {
        self.grade_cancelled(specs, baseline, &Cancel::new()).await
    }

    async fn grade_cancelled(
        &self,
        specs: &[GraderSpec],
        baseline: Option<&ForbiddenBaseline>,
        cancel: &Cancel,
    ) -> Vec<Verdict> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let env: Vec<(OsString, OsString)> = vec![("PATH".into(), path), ("A".into(), "1".into())];
        let context = GradeContext {
            root: &self.root(),
            project_dir: &self.at("App"),
            subdir: Path::new("App"),
            baseline,
            env: &env,
            logs: &self.home.path().join("logs"),
            default_timeout: Duration::from_secs(60),
            grace: Duration::from_millis(50),
            cancel,
        };
        grade(specs, &context).await
    }

    async fn one(&self, spec: GraderSpec) -> (Grade, String) {
        let verdicts = self.grade(&[spec], None).await;
        assert_eq!(verdicts.len(), 1);
        let verdict = verdicts.into_iter().next().expect("one verdict");
        (verdict.grade, verdict.reason.unwrap_or_default())
    }

    fn log(&self, name: &str) -> String {
        fs::read_to_string(self.home.path().join("logs").join(name)).expect("read a log")
    }
}

fn forbidden(globs: &[&str]) -> GraderSpec {
    GraderSpec::GitDiffForbidden {
        forbidden_globs: globs.iter().map(|glob| (*glob).to_owned()).collect(),
    }
}

fn sh(script: &str) -> GraderSpec {
    command(&["sh", "-c", script])
}

fn command(argv: &[&str]) -> GraderSpec {
    GraderSpec::Command {
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        cwd: None,
        expected_exit: 0,
        timeout: None,
        expected_output: None,
        forbidden_output: None,
        env: Vec::new(),
    }
}

/// Takes the baseline, lets `work` happen, and gives the reason; empty = passed.
async fn after(desk: &Desk, globs: &[&str], work: impl FnOnce(&Desk)) -> String {
    let spec = forbidden(globs);
    let taken = capture_baseline(std::slice::from_ref(&spec), &desk.root(), Path::new("App"));
    let taken = taken.expect("take the baseline").expect("there is one");
    // What is stored is what is compared.
    let text = serde_json::to_string(&taken).expect("write the baseline");
    let read: ForbiddenBaseline = serde_json::from_str(&text).expect("read the baseline");
    assert_eq!(read, taken);
    work(desk);
    let verdicts = desk.grade(&[spec], Some(&read)).await;
    let passed = verdicts[0].grade == Grade::Pass;
    assert_eq!(passed, verdicts[0].reason.is_none());
    verdicts[0].reason.clone().unwrap_or_default()
}

#[tokio::test]
async fn every_way_to_touch_a_forbidden_file_is_seen() {
    type Work = fn(&Desk);
    let cases: [(&str, Work, &str); 17] = [
        ("nothing", |_| {}, ""),
        (
            "allowed",
            |desk| desk.put("App/Sources/main.swift", "x"),
            "",
        ),
        (
            "rewritten the same",
            |desk| desk.put("Package.swift", "let x = 1\n"),
            "",
        ),
        (
            "changed",
            |desk| desk.put("App/Tests/Unit/a.swift", "assert(0)\n"),
            "forbidden_modified:App/Tests/Unit/a.swift",
        ),
        (
            "changed from the root",
            |desk| desk.put("Package.swift", "let y = 1\n"),
            "forbidden_modified:Package.swift",
        ),
        (
            "deleted",
            |desk| fs::remove_file(desk.at("Package.swift")).expect("remove"),
            "forbidden_removed:Package.swift",
        ),
        (
            "new",
            |desk| desk.put("App/Tests/new.swift", ""),
            "forbidden_added:App/Tests/new.swift",
        ),
        (
            "mode",
            |desk| {
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(desk.at("App/Tests/run.sh"), mode).expect("chmod");
            },
            "forbidden_modified:App/Tests/run.sh",
        ),
        (
            "link for a file",
            |desk| {
                fs::rename(desk.at("Package.swift"), desk.at("P")).expect("move");
                symlink("P", desk.at("Package.swift")).expect("link");
            },
            "forbidden_modified:Package.swift",
        ),
        (
            "folder for a file",
            |desk| {
                fs::remove_file(desk.at("Package.swift")).expect("remove");
                desk.put("Package.swift/x", "");
            },
            "forbidden_removed:Package.swift",
        ),
        (
            "link for a folder",
            |desk| {
                fs::rename(desk.at("App/Tests"), desk.at("App/Real")).expect("move");
                symlink("Real", desk.at("App/Tests")).expect("link");
            },
            "forbidden_added:App/Tests",
        ),
        (
            "hidden by .gitignore",
            |desk| {
                desk.put(".gitignore", "*\n");
                desk.put("App/Tests/evil.swift", "x");
            },
            "forbidden_added:App/Tests/evil.swift",
        ),
        (
            "nested repository",
            |desk| desk.put("App/Tests/n/.git/config", "x"),
            "forbidden_added:App/Tests/n/.git/config",
        ),
        (
            "no .git any more",
            |desk| {
                fs::remove_dir_all(desk.at(".git")).ok();
                desk.put("App/Tests/Unit/a.swift", "x");
            },
            "forbidden_modified:App/Tests/Unit/a.swift",
        ),
        (
            "case twin",
            |desk| desk.put("App/tests/Unit/a.swift", "x"),
            "forbidden_added:App/tests/Unit/a.swift",
        ),
        (
            "the whole workspace",
            |desk| {
                fs::remove_dir_all(desk.root()).expect("remove");
            },
            "forbidden_removed:. ",
        ),
        (
            "a pipe",
            |desk| {
                let path = desk.at("App/Tests/pipe");
                let mode = rustix::fs::Mode::RWXU;
                rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
                    .expect("make a pipe");
            },
            "forbidden_added:App/Tests/pipe",
        ),
    ];
    for (name, work, reason) in cases {
        let desk = Desk::new();
        desk.put(".git/config", "[core]\n");
        let said = after(&desk, &["Tests/**", "Package.swift"], work).await;
        assert!(
            said == reason || (!reason.is_empty() && said.starts_with(reason)),
            "{name}: {said}"
        );
    }
}

#[tokio::test]
async fn a_folder_that_was_there_and_looks_alike_may_be_worked_in() {
    let desk = Desk::new();
    desk.put("App/tests/own.py", "1");
    let work = |desk: &Desk| {
        desk.put("App/tests/own.py", "2");
        desk.put("App/tests/more.py", "3");
    };
    assert_eq!(after(&desk, &["Tests/**"], work).await, "");
}

#[tokio::test]
async fn the_first_path_is_the_reason_and_all_are_in_the_log() {
    let desk = Desk::new();
    let said = after(&desk, &["Tests/**"], |desk| {
        desk.put("App/Tests/z", "");
        desk.put("App/Tests/b", "");
        fs::remove_file(desk.at("App/Tests/run.sh")).expect("remove");
    })
    .await;
    assert_eq!(said, "forbidden_added:App/Tests/b");
    let log = desk.log("grader_01_git_diff_forbidden.log");
    assert_eq!(
        log,
        "forbidden_added:App/Tests/b\nforbidden_removed:App/Tests/run.sh\nforbidden_added:App/Tests/z\n# 3 violation(s)\n"
    );
}

#[tokio::test]
async fn a_huge_hole_is_known_by_its_size_and_not_read() {
    let desk = Desk::new();
    let grow = |size: u64| {
        let file = fs::File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(desk.at("App/Tests/big"));
        file.expect("open").set_len(size).expect("grow");
    };
    grow(10 << 40);
    assert_eq!(after(&desk, &["Tests/**"], |_| {}).await, "");
    let said = after(&desk, &["Tests/**"], |_| grow(9 << 40)).await;
    assert_eq!(said, "forbidden_modified:App/Tests/big");
}

#[tokio::test]
async fn a_check_without_its_baseline_is_an_error() {
    let desk = Desk::new();
    let told = desk.one(forbidden(&["Tests/**"])).await;
    assert_eq!(
        told,
        (Grade::Error, "forbidden_baseline_missing".to_owned())
    );
}

#[tokio::test]
async fn what_is_hidden_too_deep_to_be_seen_is_not_passed() {
    let desk = Desk::new();
    let said = after(&desk, &["**/*.swift"], |desk| {
        let deep: PathBuf = std::iter::repeat_n("d", 400).collect();
        fs::create_dir_all(desk.root().join(&deep)).expect("make a deep folder");
        fs::write(desk.root().join(deep).join("evil.swift"), "x").expect("write");
    })
    .await;
    assert_eq!(said, "forbidden_check_incomplete");
}

#[tokio::test]
async fn commands_judge_by_exit_code_and_output() {
    let with = |script: &str, exit: i32, expected: Option<&str>, forbidden: Option<&str>| {
        let GraderSpec::Command { argv, .. } = sh(script) else {
            unreachable!()
        };
        GraderSpec::Command {
            argv,
            cwd: None,
            expected_exit: exit,
            timeout: None,
            expected_output: expected.map(str::to_owned),
            forbidden_output: forbidden.map(str::to_owned),
            env: Vec::new(),
        }
    };
    let desk = Desk::new();
    for (spec, grade, reason) in [
        (sh("exit 0"), Grade::Pass, ""),
        (sh("exit 3"), Grade::Fail, "command_failed:exit=3"),
        (with("exit 3", 3, None, None), Grade::Pass, ""),
        (
            with("exit 0", 3, None, None),
            Grade::Fail,
            "command_failed:exit=0",
        ),
        (sh("kill -SEGV $$"), Grade::Fail, "command_failed:signal=11"),
        (with("echo all ok", 0, Some("ok"), None), Grade::Pass, ""),
        (
            with("echo all ok >&2", 0, Some("ok"), None),
            Grade::Pass,
            "",
        ),
        (
            with("echo all", 0, Some("ok"), None),
            Grade::Fail,
            "command_output_mismatch",
        ),
        (
            with("echo 1 skipped", 0, None, Some("skipped")),
            Grade::Fail,
            "command_output_mismatch",
        ),
        (with("echo fine", 0, None, Some("skipped")), Grade::Pass, ""),
        (
            sh("test \"$A\" = 1 && test -z \"$HOME\" && test -f Tests/run.sh"),
            Grade::Pass,
            "",
        ),
        (
            command(&[
                "test",
                "-d",
                "{WORKDIR}/Sources",
                "-a",
                "-f",
                "{REPO_ROOT}/Package.swift",
            ]),
            Grade::Pass,
            "",
        ),
        (command(&["test", "{x}{", "=", "{x}{"]), Grade::Pass, ""),
        (
            command(&["no-such-program"]),
            Grade::Error,
            "command_not_started:",
        ),
        (command(&["./gone.sh"]), Grade::Fail, "command_not_started:"),
        (
            command(&["{WORKDIR}/gone.sh"]),
            Grade::Fail,
            "command_not_started:",
        ),
        (command(&[]), Grade::Error, "command_not_started:"),
    ] {
        let told = desk.one(spec.clone()).await;
        let fits = if reason.ends_with(':') {
            told.1.starts_with(reason)
        } else {
            told.1 == reason
        };
        assert!(told.0 == grade && fits, "{spec:?}: {told:?}");
    }
}

#[tokio::test]
async fn a_command_that_hangs_is_a_timeout_with_its_output_kept() {
    let desk = Desk::new();
    let GraderSpec::Command { argv, .. } = sh("echo started; sleep 600") else {
        unreachable!()
    };
    let told = desk
        .one(GraderSpec::Command {
            argv,
            cwd: None,
            expected_exit: 0,
            timeout: Some(Duration::from_millis(300)),
            expected_output: None,
            forbidden_output: None,
            env: Vec::new(),
        })
        .await;
    assert_eq!(told, (Grade::Timeout, "command_timeout".to_owned()));
    let log = desk.log("grader_01_command.log");
    assert!(
        log.contains("started\n") && log.contains("HardTimeout"),
        "{log}"
    );
}

#[tokio::test]
async fn a_command_works_in_a_real_folder_of_the_workspace_only() {
    let desk = Desk::new();
    symlink("/tmp", desk.at("App/out")).expect("link");
    symlink("Sources", desk.at("App/in")).expect("link");
    for (cwd, script, grade) in [
        ("Sources", "test -f main.swift", Grade::Pass),
        ("in", "test -f main.swift", Grade::Pass),
        ("..", "test -f Package.swift", Grade::Pass),
        ("out", "true", Grade::Fail),
        ("../..", "true", Grade::Fail),
        ("missing", "true", Grade::Fail),
        ("Sources/main.swift", "true", Grade::Fail),
    ] {
        let GraderSpec::Command { argv, .. } = sh(script) else {
            unreachable!()
        };
        let told = desk
            .one(GraderSpec::Command {
                argv,
                cwd: Some(PathBuf::from(cwd)),
                expected_exit: 0,
                timeout: None,
                expected_output: None,
                forbidden_output: None,
                env: vec![("A".to_owned(), "2".to_owned())],
            })
            .await;
        assert_eq!(told.0, grade, "{cwd}: {}", told.1);
    }
}

#[tokio::test]
async fn graders_stop_at_the_first_that_does_not_pass() {
    let desk = Desk::new();
    let verdicts = desk
        .grade(&[sh("sleep 0.05"), sh("exit 1"), sh("touch never")], None)
        .await;
    let grades: Vec<_> = verdicts.iter().map(|verdict| verdict.grade).collect();
    assert_eq!(grades, [Grade::Pass, Grade::Fail]);
    assert!(verdicts[0].duration >= Duration::from_millis(50));
    assert!(!desk.at("App/never").exists());
    assert_eq!(desk.grade(&[], None).await, []);
}

#[tokio::test]
async fn what_cannot_be_judged_here_is_no_pass() {
    let desk = Desk::new();
    let unknown = GraderSpec::Unknown {
        name: "vibes".to_owned(),
    };
    for (spec, grade, reason) in [
        (
            GraderSpec::IosInstallCheck,
            Grade::Error,
            "needs_xcode:ios_install_check",
        ),
        (
            GraderSpec::IosLaunchCheck,
            Grade::Error,
            "needs_xcode:ios_launch_check",
        ),
        (
            GraderSpec::IosTestPass(IosTestOptions::default()),
            Grade::Error,
            "needs_xcode:ios_test_pass",
        ),
        (unknown, Grade::Fail, "unknown_grader:vibes"),
        (forbidden(&[]), Grade::Error, "forbidden_baseline_missing"),
    ] {
        assert_eq!(desk.one(spec).await, (grade, reason.to_owned()));
    }
    let cancel = Cancel::new();
    cancel.request();
    let verdicts = desk.grade_cancelled(&[sh("true")], None, &cancel).await;
    assert_eq!(verdicts[0].reason.as_deref(), Some("cancelled"));
}

/// A page with a title bar and paragraphs; `seed` moves them.
fn page(width: u32, height: u32, seed: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        let (column, row) = (x * 16 / width, y * 24 / height);
        let dark = row == 0
            || (row + seed) % (3 + seed % 4) == 0
                && column > seed % 5
                && (column * 7 + row * 3 + seed) % 5 > 1;
        if dark {
            Rgb([40, 60, 90])
        } else {
            Rgb([250, 250, 250])
        }
    })
}

fn save(image: &RgbImage, path: &Path, format: ImageFormat) {
    image.save_with_format(path, format).expect("save an image");
}

#[tokio::test]
async fn a_screenshot_is_a_png_inside_the_workspace() {
    let desk = Desk::new();
    save(&page(64, 96, 1), &desk.at("App/shot.png"), ImageFormat::Png);
    save(
        &page(64, 96, 1),
        &desk.at("App/photo.png"),
        ImageFormat::Jpeg,
    );
    save(
        &page(64, 96, 1),
        &desk.home.path().join("outside.png"),
        ImageFormat::Png,
    );
    desk.put("App/empty.png", "");
    desk.put("App/text.png", "not an image");
    let png = fs::read(desk.at("App/shot.png")).expect("read");
    desk.put("App/head.png", &png[..20]);
    fs::create_dir(desk.at("App/folder.png")).expect("make a folder");
    symlink("/dev/zero", desk.at("App/zero.png")).expect("link");
    symlink("../../outside.png", desk.at("App/out.png")).expect("link");
    symlink("shot.png", desk.at("App/link.png")).expect("link");
    symlink("loop.png", desk.at("App/loop.png")).expect("link");
    let pipe = desk.at("App/pipe.png");
    let mode = rustix::fs::Mode::RWXU;
    rustix::fs::mknodat(rustix::fs::CWD, pipe, rustix::fs::FileType::Fifo, mode, 0)
        .expect("make a pipe");
    let hole = fs::File::create(desk.at("App/hole.png")).expect("create");
    hole.set_len(10 << 40).expect("grow");
    for (name, reason) in [
        ("shot", ""),
        ("link", ""),
        ("photo", "screenshot_invalid_png"),
        ("empty", "screenshot_invalid_png"),
        ("text", "screenshot_invalid_png"),
        ("head", "screenshot_invalid_png"),
        ("missing", "screenshot_not_found:missing.png"),
        ("folder", "screenshot_not_found:folder.png"),
        ("zero", "screenshot_not_found:zero.png"),
        ("out", "screenshot_not_found:out.png"),
        ("loop", "screenshot_not_found:loop.png"),
        ("pipe", "screenshot_not_found:pipe.png"),
        ("hole", "screenshot_not_found:hole.png"),
    ] {
        let path = PathBuf::from(format!("{name}.png"));
        let told = desk.one(GraderSpec::ScreenshotExists { path }).await;
        assert_eq!(told.1, reason, "{name}");
        assert_eq!(told.0 == Grade::Pass, reason.is_empty());
    }
}

async fn distance(desk: &Desk, seen: &RgbImage, reference: &RgbImage) -> u32 {
    let known = desk.home.path().join("reference.png");
    save(seen, &desk.at("App/seen.png"), ImageFormat::Png);
    save(reference, &known, ImageFormat::Png);
    let told = desk
        .one(GraderSpec::ScreenshotCompare {
            path: PathBuf::from("seen.png"),
            reference_path: known,
            threshold: 0,
        })
        .await;
    let distance = told.1.strip_prefix("screenshot_mismatch:distance=");
    distance.map_or(0, |rest| {
        let number = rest
            .strip_suffix(",threshold=0")
            .expect("the contract's form");
        number.parse().expect("a number")
    })
}

#[tokio::test]
async fn like_pages_are_near_and_different_pages_are_far() {
    let desk = Desk::new();
    let original = page(390, 844, 1);
    assert_eq!(distance(&desk, &original, &original).await, 0);
    let scaled = page(780, 1688, 1);
    assert!(
        distance(&desk, &scaled, &original).await <= 6,
        "another scale"
    );
    let mut clock = original.clone();
    for (x, y) in (10..60).flat_map(|x| (5..15).map(move |y| (x, y))) {
        clock.put_pixel(x, y, Rgb([200, 200, 200]));
    }
    assert!(
        distance(&desk, &clock, &original).await <= 10,
        "another clock"
    );
    for seed in 2..12 {
        let other = page(390, 844, seed);
        let far = distance(&desk, &other, &original).await;
        assert!(far > 10, "page {seed} is {far} bits away");
    }
}

#[tokio::test]
async fn a_blank_page_is_like_nothing_but_itself() {
    let desk = Desk::new();
    let white = RgbImage::from_pixel(390, 844, Rgb([255, 255, 255]));
    let black = RgbImage::from_pixel(390, 844, Rgb([0, 0, 0]));
    let original = page(390, 844, 1);
    for (seen, reference, wanted) in [
        (&white, &original, 64),
        (&original, &white, 64),
        (&black, &original, 64),
        (&white, &black, 64),
        (&white, &white, 0),
    ] {
        assert_eq!(distance(&desk, seen, reference).await, wanted);
    }
}

#[tokio::test]
async fn a_reference_that_cannot_be_read_is_the_suites_fault() {
    let desk = Desk::new();
    save(&page(64, 96, 1), &desk.at("App/seen.png"), ImageFormat::Png);
    let compare = |path: &str, reference_path: PathBuf| GraderSpec::ScreenshotCompare {
        path: PathBuf::from(path),
        reference_path,
        threshold: 10,
    };
    let told = desk
        .one(compare("seen.png", PathBuf::from("/nowhere.png")))
        .await;
    assert_eq!(told.0, Grade::Error);
    assert!(
        told.1
            .starts_with("screenshot_reference_unreadable:/nowhere.png"),
        "{}",
        told.1
    );
    let told = desk.one(compare("gone.png", desk.at("App/seen.png"))).await;
    assert_eq!(
        told,
        (Grade::Fail, "screenshot_not_found:gone.png".to_owned())
    );
}
