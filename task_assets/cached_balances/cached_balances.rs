//! Balances are kept, not counted anew.

use pocketbook::{Amount, Book, Entry};

fn entry(text: &str) -> Entry {
    text.parse().expect("a well-formed entry")
}

fn book(entries: usize) -> Book {
    let mut book = Book::new();
    for index in 0..entries {
        book.push(entry(&format!("2026-03-01 account{} 1.25", index % 10)));
    }
    book
}

#[test]
fn a_balance_visits_no_entry() {
    let book = book(1000);
    for _ in 0..100 {
        assert_eq!(book.balance("account3"), Amount::from_cents(12_500));
    }
    assert_eq!(book.entries_visited(), 0);
}

#[test]
fn a_total_visits_no_entry() {
    let book = book(1000);
    assert_eq!(book.total(), Amount::from_cents(125_000));
    assert_eq!(book.entries_visited(), 0);
}

#[test]
fn a_new_entry_is_in_the_next_answer() {
    let mut book = book(10);
    assert_eq!(book.balance("account0"), Amount::from_cents(125));
    book.push(entry("2026-03-02 account0 -0.25"));
    book.push(entry("2026-03-02 late 7.00"));
    assert_eq!(book.balance("late"), Amount::from_cents(700));
    assert_eq!(book.balance("never"), Amount::ZERO);
    assert_eq!(
        book.total(),
        book.entries().iter().map(|entry| entry.amount).sum()
    );
}

#[test]
fn a_clone_goes_its_own_way() {
    let first = book(10);
    let mut second = first.clone();
    second.push(entry("2026-03-02 account1 2.00"));
    assert_eq!(first.balance("account1"), Amount::from_cents(125));
    assert_eq!(second.balance("account1"), Amount::from_cents(325));
}
