//! Tables for a terminal: the cells and the scenarios of a run at its end.

use anstyle::AnsiColor;

use crate::cell_stats::CellStats;
use crate::draft::{Draft, grouped};
use crate::layers::LayerCounts;
use crate::look::{Look, painted};
use crate::markdown_text::percent;
use crate::overview::{Overview, ScenarioLine};
use crate::sanitize::sanitize_line;
use crate::summary::Summary;

/// The cells of a run, one line each below a line for their agent and scenario.
#[must_use]
pub fn cells(summary: &Summary, look: Look) -> String {
    let header = [
        "task", "trials", "pass", "time", "cost", "tokens", "errors", "outcomes",
    ];
    let rows = grouped(
        summary
            .cells
            .iter()
            .map(|(cell, stats)| (cell, cell_row(stats))),
    );
    Draft::new(&header, rows, 1..7)
        .wrapping(7)
        .dropping(&[6, 5])
        .render(look)
}

/// The scenarios of a run over all agents, and what to know before comparing them: a line each, or a column each
/// where lines would be too long.
#[must_use]
pub fn scenarios(overview: &Overview, look: Look) -> String {
    let header = [
        "scenario",
        "pass of all",
        "pass of graded",
        "infra faults",
        "time",
        "tokens",
        "cold cost",
        "xcodebuild",
        "tool errors",
        "spent",
    ];
    let rows: Vec<_> = overview
        .scenarios
        .iter()
        .map(|(name, line)| scenario_row(name.as_str(), line))
        .collect();
    let lines = Draft::new(&header, rows.clone(), 1..header.len());
    let mut text = if lines.fits(look) {
        lines.render(look)
    } else {
        side_by_side(&header, &rows, look)
    };
    for warning in &overview.warnings {
        let note = format!("note: {}", sanitize_line(warning));
        for line in look.lines(&note) {
            text.push_str(&painted(&line, AnsiColor::Yellow.on_default(), look));
            text.push('\n');
        }
    }
    text
}

/// How the layers of a run's trials ended, over all cells: a line, empty where none was asked for.
#[must_use]
pub fn layers(summary: &Summary) -> String {
    let mut all = LayerCounts::default();
    for stats in summary.cells.values() {
        all.merge(&stats.layers);
    }
    match all.told().join("; ").as_str() {
        "" => String::new(),
        told => format!("layers: {told}\n"),
    }
}

fn cell_row(stats: &CellStats) -> Vec<String> {
    vec![
        stats.runs.to_string(),
        optional(stats.success_rate(), percent),
        optional(stats.times.quantile(0.5), seconds),
        optional(stats.costs.quantile(0.5), |usd| {
            at_least(dollars(usd), stats.cost_lower_bounds > 0)
        }),
        optional(stats.sums.tokens.mean(), |mean| {
            at_least(tokens(mean), stats.token_lower_bounds > 0)
        }),
        optional(stats.sums.tool_errors.mean(), |errors| {
            format!("{errors:.1}")
        }),
        outcomes(stats),
    ]
}

fn scenario_row(name: &str, line: &ScenarioLine) -> Vec<String> {
    let rate = |rate: Option<f64>, of: usize| format!("{} of {of}", optional(rate, percent));
    vec![
        sanitize_line(name),
        rate(line.success_rate, line.runs),
        rate(line.success_rate_graded, line.graded),
        line.infra.to_string(),
        optional(line.time_median, seconds),
        optional(line.tokens_mean, |mean| {
            at_least(tokens(mean), line.token_lower_bounds > 0)
        }),
        optional(line.cold_cost_median, |usd| {
            at_least(dollars(usd), line.cost_lower_bounds > 0)
        }),
        optional(line.xcodebuild_calls_mean, |calls| format!("{calls:.1}")),
        optional(line.tool_errors_mean, |errors| format!("{errors:.1}")),
        optional(line.spent, |usd| {
            at_least(dollars(usd), line.cost_incomplete > 0)
        }),
    ]
}

/// The same table with its rows as columns, in as many tables as the width asks for.
fn side_by_side(header: &[&str], rows: &[Vec<String>], look: Look) -> String {
    let mut drawn = Vec::new();
    let mut rest = rows;
    while !rest.is_empty() {
        let fitting = (1..=rest.len())
            .rev()
            .find(|count| turned(header, &rest[..*count]).fits(look));
        let (now, later) = rest.split_at(fitting.unwrap_or(1));
        drawn.push(match fitting {
            Some(_) => turned(header, now).render(look),
            None => Draft::new(header, now.to_vec(), 0..0).render(look),
        });
        rest = later;
    }
    drawn.join("\n")
}

fn turned(header: &[&str], rows: &[Vec<String>]) -> Draft {
    let names: Vec<_> = std::iter::once(header[0])
        .chain(rows.iter().map(|row| row[0].as_str()))
        .collect();
    let lines = (1..header.len()).map(|place| {
        std::iter::once(header[place].to_owned())
            .chain(rows.iter().map(|row| row[place].clone()))
            .collect()
    });
    Draft::new(&names, lines.collect(), 1..names.len())
}

/// `8 pass, 1 stall`, the most frequent first, and how layers ended: `8 pass; path 6 PASS, 2 WARN`.
fn outcomes(stats: &CellStats) -> String {
    let mut mix: Vec<_> = stats.outcomes.iter().collect();
    mix.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
    let parts: Vec<_> = mix
        .iter()
        .map(|(name, count)| format!("{count} {}", sanitize_line(name)))
        .collect();
    let mut told = vec![parts.join(", ")];
    told.extend(stats.layers.told());
    told.join("; ")
}

fn optional(value: Option<f64>, show: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "-".to_owned(), show)
}

/// Seconds as `0.42s`, `12.3s`, `4m05s`, `1h02m`.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    let minutes = (seconds / 60.0).floor();
    match seconds {
        _ if seconds < 1.0 => format!("{seconds:.2}s"),
        _ if seconds < 60.0 => format!("{seconds:.1}s"),
        _ if seconds < 3600.0 => {
            format!("{minutes:.0}m{:02.0}s", (seconds - minutes * 60.0).floor())
        }
        _ => format!("{:.0}h{:02.0}m", (seconds / 3600.0).floor(), minutes % 60.0),
    }
}

/// USD with four digits below one dollar and two above.
#[must_use]
pub fn dollars(usd: f64) -> String {
    if usd.abs() < 1.0 {
        format!("${usd:.4}")
    } else {
        format!("${usd:.2}")
    }
}

/// What is told of an amount; `>=` before it where it was more.
#[must_use]
pub fn at_least(told: String, is_lower_bound: bool) -> String {
    if is_lower_bound {
        format!(">={told}")
    } else {
        told
    }
}

/// Tokens as `950`, `12.3k`, `1.2M`.
#[must_use]
pub fn tokens(tokens: f64) -> String {
    match tokens {
        _ if tokens < 1e3 => format!("{tokens:.0}"),
        _ if tokens < 1e6 => format!("{:.1}k", tokens / 1e3),
        _ => format!("{:.1}M", tokens / 1e6),
    }
}

#[cfg(test)]
mod tests;
