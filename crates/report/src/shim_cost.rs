//! What watching cost: the time that calls of watched commands took longer for their shims.

use proctor_record::Row;

/// The cost of the shims in a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ShimCost {
    /// Calls of watched commands in rows that tell the cost of one.
    calls: u64,
    /// Of all these, in seconds.
    seconds: f64,
}

impl ShimCost {
    /// Counts a row, whatever became of it.
    pub(crate) fn add(&mut self, row: &Row) {
        let Some(each) = row.cmd_shim_usec.filter(|each| each.is_finite()) else {
            return;
        };
        let calls = row.cmd_log_calls.unwrap_or_default();
        self.calls += calls;
        #[expect(clippy::cast_precision_loss, reason = "no run makes 2^52 calls")]
        {
            self.seconds += calls as f64 * each / 1e6;
        }
    }

    /// The part of `summary.md` that tells it; nothing where no row tells it.
    pub(crate) fn to_markdown(&self) -> String {
        if self.calls == 0 {
            return String::new();
        }
        #[expect(clippy::cast_precision_loss, reason = "no run makes 2^52 calls")]
        let each = self.seconds * 1e3 / self.calls as f64;
        format!(
            "\n## Watched commands\n\n{} calls were watched. Each took {each:.1} ms longer for it (`cmd_shim_usec`: measured with \
             `true` in the run, direct and through a shim), {:.1} s in all.\n",
            self.calls, self.seconds
        )
    }
}
