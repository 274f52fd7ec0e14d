//! Tables for a terminal: the cells and the scenarios of a run at its end.

use anstyle::AnsiColor;

use crate::report::cell_stats::CellStats;
use crate::report::draft::{Draft, grouped, painted};
use crate::report::layers::LayerCounts;
use crate::report::markdown::percent;
use crate::report::overview::{Overview, ScenarioLine};
use crate::report::sanitize::sanitize_line;
use crate::report::summary::Summary;
use crate::report::wrap::wrap;

/// How a table may look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Columns of the terminal; `None` where lines may be as long as they like.
    pub width: Option<u16>,
    /// Whether colours are wanted.
    pub colour: bool,
    /// Whether the terminal shows more than ASCII.
    pub unicode: bool,
}

impl Look {
    /// Plain text of any width.
    pub const PLAIN: Self = Self {
        width: None,
        colour: false,
        unicode: false,
    };

    /// A sentence as lines of the terminal, broken between words.
    #[must_use]
    pub fn lines(self, sentence: &str) -> Vec<String> {
        match self.width {
            Some(width) => wrap(sentence, usize::from(width)),
            None => vec![sentence.to_owned()],
        }
    }
}

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
mod tests {
    use super::*;
    use crate::report::facts::tests::facts;
    use crate::report::facts::{Facts, Measured, Standing};
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr as _;

    fn summary(agents: &[&str]) -> Summary {
        let mut summary = Summary::default();
        for agent in agents {
            for (index, scenario) in ["shell_unprimed", "shell_primed", "mcp_unprimed"]
                .iter()
                .enumerate()
            {
                let measured = Measured {
                    time: Some(65.0),
                    cost: Some(0.25),
                    tokens: Some(12_345.0),
                    ..Measured::default()
                };
                summary.add(&Facts {
                    measured,
                    ..facts(agent, scenario, "a_task_of_some_length")
                });
                let standing = if index == 0 {
                    Standing::Infra
                } else {
                    Standing::Sound
                };
                let outcome = "infra:rate_limited".to_owned();
                summary.add(&Facts {
                    success: false,
                    standing,
                    outcome,
                    ..facts(agent, scenario, "a_task_of_some_length")
                });
            }
        }
        summary.finish();
        summary
    }

    #[test]
    fn a_cell_tells_its_rate_its_medians_and_its_outcomes() {
        let text = cells(&summary(&["codex"]), Look::PLAIN);
        let lines: Vec<Vec<_>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(
            lines[0].join(" "),
            "task trials pass time cost tokens errors outcomes"
        );
        assert_eq!(lines[2].join(" "), "codex / mcp_unprimed");
        assert_eq!(
            lines[3].join(" "),
            "a_task_of_some_length 2 50.0% 1m05s $0.2500 12.3k - 1 infra:rate_limited, 1 pass"
        );
    }

    #[test]
    fn figures_that_are_lower_bounds_are_marked_in_both_tables() {
        let measured = Measured {
            cost: Some(0.25),
            cold_cost: Some(0.5),
            tokens: Some(12_345.0),
            ..Measured::default()
        };
        let row = |scenario: &str, measured| Facts {
            measured,
            ..facts("codex", scenario, "t")
        };
        let mut summary = Summary::default();
        summary.add(&row("whole", measured));
        // Nobody knows what it cost: the others' figures are no lower bounds for that.
        let unknown = Measured {
            cost_is_incomplete: true,
            ..Measured::default()
        };
        summary.add(&row("whole", unknown));
        summary.add(&row("stopped", measured));
        let stopped = Measured {
            cost_is_incomplete: true,
            tokens_are_lower_bound: true,
            ..measured
        };
        summary.add(&row("stopped", stopped));
        summary.finish();
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = cells(&summary, Look::PLAIN);
        let lines: Vec<String> = text.lines().map(words).collect();
        assert_eq!(lines[3], "t 2 100.0% - >=$0.2500 >=12.3k - 2 pass");
        assert_eq!(lines[5], "t 2 100.0% - $0.2500 12.3k - 2 pass");
        let text = scenarios(&Overview::new(&summary), Look::PLAIN);
        for line in [
            "stopped 100.0% of 2 100.0% of 2 0 - >=12.3k >=$0.5000 - - >=$0.5000",
            "whole 100.0% of 2 100.0% of 2 0 - 12.3k $0.5000 - - >=$0.2500",
        ] {
            assert!(text.lines().map(words).any(|told| told == line), "{text}");
        }
    }

