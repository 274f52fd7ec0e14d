//! Known secrets are found in the forms in which they are commonly written down.

use proptest::prelude::*;

use super::*;
use crate::redact_forms::hex;

const SECRET: &str = "sk-tést/\"q\" \\+k3y&";

fn redactor() -> Redactor {
    Redactor::from_variables([("ANTHROPIC_API_KEY", SECRET), ("HOME", "/home/someone")])
}

fn found_in_all(forms: &[String]) {
    for form in forms {
        let text = redactor().redact(form).into_owned();
        assert!(
            text.contains("[redacted:ANTHROPIC_API_KEY]"),
            "{form} -> {text}"
        );
    }
}

/// A plain encoder to test against: whole groups, padded.
fn encode_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let mut value = 0_u32;
        for place in 0..3 {
            value = value << 8 | u32::from(group.get(place).copied().unwrap_or(0));
        }
        for place in 0..4 {
            let index = (value >> (18 - 6 * place)) & 63;
            let character = char::from(ALPHABET[index as usize]);
            text.push(if place > group.len() { '=' } else { character });
        }
    }
    text
}

#[test]
fn names_tell_secrets_from_settings() {
    let secret = [
        "ANTHROPIC_API_KEY",
        "OPENAI_APIKEY",
        "GITHUB_TOKEN",
        "MYTOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "PGPASSWORD",
        "CLAUDE_AUTH",
        "GOOGLE_CREDENTIALS",
        "GITHUB_PAT",
        "api-key",
        "DB_PASS",
        "GPG_PASSPHRASE",
        "DATABASE_URL",
        "SENTRY_DSN",
        "SLACK_WEBHOOK_URL",
        "STRIPE_SK",
        "CLAUDE_CODE_OAUTH_TOKEN",
    ];
    for name in secret {
        assert!(looks_secret(name), "{name}");
    }
    let plain = [
        "PATH",
        "HOME",
        "PWD",
        "GIT_AUTHOR_NAME",
        "SSH_AUTH_SOCK",
        "MAX_THINKING_TOKENS",
        "TOKENIZERS_PARALLELISM",
        "LANG",
        "BYPASS",
        "PROJECT_URL",
        "EVAL_RUN_ID",
    ];
    for name in plain {
        assert!(!looks_secret(name), "{name}");
    }
}

#[test]
fn every_common_form_is_found() {
    let once = serde_json::to_string(SECRET).unwrap();
    let twice = serde_json::to_string(&once).unwrap();
    let forms = [
        format!("key={SECRET}."),
        format!("{{\"key\":{once}}}"),
        format!("{{\"nested\":{twice}}}"),
        format!("python says \"{}\"", json_text::escaped_ascii(SECRET)),
        "https://x/?k=sk-t%C3%A9st%2F%22q%22%20%5C%2Bk3y%26&b=1".to_owned(),
        "k=sk-t%C3%A9st%2F%22q%22+%5C%2Bk3y%26".to_owned(),
        "k=sk-t%c3%a9st%2f%22q%22%20%5c%2bk3y%26".to_owned(),
        hex(SECRET, true),
        hex(SECRET, false),
    ];
    found_in_all(&forms);
}

#[test]
fn forms_that_leave_or_escape_a_slash_are_found() {
    let thrice = (0..3).fold(SECRET.to_owned(), |text, _| {
        serde_json::to_string(&text).unwrap()
    });
    let units = SECRET.encode_utf16().map(|unit| format!("\\u{unit:04x}"));
    let escaped: String = units.collect();
    let forms = [
        "k=sk-t%C3%A9st/%22q%22%20%5C%2Bk3y%26&b=1".to_owned(),
        "k=sk-t%C3%A9st/%22q%22+%5C%2Bk3y%26".to_owned(),
        "k=sk-t%c3%a9st/%22q%22%20%5c%2bk3y%26".to_owned(),
        SECRET.replace('/', "\\/"),
        serde_json::to_string(&SECRET.replace('/', "\\/")).unwrap(),
        thrice,
        serde_json::to_string(&escaped).unwrap(),
        escaped,
    ];
    found_in_all(&forms);
}

