//! Fuzzes the law of `tests/it/laws/journal.rs`.
#![no_main]

#[path = "../../tests/it/laws/journal.rs"]
mod law;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| law::law(bytes));
