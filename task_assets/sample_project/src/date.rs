//! Calendar dates, as far as an account book needs them.

use std::fmt;
use std::str::FromStr;

/// A day, written `YYYY-MM-DD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date {
    /// The year.
    pub year: u16,
    /// The month, from 1.
    pub month: u8,
    /// The day of the month, from 1.
    pub day: u8,
}

impl FromStr for Date {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is not a date");
        let mut parts = text.splitn(3, '-');
        let mut next = |length: usize| {
            parts
                .next()
                .filter(|part| part.len() == length)
                .and_then(|part| part.parse::<u16>().ok())
                .ok_or_else(wrong)
        };
        let (year, month, day) = (next(4)?, next(2)?, next(2)?);
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(wrong());
        }
        Ok(Self {
            year,
            month: month as u8,
            day: day as u8,
        })
    }
}

impl fmt::Display for Date {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{:04}-{:02}-{:02}",
            self.year, self.month, self.day
        )
    }
}
