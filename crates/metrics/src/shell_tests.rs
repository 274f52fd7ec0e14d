//! What a shown command line would run, case by case.

use proptest::prelude::*;

use super::*;

/// Each case: the line, and the commands with `|` between words.
const CASES: &[(&str, &[&str])] = &[
    ("", &[]),
    ("xcodebuild -version", &["xcodebuild|-version"]),
    (
        "a; b && c || d | e & f\ng",
        &["a", "b", "c", "d", "e", "f", "g"],
    ),
    (
        "/bin/bash -lc 'xcodebuild -version; xcrun simctl list devices; command -v xcodebuild; echo PATH=$PATH'",
        &[
            "xcodebuild|-version",
            "xcrun|simctl|list|devices",
            "command|-v|xcodebuild",
            "echo|PATH=$PATH",
        ],
    ),
    (
        "bash -c \"bash -lc 'zsh -c \\\"xcrun x\\\"'\"",
        &["xcrun|x"],
    ),
    ("bash -o pipefail -ec 'a | b'", &["a", "b"]),
    ("bash build.sh -c", &["bash|build.sh|-c"]),
    ("FOO=1 BAR='x y' cmd a", &["cmd|a"]),
    ("FOO=1", &[]),
    (
        "A+=x B=$(xcrun simctl list) cmd",
        &["cmd", "xcrun|simctl|list"],
    ),
    ("'FOO=1' x", &["FOO=1|x"]),
    (
        "ARGS=(-scheme App); xcodebuild \"${ARGS[@]}\"",
        &["xcodebuild|${ARGS[@]}"],
    ),
    (
        "env -i -u HOME X=1 Y=2 xcodebuild test",
        &["xcodebuild|test"],
    ),
    ("time -p xcodebuild build", &["xcodebuild|build"]),
    ("/usr/bin/time -l xcodebuild build", &["xcodebuild|build"]),
    (
        "exec command nice -n 5 timeout -k 3 60 xcodebuild build",
        &["xcodebuild|build"],
    ),
    ("sudo -u me FOO=1 xcodebuild build", &["xcodebuild|build"]),
    ("exec > log.txt", &[]),
    (
        "xcodebuild test > out.log 2>&1 < /dev/null &>> more",
        &["xcodebuild|test"],
    ),
    (
        "xcodebuild test 2> >(grep x) | tee 'my log'",
        &["xcodebuild|test", "tee|my log", "grep|x"],
    ),
    ("echo 2 >a", &["echo|2"]),
    ("echo 2>a", &["echo"]),
    (
        "xcodebuild -destination 'platform=iOS Simulator,name=iPhone 17' build",
        &["xcodebuild|-destination|platform=iOS Simulator,name=iPhone 17|build"],
    ),
    (
        "xcodebuild -scheme \"My App\" -derivedDataPath a\\ b \\\n  test",
        &["xcodebuild|-scheme|My App|-derivedDataPath|a b|test"],
    ),
    (
        "echo \"a \\\" b \\$ \\x\" $'it\\'s'",
        &["echo|a \" b $ \\x|it's"],
    ),
    (
        "(cd sub; xcodebuild build)",
        &["cd|sub", "xcodebuild|build"],
    ),
    ("{ xcodebuild build; }", &["xcodebuild|build"]),
    (
        "if ! xcodebuild build; then echo no; else xcrun x; fi",
        &["xcodebuild|build", "echo|no", "xcrun|x"],
    ),
    (
        "for x in xcodebuild xcrun; do xcodebuild -scheme $x; done",
        &["xcodebuild|-scheme|$x"],
    ),
    ("case $1 in a) xcrun a ;; esac", &["xcrun|a"]),
    ("xcodebuild() { echo fake; }", &["echo|fake"]),
    ("function xcodebuild { echo fake; }", &["echo|fake"]),
    (
        "echo $(xcrun simctl list | head)",
        &[
            "echo|$(xcrun simctl list | head)",
            "xcrun|simctl|list",
            "head",
        ],
    ),
    (
        "echo \"$(xcrun \"a)b\")\" `xcrun c`",
        &["echo|$(xcrun \"a)b\")|`xcrun c`", "xcrun|a)b", "xcrun|c"],
    ),
    ("a # xcodebuild build\nb", &["a", "b"]),
    ("a#b", &["a#b"]),
    (
        "cat <<'EOF' > build.sh && b\nxcodebuild build\nEOF\nc",
        &["cat", "b", "c"],
    ),
    ("cat <<-X\n\txcodebuild build\n\tX\nc", &["cat", "c"]),
    ("cat <<< xcodebuild; b", &["cat", "b"]),
    (
        "git commit -m \"$(cat <<'EOF'\nDon't (break\nEOF\n)\" && xcodebuild build",
        &[
            "git|commit|-m|$(cat <<'EOF'\nDon't (break\nEOF\n)",
            "xcodebuild|build",
            "cat",
        ],
    ),
    ("eval \"xcodebuild build\" arg", &["xcodebuild|build|arg"]),
    (
        "find . | xargs -n 1 -I {} xcrun x {}",
        &["find|.", "xcrun|x|{}"],
    ),
    (
        "cd a && set -o pipefail && /Applications/Xcode.app/Contents/Developer/usr/bin/xcodebuild test | xcpretty",
        &[
            "cd|a",
            "set|-o|pipefail",
            "/Applications/Xcode.app/Contents/Developer/usr/bin/xcodebuild|test",
            "xcpretty",
        ],
    ),
    (
        "echo 'unbalanced ; xcodebuild build",
        &["echo|unbalanced ; xcodebuild build"],
    ),
    (
        "echo \"unbalanced $(xcrun x",
        &["echo|unbalanced $(xcrun x)", "xcrun|x"],
    ),
    ("a ${unbalanced", &["a|${unbalanced"]),
    ("echo \"\" ''", &["echo||"]),
    ("echo é 日本; xcrun ü", &["echo|é|日本", "xcrun|ü"]),
    (
        "nohup xcodebuild build >/dev/null 2>&1 &",
        &["xcodebuild|build"],
    ),
    ("command", &[]),
    ("env", &[]),
    ("timeout", &[]),
];

