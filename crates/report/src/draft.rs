//! A table before it is drawn: how wide it would be, what may wrap, what may go.

use std::ops::Range;

use anstyle::Style;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use unicode_width::UnicodeWidthStr as _;

use crate::cards::cards;
use crate::look::{Look, painted};
use crate::sanitize::sanitize_line;
use crate::wrap::wrap_list;
use proctor_model::Cell;

/// Blanks around and between columns.
const BESIDE: usize = 3;
/// A column that wraps is no narrower.
const NARROWEST: usize = 18;

/// Stands for a row of one cell, which is a heading and may be wider than its column. No cell is this.
const HEADING: &str = "\u{e000}";

/// A table whose cells are safe to show.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    numeric: Range<usize>,
    wraps: Option<usize>,
    droppable: Vec<usize>,
}

impl Draft {
    /// A table; columns in `numeric` stand right. A row of one cell is a heading.
    pub(crate) fn new(header: &[&str], rows: Vec<Vec<String>>, numeric: Range<usize>) -> Self {
        let header = header.iter().map(|name| (*name).to_owned()).collect();
        Self {
            header,
            rows,
            numeric,
            wraps: None,
            droppable: Vec::new(),
        }
    }

    /// Lets one column wrap.
    pub(crate) fn wrapping(self, column: usize) -> Self {
        Self {
            wraps: Some(column),
            ..self
        }
    }

    /// Lets columns go where there is no room, the first one first.
    pub(crate) fn dropping(self, columns: &[usize]) -> Self {
        Self {
            droppable: columns.to_vec(),
            ..self
        }
    }

    /// Whether it fits as it is.
    pub(crate) fn fits(&self, look: Look) -> bool {
        look.width
            .is_none_or(|width| self.needed(&[]) <= usize::from(width))
    }

    /// Draws it, as cards where its columns are wider than the terminal even without those that may go.
    pub(crate) fn render(&self, look: Look) -> String {
        let kept = self.kept(look);
        if self.is_too_wide(&kept, look) {
            return cards(&self.header, &self.rows, self.wraps, look);
        }
        self.drawn(&kept, look)
    }

    fn is_too_wide(&self, kept: &[usize], look: Look) -> bool {
        let all = 0..self.header.len();
        let dropped: Vec<_> = all.filter(|column| !kept.contains(column)).collect();
        look.width.is_some_and(|width| {
            self.needed_wrapped(&dropped).max(self.headings()) > usize::from(width)
        })
    }

    fn headings(&self) -> usize {
        let headings = self.rows.iter().filter(|row| row.len() == 1);
        headings.map(|row| row[0].width() + 1).max().unwrap_or(0)
    }

    fn drawn(&self, kept: &[usize], look: Look) -> String {
        let rule = if look.unicode { '─' } else { '-' };
        let mut table = Table::new();
        table.load_style(
            TableStyle::new().header_separator(LineStyle::none().fill(rule).junction(rule)),
        );
        let room = self.room_to_wrap(kept, look);
        let cell = |row: &[String], column: usize| {
            let cell = row.get(column).cloned().unwrap_or_default();
            match room.filter(|_| self.wraps == Some(column)) {
                Some(room) => wrap_list(&cell, room).join("\n"),
                None => cell,
            }
        };
        let pick = |row: &[String]| -> Vec<String> {
            match row {
                [_] => vec![HEADING.to_owned()],
                row => kept.iter().map(|column| cell(row, *column)).collect(),
            }
        };
        table.set_header(pick(&self.header));
        table.add_rows(self.rows.iter().map(|row| pick(row)));
        table.set_content_arrangement(ContentArrangement::Disabled);
        for (place, column) in table.column_iter_mut().enumerate() {
            if self.numeric.contains(&kept[place]) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut headings = self.rows.iter().filter(|row| row.len() == 1);
        let mut in_header = true;
        let lines = table.lines().map(|line| {
            let line = line.trim_end();
            in_header &= !line.starts_with(rule);
            if in_header {
                painted(line, Style::new().bold(), look) + "\n"
            } else if line.trim() == HEADING {
                let heading = headings.next().map_or("", |row| row[0].as_str());
                format!(" {heading}\n")
            } else {
                line.to_owned() + "\n"
            }
        });
        lines.collect()
    }

    /// Columns that are left to the one that wraps; `None` where lines may be as long as they like.
    fn room_to_wrap(&self, kept: &[usize], look: Look) -> Option<usize> {
        let others = kept.iter().filter(|column| self.wraps != Some(**column));
        let taken: usize = others.map(|column| self.content(*column) + BESIDE).sum();
        let width = usize::from(look.width?);
        Some(width.saturating_sub(taken + BESIDE).max(NARROWEST))
    }

    fn kept(&self, look: Look) -> Vec<usize> {
        let mut dropped = Vec::new();
        let mut candidates = self.droppable.iter();
        while look
            .width
            .is_some_and(|width| self.needed_wrapped(&dropped) > usize::from(width))
        {
            let Some(next) = candidates.next() else { break };
            dropped.push(*next);
        }
        (0..self.header.len())
            .filter(|column| !dropped.contains(column))
            .collect()
    }

    fn needed(&self, dropped: &[usize]) -> usize {
        let columns = (0..self.header.len()).filter(|column| !dropped.contains(column));
        columns.map(|column| self.content(column) + BESIDE).sum()
    }

    fn needed_wrapped(&self, dropped: &[usize]) -> usize {
        let saved = self
            .wraps
            .map_or(0, |column| self.content(column).saturating_sub(NARROWEST));
        self.needed(dropped) - saved
    }

    fn content(&self, column: usize) -> usize {
        let rows = self.rows.iter().filter(|row| row.len() > 1);
        let cells = rows.filter_map(|row| row.get(column));
        cells
            .chain(self.header.get(column))
            .map(|cell| cell.width())
            .max()
            .unwrap_or(0)
    }
}

/// Rows with their task as first column, each group below a line for its agent and scenario.
pub(crate) fn grouped<'a>(
    cells: impl Iterator<Item = (&'a Cell, Vec<String>)>,
) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut group = None;
    for (cell, values) in cells {
        let name = sanitize_line(&format!("{} / {}", cell.agent, cell.scenario));
        if group.as_ref() != Some(&name) {
            rows.push(vec![name.clone()]);
            group = Some(name);
        }
        let task = format!("  {}", sanitize_line(cell.task.as_str()));
        rows.push(std::iter::once(task).chain(values).collect());
    }
    rows
}
