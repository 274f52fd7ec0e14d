//! `proctor metrics --compare`: two outputs against each other.

use std::fs::File;
use std::path::Path;

use crate::cli::commands::metrics::{CSV, refused};
use crate::cli::failure::{Failure, Kind, Outcome, shown_path};
use crate::cli::out::{Colour, Out};
use proctor_retrieval::{Compared, Comparison, Rows};

/// Compares the outputs in two folders, or two files.
pub(super) fn run(first: &Path, second: &Path, json: bool) -> Outcome {
    let comparison = read(first)?.compare(&read(second)?);
    let mut out = Out::new(Colour::AUTO);
    if json {
        let document = serde_json::to_value(&comparison);
        out.json(&document.map_err(|error| Failure::at("write the comparison", error))?)?;
    } else {
        out.text(told(&comparison))?;
    }
    if comparison.queries == 0 {
        let why = "the two outputs have no query in common: nothing was compared";
        return Err(Failure::new(Kind::Usage, why).hint("rows are paired by their id"));
    }
    Ok(())
}

fn read(output: &Path) -> Outcome<Rows> {
    let path = if output.is_dir() {
        output.join(CSV)
    } else {
        output.to_path_buf()
    };
    let shown = shown_path(&path);
    let file = File::open(&path).map_err(|error| Failure::at(format!("open {shown}"), error))?;
    Rows::read(file, &shown).map_err(|problems| refused(&problems))
}

fn told(comparison: &Comparison) -> String {
    let Comparison {
        queries,
        only_first,
        only_second,
        metrics,
    } = comparison;
    let mut text = format!(
        "{:<13}{:>7}{:>13}{:>13}{:>13}{:>8}{:>8}{:>10}{:>10}{:>10}\n",
        "metric",
        "pairs",
        "first",
        "second",
        "difference",
        "higher",
        "lower",
        "p(t)",
        "p(rand)",
        "p(holm)"
    );
    for metric in metrics {
        text.push_str(&line(metric));
    }
    text + &format!(
        "{queries} queries in both, {only_first} in the first alone, {only_second} in the second alone\n"
    )
}

fn line(compared: &Compared) -> String {
    let chance = |p: Option<f64>| p.map_or("-".to_owned(), |p| format!("{p:.4}"));
    let Compared {
        metric,
        pairs,
        first,
        second,
        difference,
        higher,
        lower,
        p_t,
        p_randomization,
        p_holm,
        t: _,
    } = compared;
    let [p_t, p_randomization, p_holm] = [p_t, p_randomization, p_holm].map(|p| chance(*p));
    format!(
        "{metric:<13}{pairs:>7}{first:>13.4}{second:>13.4}{difference:>+13.4}{higher:>8}{lower:>8}{p_t:>10}{p_randomization:>10}{p_holm:>10}\n"
    )
}
