//! Cases of one pass over a line.

use proptest::prelude::*;

use super::*;
use crate::wire::border;
use proctor_model::Spelled;

fn skipped(text: &str) -> bool {
    Scan::of(text).passes()
}

#[test]
fn what_is_skipped_is_json_and_what_is_not_is_odd() {
    for json in [
        r#"{"a":[1,-0.5e+3,0,true,false,null,"x\"\\\/\b\f\n\r\t\u00e9"],"b":{}}"#,
        "[]",
        "\"\"",
        "-1",
        "0",
        "1E5",
        "[[],{}]",
    ] {
        assert!(skipped(json), "{json}");
    }
    for odd in [
        "",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\"}",
        "01",
        "1.",
        ".5",
        "-",
        "1e",
        "tru",
        "\"x",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "{\"a\":1}x",
        "[1 ]",
        "\"a\tb\"",
        "nul",
        "{1:2}",
        "+1",
        "{\"\\u0061\":1}",
        "1e400",
        "[-1.5E+999]",
    ] {
        assert!(!skipped(odd), "{odd}");
    }
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(skipped(&deep(64)) && !skipped(&deep(65)) && !skipped(&deep(100_000)));
}

#[test]
fn numbers_that_are_no_counts_are_odd() {
    let count = |text| {
        let mut scan = Scan::of(text);
        let count = scan.count();
        scan.end().and(count)
    };
    assert_eq!(count("18446744073709551615"), Some(u64::MAX));
    for odd in ["18446744073709551616", "-1", "-0", "1.0", "1e2", "x", ""] {
        assert_eq!(count(odd), None, "{odd}");
    }
    assert_eq!(Scan::of("-7").whole(), Some(-7));
    assert_eq!(Scan::of("2147483648").whole(), None);
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
        "[-0-9.eE]{1,6}",
        "[1-9]{0,310}e?[0-9]{1,3}",
        Just("null".to_owned()),
        Just("\"\\u00e9\\ud83d\\ude00\"".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4)
                .prop_map(|list| format!("[{}]", list.join(","))),
            prop::collection::vec(("[a-c]{0,2}", inner), 0..4).prop_map(|members| {
                let members = members
                    .iter()
                    .map(|(key, value)| format!("\"{key}\":{value}"));
                format!("{{{}}}", members.collect::<Vec<_>>().join(","))
            }),
        ]
    })
}

#[test]
fn only_what_serde_writes_is_taken_as_it_is_spelled() {
    let spelled = |json: &'static str| {
        let raw = Scan::of(json).string().unwrap();
        raw.spelled(100).map(Spelled::inside)
    };
    for usual in ["\"\"", "\"é\"", r#""a\"\\\n\r\t\b\f\u0000\u001b""#] {
        assert_eq!(spelled(usual), Some(&usual[1..usual.len() - 1]), "{usual}");
    }
    for odd in [
        r#""\/""#,
        r#""\u0041""#,
        r#""\u001B""#,
        r#""\u000a""#,
        r#""\n\u00e9""#,
        r#""\/\n""#,
    ] {
        assert_eq!(spelled(odd), None, "{odd}");
    }
    assert_eq!(Scan::of("\"abc\"").string().unwrap().spelled(2), None);
}

proptest! {
    #[test]
    fn a_text_of_many_escapes_is_what_serde_reads(pieces in prop::collection::vec(prop::sample::select(vec!["\n", "\n", "\n", "a", "n", "\\", "\"", "\u{1b}", "é", "line"]), 0..300), limit in 0_usize..400) {
        let text = pieces.concat();
        let json = serde_json::Value::from(text.clone()).to_string();
        let mut scan = Scan::of(&json);
        let raw = scan.string().unwrap();
        prop_assert_eq!(scan.end(), Some(()));
        let cut = raw.spelled_cut(limit).unwrap();
        prop_assert_eq!(cut.text(), &text[..border(&text, limit)]);
        prop_assert_eq!(length_of(cut), cut.text().len());
        prop_assert_eq!(length_of(raw.spelled(json.len()).unwrap()), text.len());
    }

    #[test]
    fn nothing_passes_that_serde_refuses(mut text in json(), place in any::<prop::sample::Index>(), odd in any::<Option<char>>()) {
        if let Some(odd) = odd {
            let place = border(&text, place.index(text.len() + 1));
            text.insert(place, odd);
        }
        if skipped(&text) {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_text_is_what_serde_reads(text in any::<String>(), times in 1_usize..40, limit in 0_usize..200) {
        let text = text.repeat(times);
        let json = serde_json::Value::from(text.clone()).to_string();
        let mut scan = Scan::of(&json);
        let raw = scan.string().unwrap();
        prop_assert_eq!(scan.end(), Some(()));
        prop_assert_eq!(raw.text(usize::MAX), text.clone());
        prop_assert_eq!(&raw.text(limit), &text[..border(&text, limit)]);
        let spelled = raw.spelled_cut(limit).unwrap().text();
        prop_assert_eq!(&spelled, &text[..border(&text, limit)]);
        prop_assert_eq!(raw.spelled(json.len()).unwrap().text(), text);
    }
}
