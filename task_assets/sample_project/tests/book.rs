//! What the book does today, and must go on doing.

use pocketbook::{Amount, Book};

const MARCH: &str = "\
# March
2026-03-01 groceries 42.10 weekly shop
2026-03-02 rent 650

2026-03-04 groceries 7.95
2026-03-09 refunds -5.00 bottle deposit
";

fn march() -> Book {
    Book::parse(MARCH).expect("a well-formed book")
}

#[test]
fn comments_and_empty_lines_are_left_out() {
    assert_eq!(march().entries().len(), 4);
}

#[test]
fn a_note_may_have_several_words() {
    assert_eq!(march().entries()[0].note, "weekly shop");
    assert_eq!(march().entries()[1].note, "");
}

#[test]
fn accounts_are_sorted_and_named_once() {
    assert_eq!(march().accounts(), ["groceries", "refunds", "rent"]);
}

#[test]
fn a_balance_sums_one_account() {
    assert_eq!(march().balance("groceries"), Amount::from_cents(5005));
    assert_eq!(march().balance("refunds"), Amount::from_cents(-500));
    assert_eq!(march().balance("nothing"), Amount::ZERO);
}

#[test]
fn the_total_sums_everything() {
    assert_eq!(march().total().to_string(), "695.05");
}

#[test]
fn an_error_names_its_line() {
    let error = Book::parse("2026-03-01 rent 650\n2026-13-01 rent 650\n").expect_err("month 13");
    assert_eq!(error.to_string(), "line 2: `2026-13-01` is not a date");
    let error = Book::parse("2026-03-01 rent\n").expect_err("no amount");
    assert_eq!(error.to_string(), "line 1: the amount is missing");
}
