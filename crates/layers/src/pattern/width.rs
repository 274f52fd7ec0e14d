//! How many characters a piece of a pattern matches, as far as that is fixed: Python looks behind for fixed widths alone.

/// The least and the most characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Width {
    least: u64,
    most: u64,
}

impl Width {
    /// One character.
    pub(super) const ONE: Self = Self { least: 1, most: 1 };

    /// Both, one behind the other.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            least: self.least.saturating_add(other.least),
            most: self.most.saturating_add(other.most),
        }
    }

    /// Either of them.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }

    /// So many times.
    pub(super) fn times(self, (least, most): (u64, u64)) -> Self {
        Self {
            least: self.least.saturating_mul(least),
            most: self.most.saturating_mul(most),
        }
    }

    pub(super) fn is_fixed(self) -> bool {
        self.least == self.most
    }

    pub(super) fn is_nothing(self) -> bool {
        self.most == 0
    }
}
