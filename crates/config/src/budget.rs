//! How much a file may hold, aliases written out: bounds on time and memory.

const MOST_VALUES: usize = 200_000;
const MOST_BYTES: usize = 16 << 20;

/// What a part of a file measures.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Size {
    pub(super) values: usize,
    pub(super) bytes: usize,
}

impl Size {
    /// A list or mapping, its content aside.
    pub(super) const COLLECTION: Self = Self {
        values: 1,
        bytes: 0,
    };

    /// A scalar.
    pub(super) const fn of_scalar(text: &str) -> Self {
        Self {
            values: 1,
            bytes: text.len(),
        }
    }
}

/// What has been used up.
#[derive(Debug, Default)]
pub(super) struct Budget {
    spent: Size,
}

impl Budget {
    pub(super) const fn spent(&self) -> Size {
        self.spent
    }

    /// What was spent after `before`.
    pub(super) const fn since(&self, before: Size) -> Size {
        Size {
            values: self.spent.values - before.values,
            bytes: self.spent.bytes - before.bytes,
        }
    }

    /// Spends `size`, or says which bound it breaks.
    pub(super) fn spend(&mut self, size: Size) -> Result<(), String> {
        self.spent.values += size.values;
        self.spent.bytes += size.bytes;
        if self.spent.values > MOST_VALUES {
            return Err(format!(
                "the file holds more than {MOST_VALUES} values, aliases counted"
            ));
        }
        if self.spent.bytes > MOST_BYTES {
            let limit = MOST_BYTES >> 20;
            return Err(format!("the file expands to more than {limit} MiB of text"));
        }
        Ok(())
    }
}