/// Each character of `which`, or all of them, spelled by `with`.
fn spelled(text: &str, which: &str, with: impl Fn(u32) -> String) -> String {
    let spell = |one: char| match which {
        "" => with(u32::from(one)),
        which if which.contains(one) => with(u32::from(one)),
        _ => one.to_string(),
    };
    text.chars().map(spell).collect()
}

#[test]
fn what_other_writers_of_json_addresses_and_pages_make_of_a_secret_is_found() {
    let secret = "sk-Ab9+cd/ef+Gh=ij&kl<mn>op'qr!s(t)*u";
    let redactor = Redactor::from_variables([("API_KEY", secret)]);
    let unicode = |code| format!("\\u{code:04x}");
    let capital = |code| format!("\\u{code:04X}");
    let percent = |code| format!("%{code:02X}");
    let decimal = |code| format!("&#{code};");
    let page = secret.replace('&', "&amp;").replace('<', "&lt;");
    let page = page.replace('>', "&gt;").replace('\'', "&#39;");
    let go = spelled(secret, "&<>", unicode);
    let php = spelled(secret, "&<>'", capital).replace('/', "\\/");
    for text in [
        secret.to_owned(),
        serde_json::to_string(&go).unwrap(),
        spelled(secret, "+&<>'", capital),
        spelled(secret, "+", unicode),
        spelled(secret, "", capital),
        spelled(secret, "", unicode),
        spelled(secret, "sA&", capital),
        serde_json::to_string(&spelled(secret, "", capital)).unwrap(),
        spelled(secret, "+/=&<>", percent),
        spelled(secret, "+/=&<>'!()*", percent),
        spelled(secret, "+/=&<>", percent).replace('%', "%25"),
        spelled(secret, "", percent),
        serde_json::to_string(&page).unwrap(),
        page.replace('&', "\\u0026"),
        page.replace("&#39;", "&#x27;"),
        page.replace("&#39;", "&#039;"),
        page.replace('&', "&amp;"),
        page,
        spelled(secret, "", decimal),
        spelled(secret, "", |code| format!("&#x{code:x};")),
        spelled(secret, "", |code| format!("&#x{code:X};")),
        spelled(secret, "", |code| format!("\\x{code:02x}")),
        spelled(secret, "", |code| format!("\\{code:03o}")),
        spelled(secret, "=", |code| format!("={code:02X}")),
        secret.replace('\'', "'\\''"),
        go,
        php,
    ] {
        let around = format!("k={text}\n");
        let redacted = redactor.redact(&around).into_owned();
        assert_eq!(
            redacted.replace('"', ""),
            "k=[redacted:API_KEY]\n",
            "{text}"
        );
        assert_eq!(
            redactor.redact_bytes(around.as_bytes()),
            redacted.as_bytes()
        );
    }
    let hex = hex(secret, false);
    let pairs: Vec<&str> = (0..hex.len())
        .step_by(2)
        .map(|at| &hex[at..at + 2])
        .collect();
    for between in [" ", ":"] {
        let hex = pairs.join(between);
        assert_eq!(redactor.redact(&hex), "[redacted:API_KEY]");
        assert_eq!(redactor.redact(&hex.to_uppercase()), "[redacted:API_KEY]");
    }
    // Nearly the same, and not the same.
    for text in [
        "sk-Ab9+cd/ef+Gh=ij&kl<mn>op'qr!s(t)*",
        "\\u0073\\u006b",
        "%73%6b",
    ] {
        assert_eq!(redactor.redact(text), text);
    }
}

#[test]
fn two_secrets_with_the_same_letters_are_told_apart() {
    let redactor = Redactor::from_variables([
        ("A_KEY", "abcdefgh+1"),
        ("B_KEY", "abcdefghij+2"),
        ("C_KEY", "/abcdefgh/3"),
        ("D_KEY", "abcdefgh+1+and+more"),
    ]);
    let text =
        "abcdefgh\\u002b1 abcdefghij%2B2 \\/abcdefgh\\/3 abcdefgh+1+and+mor abcdefgh+1+and+more";
    assert_eq!(
        redactor.redact(text),
        "[redacted:A_KEY] [redacted:B_KEY] [redacted:C_KEY] [redacted:A_KEY]+and+mor [redacted:D_KEY]"
    );
}

