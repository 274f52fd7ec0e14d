//! Money, counted in cents.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, Neg, Sub};
use std::str::FromStr;

/// An amount of money in cents; negative amounts are money that comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Amount(i64);

impl Amount {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount of that many cents.
    pub const fn from_cents(cents: i64) -> Self {
        Self(cents)
    }

    /// How many cents it is.
    pub const fn cents(self) -> i64 {
        self.0
    }
}

impl FromStr for Amount {
    type Err = String;

    /// Reads `12`, `12.5` and `12.50`, with an optional sign.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("`{text}` is not an amount");
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        if fraction.is_empty() || fraction.len() > 2 {
            return Err(wrong());
        }
        let whole: i64 = whole.parse().map_err(|_| wrong())?;
        let fraction: i64 = fraction.parse().map_err(|_| wrong())?;
        if whole < 0 {
            Ok(Self(whole * 100 - fraction))
        } else {
            Ok(Self(whole * 100 + fraction))
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let cents = self.0.unsigned_abs();
        formatter.pad(&format!("{sign}{}.{:02}", cents / 100, cents % 100))
    }
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for Amount {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Neg for Amount {
    type Output = Self;

    fn neg(self) -> Self {
        Self(-self.0)
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}
