//! The test cases of an XML report as `JUnit` writes it, as far as grading needs them.
//!
//! A scan for three kinds of tags instead of a whole XML reader: what it does not understand it does not count, and a
//! report that lacks a test is no pass.

use super::test_run::{Status, TestRun};

/// Longer names are none.
const LONGEST: usize = 2000;

/// Reads a report.
pub(super) fn read(text: &str) -> TestRun {
    let mut run = TestRun {
        ids_known: true,
        ..TestRun::default()
    };
    let mut open: Option<(String, Status)> = None;
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start..];
        if let Some(after) = skipped(rest) {
            rest = after;
            continue;
        }
        let Some(end) = tag_end(rest) else { break };
        let (tag, after) = (&rest[1..end], &rest[end + 1..]);
        rest = after;
        let closed = tag.ends_with('/');
        let word = tag.trim_end_matches('/').split_whitespace().next();
        match word.unwrap_or_default() {
            "testcase" => {
                let case = (name(tag), status(tag));
                if closed {
                    run.add(case.0, case.1);
                } else {
                    open = Some(case);
                }
            }
            "failure" | "error" => mark(&mut open, Status::Failed),
            "skipped" => mark(&mut open, Status::Skipped),
            "/testcase" => {
                if let Some((name, status)) = open.take() {
                    run.add(name, status);
                }
            }
            "/testsuites" | "/testsuite" => run.complete = true,
            _ => {}
        }
    }
    run
}

fn mark(open: &mut Option<(String, Status)>, status: Status) {
    if let Some((_, known)) = open
        && *known != Status::Failed
    {
        *known = status;
    }
}

/// What follows a comment, a CDATA section or a declaration that starts here.
fn skipped(text: &str) -> Option<&str> {
    let pairs = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];
    let (_, end) = pairs
        .into_iter()
        .find(|(start, _)| text.starts_with(start))?;
    Some(
        text.find(end)
            .map_or("", |place| &text[place + end.len()..]),
    )
}

/// Where the tag ends that starts here; a `>` inside of a value is none.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (place, character) in text.char_indices() {
        match (quote, character) {
            (None, '>') => return Some(place),
            (None, '"' | '\'') => quote = Some(character),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
    }
    None
}

/// `classname::name`, or the name alone.
fn name(tag: &str) -> String {
    let name = attribute(tag, "name").unwrap_or_default();
    match attribute(tag, "classname").filter(|class| !class.is_empty()) {
        Some(class) => format!("{class}::{name}"),
        None => name,
    }
}

/// What a test case says of itself. Some writers say in words alone that one did not run.
fn status(tag: &str) -> Status {
    #[rustfmt::skip]
    const NOT_RUN: [&str; 8] = ["notrun", "not_run", "skipped", "suppressed", "disabled", "ignored", "pending", "todo"];
    let words = ["status", "result"].map(|name| attribute(tag, name));
    let mut words = words.iter().flatten().map(|word| word.to_ascii_lowercase());
    if words.any(|word| NOT_RUN.contains(&word.as_str())) {
        Status::Skipped
    } else {
        Status::Passed
    }
}

fn attribute(tag: &str, wanted: &str) -> Option<String> {
    let mut rest = tag;
    while let Some(place) = rest.find(wanted) {
        let before = rest[..place].chars().next_back();
        let after = rest[place + wanted.len()..].trim_start();
        rest = &rest[place + wanted.len()..];
        if !before.is_some_and(char::is_whitespace) {
            continue;
        }
        let value = after.strip_prefix('=').map(str::trim_start)?;
        let quote = value
            .chars()
            .next()
            .filter(|quote| "\"'".contains(*quote))?;
        let value = value[1..].split(quote).next()?;
        return (value.len() <= LONGEST).then(|| unescaped(value));
    }
    None
}

fn unescaped(text: &str) -> String {
    let pairs = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    pairs
        .into_iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cases_are_read_with_what_became_of_them() {
        let run = read(
            "<?xml version=\"1.0\"?><testsuites><!-- <testcase name=\"no\"/> --><testsuite tests=\"4\">\
             <testcase classname=\"a.b\" name=\"one\" time=\"0\"/>\
             <testcase classname='a.b' name='two &gt; 1'><failure message=\"x > y\">t</failure></testcase>\
             <testcase name=\"three\"><skipped/></testcase>\
             <testcase name=\"four\"><system-out><![CDATA[<failure>]]></system-out></testcase>\
             </testsuite></testsuites>",
        );
        let ids: Vec<_> = run
            .ids
            .iter()
            .map(|(id, status)| (id.as_str(), *status))
            .collect();
        assert_eq!(
            ids,
            [
                ("a.b::one", Status::Passed),
                ("a.b::two > 1", Status::Failed),
                ("four", Status::Passed),
                ("three", Status::Skipped)
            ]
        );
        assert!(run.complete);
        assert_eq!(run.ran, 3);
    }

    proptest! {
        #[test]
        fn no_report_panics(text in "[<>/!\\-a-z \"'=\\[\\]C]{0,80}") {
            read(&text);
        }
    }
}
