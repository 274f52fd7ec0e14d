//! What graders run, in one process: the tests that agents can read, and hidden ones about the same facts with other values.
//! `twin` in tasks.yaml says how each hidden test is made wrong.

use pocketbook::{Amount, Book};

#[path = "amounts.rs"]
mod amounts;
#[path = "book.rs"]
mod book;

fn cents(text: &str) -> i64 {
    text.parse::<Amount>().expect("an amount").cents()
}

#[test]
fn tenths() {
    assert_eq!(cents("7.3"), 730);
}

#[test]
fn tenths_of_a_refund() {
    assert_eq!(cents("-8.4"), -840);
}

#[test]
fn hundredths() {
    assert_eq!(cents("9.07"), 907);
}

#[test]
fn a_refund_below_one() {
    assert_eq!(cents("-0.75"), -75);
}

#[test]
fn an_explicit_plus() {
    assert_eq!(cents("+0.6"), 60);
}

#[test]
fn whole_amounts() {
    assert_eq!(cents("-31"), -3100);
}

#[test]
fn misplaced_signs() {
    for text in ["3.-2", "3.+2", "-+4", "-.", "5.", "0.125", "7.x"] {
        let error = text.parse::<Amount>().expect_err(text);
        assert_eq!(error, format!("`{text}` is not an amount"));
    }
}

#[test]
fn a_book_with_small_refunds() {
    let text = "2026-05-01 tea 4.2\n2026-05-02 tea -0.35\n2026-05-03 tea -0.1\n";
    let book = Book::parse(text).expect("a book");
    assert_eq!(book.balance("tea").to_string(), "3.75");
}
