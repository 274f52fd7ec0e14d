//! Arithmetic, with the reference of each formula above it: no I/O, no clock, no room imported.

mod agreement;
mod interval;
mod paired;
mod pass_at_k;
mod quantile;
mod spread;

pub use agreement::{Kappa, cohen_kappa};
pub use interval::{Interval, Z_95, wilson};
pub use paired::{DRAWS, Paired, paired, two_sided};
pub use pass_at_k::{pass_at_k, pass_pow_k};
pub use quantile::{median, quantile, sort_floats};
pub use spread::{Sum, coefficient_of_variation, mean, sample_std};