#[test]
fn each_longer_line_of_a_secret_is_one_and_the_frame_of_a_key_is_none() {
    let lines = [
        "-----BEGIN PRIVATE KEY-----",
        "MIIEvQIBADANBgkqhkiG9w0B/QEFAASC",
        "MzEfYyjiWA4R4+M2bS1GB4t7NXp98C3S",
        "short==",
        "-----END PRIVATE KEY-----",
    ];
    for value in [lines.join("\n"), lines.join("\r\n"), lines.join("\\n")] {
        let redactor = Redactor::from_variables([("SIGNING_KEY", value.as_str())]);
        for line in &lines[1..3] {
            let text = redactor.redact(&format!("+  {line}\n")).into_owned();
            assert_eq!(text, "+  [redacted:SIGNING_KEY]\n");
        }
        for line in [lines[0], lines[3], lines[4]] {
            assert_eq!(redactor.redact(line), line);
        }
        assert_eq!(redactor.redact(&value), "[redacted:SIGNING_KEY]");
    }
}

#[test]
fn base64_of_base64_is_found_at_every_offset_of_both() {
    for before in 0..3 {
        for outer in 0..3 {
            let inside = format!("{}{SECRET}\"}}", &"{\"k\":\""[..before + 3]);
            let once = encode_base64(inside.as_bytes());
            for once in [once.replace('+', "-").replace('/', "_"), once] {
                let twice = encode_base64(format!("{}{once}\n", &"k: "[..outer]).as_bytes());
                for text in [twice.replace('+', "-").replace('/', "_"), twice] {
                    let redacted = redactor().redact(&text).into_owned();
                    assert!(
                        redacted.contains("[redacted:ANTHROPIC_API_KEY]"),
                        "{text} -> {redacted}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_header_and_json_inside_of_base64_hide_no_secret() {
    for text in [
        "Bearer @",
        "{\"api_key\":\"@\"}",
        "user:@",
        "Authorization: Bearer @\r\n",
    ] {
        let plain = "sk-live-0123456789abcdef";
        let redactor = Redactor::from_variables([("API_KEY", plain)]);
        let text = encode_base64(text.replace('@', plain).as_bytes());
        let redacted = redactor.redact(&text).into_owned();
        assert!(
            redacted.contains("[redacted:API_KEY]"),
            "{text} -> {redacted}"
        );
    }
}

#[test]
fn base64_in_lines_and_percent_signs_throughout_are_found() {
    let secret: String = ('!'..='~').collect();
    let redactor = Redactor::from_variables([("API_KEY", secret.as_str())]);
    let base64 = encode_base64(secret.as_bytes());
    for width in [64, 76] {
        let lines: Vec<&str> = [&base64[..width], &base64[width..]].into();
        for end in ["\n", "\\n", "\\\\n"] {
            let redacted = redactor.redact(&lines.join(end)).into_owned();
            assert!(
                redacted.starts_with("[redacted:API_KEY]"),
                "{width}: {redacted}"
            );
        }
    }
    for case in [true, false] {
        let bytes = hex(&secret, case);
        let pairs: Vec<&str> = (0..bytes.len())
            .step_by(2)
            .map(|at| &bytes[at..at + 2])
            .collect();
        let text = format!("?k=%{}&", pairs.join("%"));
        assert_eq!(redactor.redact(&text), "?k=[redacted:API_KEY]&");
    }
}

#[test]
fn many_secrets_are_found_one_and_all() {
    let all: Vec<(String, String)> = (0..40)
        .map(|number| {
            (
                format!("KEY_{number}"),
                format!("s3cret-{number:03}-{}", number * 7919),
            )
        })
        .collect();
    let redactor = Redactor::from_variables(
        all.iter()
            .map(|(name, value)| (name.as_str(), value.as_str())),
    );
    for (name, value) in &all {
        let text = format!("a {value} b {} c", hex(value, false));
        let expected = format!("a [redacted:{name}] b [redacted:{name}] c");
        assert_eq!(redactor.redact(&text), expected);
        assert!(redactor.finds(&text));
    }
    assert_eq!(redactor.redact("s3cret-040-x"), "s3cret-040-x");
}

#[test]
fn base64_is_found_at_every_offset() {
    for before in 0..7 {
        let bytes: Vec<u8> = [
            b"xyzuvwu"[..before].to_vec(),
            SECRET.as_bytes().to_vec(),
            b"tail".to_vec(),
        ]
        .concat();
        let text = encode_base64(&bytes);
        let redacted = redactor().redact(&text).into_owned();
        assert!(
            redacted.contains("[redacted:"),
            "{before}: {text} -> {redacted}"
        );
    }
}

#[test]
fn short_values_and_harmless_names_stay() {
    let redactor = Redactor::from_variables([("API_KEY", "short"), ("EDITOR", "some-long-editor")]);
    let text = "short some-long-editor";
    assert!(matches!(redactor.redact(text), Cow::Borrowed(_)));
}

#[test]
fn keys_numbers_and_structure_of_json_stay() {
    let mut redactor = Redactor::default();
    for (name, value) in [
        ("A_KEY", "exit_code"),
        ("B_KEY", "12345678"),
        ("C_KEY", "\",\"source\":\""),
    ] {
        redactor.add(name, value);
    }
    let line = r#"{"exit_code":123456789,"text":"exit_code 12345678","source":"x","source":"y"}"#;
    assert_eq!(
        redactor.redact_json(line),
        r#"{"exit_code":123456789,"text":"[redacted:A_KEY] [redacted:B_KEY]","source":"x","source":"y"}"#
    );
}

#[test]
fn a_secret_across_two_reads_of_a_file_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stdout.raw");
    let long = "s3cret-".repeat(20);
    let mut redactor = Redactor::default();
    redactor.add("LONG_KEY", &long);
    for before in [0, 1, 262_143, 262_100, 262_144, 524_200] {
        let content = [&vec![b'a'; before], long.as_bytes(), &[0xff, b'b']].concat();
        fs::write(&path, content).unwrap();
        assert_eq!(redactor.redact_file(&path).unwrap(), 1, "{before}");
        let expected = [
            &vec![b'a'; before],
            &b"[redacted:LONG_KEY]"[..],
            &[0xff, b'b'],
        ]
        .concat();
        assert!(fs::read(&path).unwrap() == expected, "{before}");
    }
    assert_eq!(redactor.redact_file(&path).unwrap(), 0);
    assert_eq!(
        redactor
            .redact_file(&folder.path().join("missing"))
            .unwrap(),
        0
    );
}

#[test]
fn a_sieve_holds_back_no_more_than_the_beginning_of_a_secret() {
    let mut redactor = Redactor::default();
    redactor.add("A_KEY", "abcdabcdx");
    let mut sieve = redactor.sieve();
    let mut pass = |bytes: &[u8]| {
        let mut kept = Vec::new();
        sieve.pass(bytes, |piece| kept.extend_from_slice(piece));
        String::from_utf8(kept).unwrap()
    };
    assert_eq!(pass(b"a line\n"), "a line\n");
    assert_eq!(pass(b"more abcdabc"), "more ");
    assert_eq!(pass(b"dabc"), "abcd");
    assert_eq!(pass(b"dx and ab"), "[redacted:A_KEY] and ");
    assert_eq!(pass(b"c and what follows it"), "abc and what follows it");
    assert_eq!(pass(b"abcdabc"), "");
    assert_eq!(
        pass(b"dx and what follows it, abcd"),
        "[redacted:A_KEY] and what follows it, "
    );
    assert_eq!(sieve.rest(), b"abcd");
    assert_eq!(sieve.rest(), b"");
    // Without secrets nothing is looked at or copied.
    let (mut open, given) = (Redactor::default().sieve(), b"abcdabcd");
    open.pass(given, |piece| assert_eq!(piece.as_ptr(), given.as_ptr()));
}

#[test]
fn a_redactor_does_not_show_its_secrets() {
    let shown = format!("{:?}", redactor());
    assert!(!shown.contains("sk-t"), "{shown}");
}

#[test]
fn a_placeholder_of_one_letter_is_no_anchor_and_is_removed_all_the_same() {
    use crate::redact_spelled::Spelled;
    let placeholder = "x".repeat(24);
    assert!(Spelled::new().add(&placeholder).is_none());
    assert!(Spelled::new().add("sk-a1b2c3").is_some());
    let mut redactor = Redactor::default();
    redactor.add("A_KEY", &placeholder);
    let flood = "x".repeat(24 * 1000);
    let told = redactor.redact(&flood);
    assert!(!told.contains("xxx"), "{}", told.len());
}

/// A text that comes to a sieve in pieces so long, again and again.
fn sieved(redactor: &Redactor, text: &str, cuts: &[usize]) -> String {
    let mut sieve = redactor.sieve();
    let (mut rest, mut out) = (text.as_bytes(), Vec::new());
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, more) = rest.split_at((*cut).min(rest.len()));
        sieve.pass(piece, |kept| out.extend_from_slice(kept));
        rest = more;
    }
    out.extend_from_slice(&sieve.rest());
    String::from_utf8(out).unwrap()
}

proptest! {
    #[test]
    fn redacted_json_is_json_and_holds_no_secret(
        secret in "[a-zA-Z0-9/+\"\\\\ é\n]{8,20}",
        before in ".{0,20}",
        after in ".{0,20}",
    ) {
        let mut redactor = Redactor::default();
        redactor.add("X_KEY", &secret);
        let line = serde_json::json!({"a": [format!("{before}{secret}{after}")], "n": 12.5}).to_string();
        let redacted = redactor.redact_json(&line).into_owned();
        let value: serde_json::Value = serde_json::from_str(&redacted).unwrap();
        let text = value["a"][0].as_str().unwrap();
        prop_assert!(!text.contains(&secret), "{text}");
        prop_assert_eq!(&value["n"], &serde_json::json!(12.5));
    }

    #[test]
    fn a_sieve_gives_the_same_of_spelled_secrets_however_they_come(
        secrets in prop::collection::vec("[/&é]{0,3}[ab]{3,5}[/&'\\\\é]{3,5}", 1..3),
        parts in prop::collection::vec((any::<bool>(), 0_usize..8), 0..20),
        between in "[ab\\\\&]{0,9}",
        cuts in prop::collection::vec(1_usize..30, 1..60),
    ) {
        let mut redactor = Redactor::default();
        for (index, secret) in secrets.iter().enumerate() {
            redactor.add(&format!("K{index}_KEY"), secret);
        }
        let mut text = String::new();
        for (first, way) in parts {
            let secret = &secrets[if first { 0 } else { secrets.len() - 1 }];
            text += &match way {
                0 => secret.clone(),
                1 => json_text::escaped(secret),
                2 => spelled(secret, "&'é", |code| format!("\\u{code:04X}")),
                3 => spelled(secret, "/&", |code| format!("%{code:02x}")),
                4 => spelled(secret, "&'", |code| format!("&#{code};")),
                5 => json_text::escaped(&json_text::escaped(secret)),
                6 => between.clone(),
                _ => secret.chars().take(secret.chars().count() / 2).collect(),
            };
        }
        prop_assert_eq!(sieved(&redactor, &text, &cuts), redactor.redact(&text));
    }

    #[test]
    fn a_sieve_gives_the_same_however_the_bytes_come(
        secrets in prop::collection::vec("[ab]{8,11}", 1..4),
        text in "[abc]{0,200}",
        cuts in prop::collection::vec(1_usize..30, 1..60),
    ) {
        let mut redactor = Redactor::default();
        for (index, secret) in secrets.iter().enumerate() {
            redactor.add(&format!("K{index}_KEY"), secret);
        }
        prop_assert_eq!(sieved(&redactor, &text, &cuts), redactor.redact(&text));
    }
}