    #[test]
    fn cells_stand_as_cards_where_columns_are_too_wide() {
        let narrow = |width| {
            let look = Look {
                width: Some(width),
                ..Look::PLAIN
            };
            cells(&summary(&["codex"]), look)
        };
        let text = narrow(40);
        let lines: Vec<_> = text.lines().take(6).collect();
        assert_eq!(
            lines,
            [
                "codex / mcp_unprimed",
                "  a_task_of_some_length",
                "    trials 2, pass 50.0%, time 1m05s,",
                "    cost $0.2500, tokens 12.3k",
                "    1 infra:rate_limited, 1 pass",
                "codex / shell_primed",
            ]
        );
        let text = narrow(84);
        assert!(text.starts_with(" task "), "{text}");
        for whole in ["codex / shell_unprimed\n", "infra:rate_limited"] {
            assert_eq!(
                text.matches(whole).count(),
                if whole.ends_with('\n') { 1 } else { 3 },
                "{text}"
            );
        }
    }

    #[test]
    fn scenarios_stand_side_by_side_where_lines_are_too_long() {
        let overview = Overview::new(&summary(&["codex"]));
        let wide = scenarios(&overview, Look::PLAIN);
        assert!(
            wide.lines()
                .any(|line| line.trim().starts_with("mcp_unprimed ")
                    && line.contains(" 50.0% of 2 ")),
            "{wide}"
        );
        let narrow = scenarios(
            &overview,
            Look {
                width: Some(80),
                ..Look::PLAIN
            },
        );
        assert!(
            narrow.lines().any(|line| line.split_whitespace().eq([
                "scenario",
                "mcp_unprimed",
                "shell_primed",
                "shell_unprimed"
            ])),
            "{narrow}"
        );
        assert!(narrow.contains("pass of graded"), "{narrow}");
        assert!(narrow.contains("note: infra faults differ"), "{narrow}");
    }

    #[test]
    fn colour_and_more_than_ascii_are_the_callers_choice() {
        let summary = summary(&["codex"]);
        let plain = cells(&summary, Look::PLAIN);
        assert!(plain.is_ascii() && !plain.contains('\x1b'), "{plain}");
        assert!(
            cells(
                &summary,
                Look {
                    colour: true,
                    ..Look::PLAIN
                }
            )
            .contains("\x1b[1m")
        );
        assert!(
            cells(
                &summary,
                Look {
                    unicode: true,
                    ..Look::PLAIN
                }
            )
            .contains('─')
        );
    }

    #[test]
    fn durations_money_and_tokens_are_short() {
        let times = [
            (0.0, "0.00s"),
            (0.999, "1.00s"),
            (59.94, "59.9s"),
            (65.0, "1m05s"),
            (3599.9, "59m59s"),
            (3660.0, "1h01m"),
            (360_000.0, "100h00m"),
        ];
        for (value, expected) in times {
            assert_eq!(seconds(value), expected);
        }
        assert_eq!(
            [0.0, 0.1234, 1.0, 1234.5].map(dollars),
            ["$0.0000", "$0.1234", "$1.00", "$1234.50"]
        );
        assert_eq!(
            [0.0, 999.0, 1000.0, 2.5e6].map(tokens),
            ["0", "999", "1.0k", "2.5M"]
        );
    }

    proptest! {
        #[test]
        fn a_table_keeps_to_its_width_and_controls_nothing(agents in prop::collection::vec(any::<String>(), 1..4), width in 24_u16..200) {
            let names: Vec<_> = agents.iter().map(|agent| agent.chars().take(30).collect::<String>()).collect();
            let summary = summary(&names.iter().map(String::as_str).collect::<Vec<_>>());
            let look = Look { width: Some(width), ..Look::PLAIN };
            let tables = [cells(&summary, look), scenarios(&Overview { warnings: vec![], ..Overview::new(&summary) }, look)];
            for line in tables.iter().flat_map(|table| table.lines()) {
                prop_assert!(line.width() <= usize::from(width), "{} columns: {:?}", line.width(), line);
                prop_assert!(!line.chars().any(char::is_control), "{line:?}");
            }
        }
    }
}
