//! Telling a run: summaries, tables, and every file that can be made again from the journal.

mod attempts;
mod backfill;
mod cell_stats;
mod columns;
mod csv;
mod draft;
mod error_log;
mod estimate;
mod estimate_shown;
mod facts;
mod markdown;
mod number;
mod overview;
pub mod post_run;
mod rebuild;
mod runs_csv;
mod sanitize;
mod sink;
mod summary;
pub mod table;

pub use attempts::{Ledger, Seen, Superseded};
pub use cell_stats::{CellStats, Sample, Sums};
pub use columns::{CONTRACT_COLUMNS, Column, Kind, Value, columns};
pub use csv::{summary_csv, text_cell};
pub use error_log::LoggedError;
pub use estimate::{CellEstimate, Estimate, PastRun, Span, estimate};
pub use facts::{Facts, Measured, Standing};
pub use markdown::{escape, percent, summary_cold_md, summary_md};
pub use number::float;
pub use overview::{Overview, ScenarioLine};
pub use rebuild::{RebuildOptions, Rebuilt, ReportError, rebuild, write_all};
pub use runs_csv::runs_csv_columns;
pub use sanitize::{sanitize, sanitize_line};
pub use sink::{ChangeKind, FileChange};
pub use summary::Summary;
