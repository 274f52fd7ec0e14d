//! Python patterns: what they match, what is refused, and random ones against Python itself.

use super::*;

fn found(pattern: &str, text: &str) -> bool {
    let read = Pattern::new(pattern).unwrap_or_else(|why| panic!("{pattern}: {why}"));
    read.found_in(text).expect("an answer")
}

#[test]
fn patterns_mean_what_they_mean_in_python() {
    #[rustfmt::skip]
    let cases = [
        // Ends: `$` also before a final newline, `\Z` nowhere but at the end.
        ("ok$", "ok\n", true), ("ok$", "ok\n\n", false), (r"ok\Z", "ok\n", false), (r"ok\Z", "ok", true),
        ("(?m)^b$", "a\nb\nc", true), ("^b$", "a\nb\nc", false), ("(?m:^b$)", "a\nb", true), ("a$", "a\nb", false),
        (r"(?m)\Ab", "a\nb", false), ("(?m)c$", "c\n", true),
        // Looking around, references, conditions, atoms.
        ("foo(?=bar)", "foobar", true), ("foo(?!bar)", "foobar", false), ("(?<=a)b", "ab", true), ("(?<!a)b", "ab", false),
        (r"^(ab)\1$", "abab", true), (r"(a)\1", "ab", false), (r"(?P<x>\w)(?P=x)", "aa", true), (r"(?P<x>\w)(?P=x)", "ab", false),
        (r"^(<)?a(?(1)>|!)$", "<a>", true), (r"^(<)?a(?(1)>|!)$", "a>", false), (r"^(?P<o><)?a(?(o)>|!)$", "a!", true),
        ("(?>a+)b", "aab", true), ("(?>a+)a", "aaa", false), ("a++a", "aaa", false), ("a+?", "a", true),
        (r"^(a)(?:\1)1$", "aa1", true), (r"\141", "a", true), (r"\0", "\0", true), (r"\x41\u0042\U00000043", "ABC", true),
        // Classes.
        (r"^\w+$", "naïve", true), (r"^\w+$", "²", true), (r"^\w$", "\u{301}", false), (r"\bcafe\b", "cafe\u{301}", true),
        (r"(?a)^\w+$", "naïve", false), (r"^\d$", "٣", true), (r"(?a)^\d$", "٣", false), (r"^\s$", "\x1c", true), (r"^\S$", "\x1c", false),
        ("[]a]", "]", true), ("[^]a]", "]", false), ("[[]", "[", true), ("[a&&b]", "&", true), ("[a-]", "-", true), (r"[\w-]", "-", true),
        (r"[\]]", "]", true), (r"[^\W]", "-", false), (r"[\b]", "\x08", true), (r"[--a]", "A", true), ("[~~]", "~", true),
        // Braces that are none, spaces that count or do not.
        ("a{", "a{", true), ("a{,2}b", "aab", true), ("a{x}", "a{x}", true), ("a{}", "a{}", true), ("^a{2,}$", "aaa", true), ("}", "}", true),
        ("a b", "a b", true), ("(?x) a b # c\n c", "abc", true), (r"(?x)a\ b[ ]c", "a b c", true), ("a # b", "a # b", true),
        // Flags and comments.
        ("(?i)hello", "HELLO", true), ("(?i:h)ello", "Hello", true), ("(?i:h)ello", "HELLO", false), ("(?s)a.b", "a\nb", true), ("a.b", "a\nb", false),
        ("(?i)a(?-i:b)", "AB", false), ("(?i)a(?-i:b)", "Ab", true), ("a(?#no)b", "ab", true), ("a(?#no)+b", "aab", true),
        ("", "", true), ("cat|dog", "no cats", true), ("(|a)b", "b", true), ("'", "'", true), (r"\'\-\/", "'-/", true), ("<>", "<>", true),
        (r"\.", "a", false), ("ä", "ä", true), (r"[à-ü]", "ä", true),
    ];
    for (pattern, text, expected) in cases {
        assert_eq!(found(pattern, text), expected, "{pattern:?} in {text:?}");
    }
}

#[test]
fn what_python_refuses_is_refused() {
    let wrong = [
        "(",
        ")",
        "a)",
        "[",
        "[]",
        "*",
        "a**",
        "a{2}{3}",
        "^*",
        r"\b+",
        "|*",
        "(?P<1>a)",
        "(?P<a",
        r"\p{L}",
        r"\q",
        "\\",
        r"\1",
        r"(a)\2",
        "(?<n>a)",
        "(?&a)",
        "(?",
        "(?i",
        "a(?i)",
        "(?z)",
        "[z-a]",
        "[a--]",
        r"[\w-a]",
        r"\x4",
        r"\N{DASH}",
        r"\400",
        "(?P>a)",
        "a{3,2}",
        "(?P<a>a)(?P<a>b)",
        "(?(1)a|b)",
        r"(a)\11",
        r"\K",
        r"\G",
        "(?P=a)",
        "(?L)a",
    ];
    for pattern in wrong {
        assert!(Pattern::new(pattern).is_err(), "{pattern:?}");
    }
}

/// Patterns with what Python 3.11's `re.search` said of each text: true, false, or null where it is no pattern. Those of one file
/// are random, those of the other were thought of.
#[test]
fn patterns_find_what_python_finds() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../..",
        "/tests/fixtures/layers"
    );
    let mut wrong = Vec::new();
    for name in ["patterns.jsonl", "patterns_by_hand.jsonl"] {
        let facts = std::fs::read_to_string(format!("{folder}/{name}")).expect("a fixture");
        for line in facts.lines() {
            let (pattern, text, expected): (String, String, Option<bool>) =
                serde_json::from_str(line).expect("a fact");
            let answer = Pattern::new(&pattern).map(|it| it.found_in(&text));
            match (answer, expected) {
                (Ok(Ok(found)), Some(expected)) if found == expected => {}
                (Err(_), None) => {}
                (answer, _) => wrong.push(format!("{line}: {answer:?}")),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_pattern_that_never_ends_is_given_up() {
    let pattern = Pattern::new(r"^(a|aa)+\1$").expect("a pattern");
    let text = format!("{}!", "a".repeat(60));
    assert!(pattern.found_in(&text).is_err());
}
