//! `summary.csv`, and the cells that every CSV of a run is made of.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::report::columns::{Value, columns};
use crate::report::number;
use crate::report::summary::Summary;

/// A text cell that no spreadsheet takes for a formula: one that opens like one gets a leading `'`.
///
/// OWASP, "CSV Injection".
#[must_use]
pub fn text_cell(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Writes `summary.csv`.
///
/// # Errors
/// What `out` says.
pub fn summary_csv(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = csv::Writer::from_writer(out);
    lines.write_record(columns().iter().map(|column| column.name))?;
    for row in summary.rows() {
        lines.write_record(row.iter().map(cell))?;
    }
    lines.flush()
}

fn cell(value: &Value) -> String {
    match value {
        Value::Text(text) => text_cell(text).into_owned(),
        Value::Count(count) => count.to_string(),
        Value::Float(value) => value.map(number::float).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_opens_like_a_formula_is_quoted() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"] {
            assert_eq!(text_cell(formula), format!("'{formula}"));
        }
        for plain in ["", "plain", "a=b", "1", "'=1"] {
            assert_eq!(text_cell(plain), plain);
        }
    }
}
