//! Fuzzes the law of `tests/it/laws/config.rs`.
#![no_main]

#[path = "../../tests/it/laws/config.rs"]
mod law;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| law::law(bytes));
