//! An estimate as JSON and for a person.

use std::fmt::Write as _;

use crate::drawing::{draw, grouped};
use crate::estimate::{CellEstimate, Estimate, Span};
use crate::look::Look;
use crate::number::counted;
use crate::table::{at_least, dollars, seconds};

impl Estimate {
    /// The estimate as JSON.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        // A sum of nothing that is known is not known either.
        let known =
            |span: Span, without: usize| (without < self.cells.len()).then(|| span.to_json());
        serde_json::json!({
            "schema": 1,
            "trials_per_cell": self.trials,
            "cells": self.cells.iter().map(CellEstimate::to_json).collect::<Vec<_>>(),
            "total_seconds_at_jobs_1": known(self.seconds, self.cells_without_time),
            "total_cost_usd": known(self.usd, self.cells_without_cost),
            "cells_known": self.cells.len() - self.cells_without_time,
            "cells_without_time": self.cells_without_time,
            "cells_without_cost": self.cells_without_cost,
            "cells_without_range": self.cells_without_range,
            "cost_lower_bound_rows": self.cost_lower_bounds,
        })
    }

    /// The estimate for a person.
    #[must_use]
    pub fn to_text(&self, look: Look) -> String {
        let header = [
            "task",
            "trials",
            "seen",
            "time each",
            "beside",
            "cost each",
            "time",
            "cost",
        ];
        let rows = grouped(self.cells.iter().map(|cell| (&cell.cell, cell.row())));
        let mut text = draw(&header, &rows, 1..8, look);
        let time = self.seconds.told(seconds);
        let _infallible = write!(text, "\ntime at --jobs 1: {time}\n");
        if self.cells_without_cost == self.cells.len() {
            text.push_str("cost: unknown\n");
        } else {
            let usd = |usd| at_least(dollars(usd), self.cost_lower_bounds > 0);
            let _infallible = writeln!(text, "cost: {}", self.usd.told(usd));
        }
        for (count, what) in [
            (self.cells_without_time, "time"),
            (self.cells_without_cost, "cost"),
        ] {
            if count > 0 {
                let of = self.cells.len();
                let _infallible = writeln!(
                    text,
                    "the {what} of {count} of {of} cells is unknown and not counted"
                );
            }
        }
        if self.cost_lower_bounds > 0 {
            let _infallible = writeln!(
                text,
                "{} of the past run cost more than is known (`cost_is_lower_bound`), so more trials cost more than this",
                counted(self.cost_lower_bounds, "row")
            );
        }
        if self.seconds.range.or(self.usd.range).is_none() {
            return text;
        }
        if self.cells_without_range > 0 {
            let (once, of) = (self.cells_without_range, self.cells.len());
            let _infallible = writeln!(
                text,
                "{once} of {of} cells were seen once, which gives no range: they count at their mean"
            );
        }
        text.push_str(
            "the ranges hold if every trial is at the 10th or the 90th percentile of its cell\n",
        );
        text
    }
}

impl Span {
    fn to_json(self) -> serde_json::Value {
        let [low, high] = self.range.map_or([None; 2], |range| range.map(Some));
        serde_json::json!({ "p10": low, "mean": self.mean, "p90": high })
    }

    fn told(self, shown: impl Fn(f64) -> String) -> String {
        let mean = shown(self.mean);
        match self.range {
            Some([low, high]) => format!("{mean} ({} to {})", shown(low), shown(high)),
            None => format!("{mean} (one trial gives no range)"),
        }
    }
}

impl CellEstimate {
    fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "agent_id": self.cell.agent.as_str(), "scenario": self.cell.scenario.as_str(), "task_id": self.cell.task.as_str(),
            "baseline": self.baseline, "trials": self.trials, "seen": self.seen,
            "time_mean": self.time_mean, "time_median": self.time_median, "overhead_mean": self.overhead_mean,
            "cost_mean": self.cost_mean, "cost_median": self.cost_median,
            "cost_lower_bound_rows": self.cost_lower_bounds,
            "seconds": self.seconds.map(Span::to_json), "cost_usd": self.usd.map(Span::to_json),
        })
    }

    fn row(&self) -> Vec<String> {
        let time = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), seconds);
        let told = |usd| at_least(dollars(usd), self.cost_lower_bounds > 0);
        let usd = |usd: Option<f64>| usd.map_or_else(|| "-".to_owned(), told);
        vec![
            self.trials.to_string(),
            self.seen.to_string(),
            time(self.time_mean),
            time(self.overhead_mean),
            usd(self.cost_mean),
            time(self.seconds.map(|span| span.mean)),
            usd(self.usd.map(|span| span.mean)),
        ]
    }
}
