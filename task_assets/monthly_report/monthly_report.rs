//! The report by month, to the character.

use pocketbook::Book;

fn report(text: &str) -> String {
    Book::parse(text)
        .expect("a well-formed book")
        .monthly_report()
}

#[test]
fn each_month_is_a_block_with_sorted_accounts_and_a_total() {
    let text = "\
2026-03-01 groceries 42.10 weekly shop
2026-03-02 rent 650
2026-03-04 groceries 7.95
2026-03-09 refunds -5.00
2026-04-02 rent 650
";
    let expected = "\
2026-03
  groceries      50.05
  refunds        -5.00
  rent          650.00
  total         695.05

2026-04
  rent          650.00
  total         650.00
";
    assert_eq!(report(text), expected);
}

#[test]
fn months_are_sorted_even_if_the_lines_are_not() {
    let text = "\
2026-11-01 rent 650
2025-12-31 fees 3.00
2026-02-01 rent 640
2026-11-30 rent 10
";
    let expected = "\
2025-12
  fees            3.00
  total           3.00

2026-02
  rent          640.00
  total         640.00

2026-11
  rent          660.00
  total         660.00
";
    assert_eq!(report(text), expected);
}

#[test]
fn long_names_and_large_sums_are_not_cut() {
    let expected = "\
2026-01
  subscriptions     12.00
  yacht      1250000.00
  total      1250012.00
";
    let text = "2026-01-05 yacht 1250000\n2026-01-06 subscriptions 12\n";
    assert_eq!(report(text), expected);
}

#[test]
fn an_empty_book_gives_an_empty_report() {
    assert_eq!(report("# nothing yet\n"), "");
}
