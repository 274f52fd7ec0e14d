//! The section of `summary.md` about layers.

use crate::layers::LAYERS;
use crate::markdown_text::{escape, table};
use crate::summary::Summary;
use proctor_model::Cell;

fn names(cell: &Cell) -> Vec<String> {
    [
        cell.agent.as_str(),
        cell.scenario.as_str(),
        cell.task.as_str(),
    ]
    .map(escape)
    .to_vec()
}

/// The section of `summary.md`; empty where no task asks for a layer.
pub(super) fn markdown(summary: &Summary) -> String {
    let cells = summary.cells.iter();
    let mut cells = cells
        .filter(|(_, stats)| !stats.layers.status.is_empty())
        .peekable();
    if cells.peek().is_none() {
        return String::new();
    }
    let header = [
        "agent",
        "scenario",
        "task",
        "answer",
        "path",
        "budget",
        "what did not hold",
    ];
    let rows = cells.map(|(cell, stats)| {
        let mut row = names(cell);
        row.extend(LAYERS.map(|layer| stats.layers.words_of(layer)));
        row.push(escape(&stats.layers.broken()));
        row
    });
    let table = table(&header, &[false; 7], rows);
    format!(
        "\n## Layers\n\n{ABOUT}\n{table}{}{}",
        baselines(summary),
        judged(summary)
    )
}

/// What trials were compared with.
fn baselines(summary: &Summary) -> String {
    let all = summary.cells.values().flat_map(|it| &it.layers.baselines);
    let lines: Vec<String> = all
        .map(|(baseline, count)| format!("- {count} with {}\n", escape(baseline)))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    let lines = lines.concat();
    format!("\nTrials that were compared with a baseline:\n\n{lines}")
}

/// Who decided by a rubric, and how far to trust it: beside the figures that it made.
fn judged(summary: &Summary) -> String {
    let rows = summary.cells.iter().flat_map(|(cell, stats)| {
        let each = stats.layers.judged.iter();
        each.map(move |(judged, count)| {
            let (check, known) = judged.split_once(": ").unwrap_or((judged, ""));
            let mut row = names(cell);
            row.extend([escape(check), count.to_string(), escape(known)]);
            row
        })
    });
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return String::new();
    }
    let header = [
        "agent",
        "scenario",
        "task",
        "check",
        "trials",
        "how far the judge is known",
    ];
    let table = table(&header, &[false; 6], rows);
    format!(
        "\nA judge errs. What people said of answers like these, and what it said of them:\n\n{table}"
    )
}

const ABOUT: &str = "\
Trials by what they said (answer), did (path) and spent (budget). A wrong answer and a forbidden call fail a trial; the rest \
warns.
";