#[test]
fn commands_are_found_as_a_shell_would_run_them() {
    for (line, expected) in CASES {
        let found: Vec<String> = shell_commands(line)
            .iter()
            .map(|words| words.join("|"))
            .collect();
        assert_eq!(found, *expected, "{line}");
    }
}

#[test]
fn plain_words_are_cut_as_shell_words_cuts_them() {
    for line in [
        "a 'b c' \"d\\\"e\" f\\ g",
        "x \"\" ''",
        "a \"\n\" \\\n b",
        "--x='y z'w",
    ] {
        assert_eq!(
            shell_commands(line),
            [shell_words::split(line).unwrap()],
            "{line:?}"
        );
    }
}

#[test]
fn hostile_lines_end_soon() {
    let many = [
        "$(".repeat(100_000),
        "\"$(".repeat(60_000),
        "a;".repeat(100_000),
        "`".repeat(100_000),
        "<<".repeat(100_000),
        "<<A\n".repeat(50_000),
        "bash -c '".repeat(20_000),
        "eval ".repeat(50_000),
        "(".repeat(200_000),
        "é".repeat(200_000),
    ];
    for line in many {
        assert!(
            shell_commands(&line).len() <= MOST_COMMANDS + 1,
            "{}",
            &line[..12]
        );
    }
}

proptest! {
    #[test]
    fn no_line_makes_it_panic(line in "[a-z='\"\\\\$(){}<>|&;`#\n \té0-9-]{0,80}") {
        prop_assert!(shell_commands(&line).len() <= line.len());
    }

    #[test]
    fn quoted_words_come_through_as_they_are(words in proptest::collection::vec(".{0,10}", 1..5)) {
        let words: Vec<String> = words.iter().map(|word| word.replace('\0', "")).collect();
        let line = format!("xcodebuild {}", shell_words::join(&words));
        let expected: Vec<String> = std::iter::once("xcodebuild".to_owned()).chain(words).collect();
        prop_assert_eq!(shell_commands(&line), [expected.clone()]);
        let wrapped = format!("/bin/bash -lc {}", shell_words::quote(&line));
        prop_assert_eq!(shell_commands(&wrapped), [expected]);
    }
}
