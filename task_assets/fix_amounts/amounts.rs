//! Amounts are read to the cent, sign included.

use pocketbook::{Amount, Book};

fn cents(text: &str) -> i64 {
    text.parse::<Amount>().expect("an amount").cents()
}

#[test]
fn one_digit_after_the_point_is_tenths() {
    assert_eq!(cents("2.5"), 250);
    assert_eq!(cents("2.05"), 205);
    assert_eq!(cents("-12.5"), -1250);
}

#[test]
fn the_sign_of_an_amount_below_one_is_kept() {
    assert_eq!(cents("-0.50"), -50);
    assert_eq!(cents("-0.05"), -5);
    assert_eq!(cents("+0.05"), 5);
}

#[test]
fn whole_amounts_stay_as_they_are() {
    assert_eq!(cents("12"), 1200);
    assert_eq!(cents("-12"), -1200);
    assert_eq!(cents("-5.00"), -500);
    assert_eq!(cents("0"), 0);
}

#[test]
fn a_sign_belongs_in_front() {
    for text in ["1.-5", "1.+5", "--1", "+-1", "1.", "1.234", "", "-", "one"] {
        let error = text.parse::<Amount>().expect_err(text);
        assert_eq!(error, format!("`{text}` is not an amount"));
    }
}

#[test]
fn a_book_with_small_amounts_adds_up() {
    let book = Book::parse("2026-03-04 coffee 2.5\n2026-03-05 coffee -0.50\n").expect("a book");
    assert_eq!(book.balance("coffee").to_string(), "2.00");
}
