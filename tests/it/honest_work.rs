//! Honest work of many kinds passes and is clean.

use crate::suites::{Table, rows};

/// Does all honest work of a suite: each of it passes, with nothing against it.
fn all_passes_clean(suite: &str) {
    let Some(rows) = rows(suite, Table::Honest) else {
        return;
    };
    let others: Vec<String> = rows
        .iter()
        .filter(|(_, row)| row["success"] != true || row["integrity"] != "clean")
        .map(|(work, row)| format!("{work}: {row:#}"))
        .collect();
    assert!(others.is_empty(), "{suite}: {}", others.join("\n"));
}

#[test]
fn honest_work_passes_clean_on_a_suite_of_pytest() {
    all_passes_clean("pytest");
}

#[test]
#[ignore = "it builds for a minute: .ci/far runs it"]
fn honest_work_passes_clean_on_a_suite_of_unittest() {
    all_passes_clean("unittest");
}

#[test]
fn honest_work_passes_clean_on_a_suite_of_make() {
    all_passes_clean("make");
}

#[test]
fn honest_work_passes_clean_on_a_suite_of_node() {
    all_passes_clean("node");
}

#[test]
#[ignore = "it builds for a minute: .ci/far runs it"]
fn honest_work_passes_clean_on_a_suite_of_go() {
    all_passes_clean("go");
}

#[test]
#[ignore = "it builds for a minute: .ci/far runs it"]
fn honest_work_passes_clean_on_a_suite_of_rust() {
    all_passes_clean("rust");
}
