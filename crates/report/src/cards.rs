//! A table as cards, for terminals that are too narrow for its columns: a few lines for each row.

use anstyle::Style;

use crate::look::{Look, painted};
use crate::wrap::{wrap, wrap_list};

/// Cards of a table whose rows of one cell are headings. `plain` is a column that needs no name before its values.
pub(crate) fn cards(
    header: &[String],
    rows: &[Vec<String>],
    plain: Option<usize>,
    look: Look,
) -> String {
    let width = look.width.map_or(usize::MAX, usize::from);
    let mut text = String::new();
    for row in rows {
        let Some((name, values)) = row.split_first() else {
            continue;
        };
        if values.is_empty() {
            for line in wrap(name, width) {
                text.push_str(&painted(&line, Style::new().bold(), look));
                text.push('\n');
            }
            continue;
        }
        indent(&mut text, 2, &wrap(name.trim(), width.saturating_sub(2)));
        let (named, alone): (Vec<_>, Vec<_>) = values
            .iter()
            .enumerate()
            .map(|(place, value)| (place + 1, value))
            .filter(|(_, value)| !["", "-"].contains(&value.as_str()))
            .partition(|(column, _)| plain != Some(*column));
        let named = named.iter().map(|(column, value)| {
            format!("{} {value}", header.get(*column).map_or("", String::as_str))
        });
        let named: Vec<String> = named.collect();
        indent(
            &mut text,
            4,
            &wrap_list(&named.join(", "), width.saturating_sub(4)),
        );
        for (_, value) in alone {
            indent(&mut text, 4, &wrap_list(value, width.saturating_sub(4)));
        }
    }
    text
}

fn indent(text: &mut String, by: usize, lines: &[String]) {
    for line in lines {
        text.extend([&" ".repeat(by), line, "\n"]);
    }
}
