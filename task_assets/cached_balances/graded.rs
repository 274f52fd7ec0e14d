//! What graders run, in one process: the tests that agents can read, and hidden ones about the same facts with other values.
//! `twin` in tasks.yaml says how each hidden test is made wrong.

use pocketbook::{Amount, Book, Entry};

#[path = "book.rs"]
mod book;
#[path = "cached_balances.rs"]
mod cached_balances;

fn entry(text: &str) -> Entry {
    text.parse().expect("a well-formed entry")
}

/// 300 entries of 0.70 each, in six accounts.
fn large() -> Book {
    let mut book = Book::new();
    for index in 0..300 {
        book.push(entry(&format!("2026-04-02 shop{} 0.70", index % 6)));
    }
    book
}

#[test]
fn balances_without_a_visit() {
    let book = large();
    assert_eq!(book.balance("shop5"), Amount::from_cents(3_500));
    assert_eq!(book.entries_visited(), 0);
}

#[test]
fn totals_without_a_visit() {
    let book = large();
    assert_eq!(book.total(), Amount::from_cents(21_000));
    assert_eq!(book.entries_visited(), 0);
}

#[test]
fn an_unknown_account() {
    assert_eq!(large().balance("shop6"), Amount::ZERO);
}

#[test]
fn names_are_still_looked_up() {
    let book = large();
    assert_eq!(book.accounts().len(), 6);
    assert_eq!(book.entries_visited(), 300);
}

#[test]
fn a_push_changes_the_balance() {
    let mut book = large();
    book.push(entry("2026-04-03 shop2 -1.30"));
    assert_eq!(book.balance("shop2"), Amount::from_cents(3_370));
}

#[test]
fn a_push_changes_the_total() {
    let mut book = large();
    book.push(entry("2026-04-03 market 12.05"));
    assert_eq!(book.total(), Amount::from_cents(22_205));
}

#[test]
fn a_parsed_book_keeps_its_sums() {
    let book = Book::parse("2026-04-01 tea 3\n2026-04-02 tea 4.25\n").expect("a book");
    assert_eq!(book.balance("tea"), Amount::from_cents(725));
}

#[test]
fn clones_are_independent() {
    let mut first = large();
    let second = first.clone();
    first.push(entry("2026-04-04 shop0 9.99"));
    assert_eq!(first.balance("shop0"), Amount::from_cents(4_499));
    assert_eq!(second.balance("shop0"), Amount::from_cents(3_500));
}
