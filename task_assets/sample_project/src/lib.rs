//! A plain-text account book: one line is one entry, amounts are exact to the cent.

mod amount;
mod book;
mod date;
mod entry;

pub use amount::Amount;
pub use book::Book;
pub use date::Date;
pub use entry::{Entry, ParseError};
