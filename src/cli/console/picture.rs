//! The lines that change in place: a line for each running trial, a summary below.

use std::time::Instant;

use anstyle::{AnsiColor, Style};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::cli::console::board::{Board, Running};
use crate::cli::console::words::{clock, label};
use crate::report::{sanitize_line, table};

/// Room on the screen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) unicode: bool,
}

/// The changing lines, each narrower than the screen.
pub(super) fn picture(board: &Board, now: Instant, room: Room) -> Vec<String> {
    let most = room.height.saturating_sub(4).clamp(1, 20);
    let widest = board
        .running
        .iter()
        .map(|trial| label(&trial.key).width())
        .max();
    let columns = widest.unwrap_or(0).min(room.width / 2);
    let mut lines: Vec<String> = board
        .running
        .iter()
        .take(most)
        .map(|trial| trial_line(trial, now, (columns, room)))
        .collect();
    if let Some(more) = board
        .running
        .len()
        .checked_sub(most)
        .filter(|more| *more > 0)
    {
        lines.push(format!("  and {more} more"));
    }
    lines.extend(
        board
            .parked
            .iter()
            .take(3)
            .map(|parked| parked_line(parked, now, room)),
    );
    lines.push(summary(board, now, room));
    lines
}

fn trial_line(trial: &Running, now: Instant, (columns, room): (usize, Room)) -> String {
    let name = label(&trial.key);
    let elapsed = format!("{} / {}", clock(trial.elapsed(now)), clock(trial.limit));
    let quiet = trial.quiet(now).filter(|quiet| quiet.as_secs() > 0);
    let quiet = quiet.map_or_else(String::new, |quiet| format!("quiet {}", clock(quiet)));
    let doing = match trial.stage {
        "agent" => quiet.as_str(),
        stage => stage,
    };
    let plain = format!(
        "  {}  {elapsed:<15} {doing:<11} {}",
        padded(&cut(&name, columns), columns),
        sanitize_line(untimed(&trial.text))
    );
    cut(&plain, room.width.saturating_sub(1))
        .trim_end()
        .to_owned()
}

/// `  claude  parked until 16:00:05 (12m03s left)`
fn parked_line(
    (name, (until, shown)): (&String, &(Instant, String)),
    now: Instant,
    room: Room,
) -> String {
    let left = clock(until.saturating_duration_since(now));
    let name = sanitize_line(name);
    let plain = format!("  {name}  parked until {shown} ({left} left)");
    cut(&plain, room.width.saturating_sub(1))
}

/// What was said without the time at which it was said: the line shows how long ago that was.
fn untimed(text: &str) -> &str {
    let is_time = |mark: &str| {
        let mut characters = mark.trim().chars();
        characters.all(|character| character.is_ascii_digit() || character == '.')
    };
    match text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        Some((mark, said)) if is_time(mark) => said,
        _ => text,
    }
}

fn summary(board: &Board, now: Instant, room: Room) -> String {
    let counts = board.counts();
    let all = board.already_done() + board.planned();
    let done = board.already_done() + board.finished();
    let mut parts = vec![format!("{done}/{all}")];
    let words = [
        (counts.pass, "pass"),
        (counts.fail, "fail"),
        (counts.infra, "infra"),
        (counts.cancelled, "stopped"),
    ];
    parts.extend(
        words
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{count} {word}")),
    );
    parts.extend(board.spent_usd().map(|usd| {
        let spent = table::at_least(table::dollars(usd), board.spent_is_lower_bound());
        match board.max_cost_usd() {
            Some(most) => format!("{spent} of {} spent", table::dollars(most)),
            None => format!("{spent} spent"),
        }
    }));
    parts.extend(match board.cancelling() {
        0 => board
            .time_left(now)
            .map(|left| format!("about {} left", clock(left))),
        _ => Some("stopping".to_owned()),
    });
    let text = parts.join("  ");
    let space = room.width.saturating_sub(text.width() + 4);
    if space < 10 {
        return cut(&text, room.width.saturating_sub(1));
    }
    let (full, empty) = meter((done, all), space.min(30), room.unicode);
    let (strong, faint) = (AnsiColor::Green.on_default(), Style::new().dimmed());
    format!("{strong}{full}{strong:#}{faint}{empty}{faint:#}  {text}")
}

/// A bar of `width` columns, as its full and its empty part.
fn meter((done, all): (usize, usize), width: usize, unicode: bool) -> (String, String) {
    let full = done
        .saturating_mul(width)
        .checked_div(all)
        .unwrap_or(0)
        .min(width);
    let (on, off) = if unicode { ("━", "━") } else { ("=", "-") };
    (on.repeat(full), off.repeat(width - full))
}

/// `text` without what does not fit into `columns`.
fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    text.chars()
        .take_while(|character| {
            used += character.width().unwrap_or(0);
            used <= columns
        })
        .collect()
}

fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(text.width())))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::cli::console::samples::{finished, key, outcome, started};
    use crate::model::Progress;

    fn plain(lines: &[String]) -> Vec<String> {
        lines
            .iter()
            .map(|line| anstream::adapter::strip_str(line).to_string())
            .collect()
    }

    fn board(start: Instant) -> Board {
        let mut board = Board::new();
        board.take_in(
            Progress::RunStarted {
                planned: 4,
                already_done: 0,
                jobs: 2,
                spent_usd: None,
                spent_is_lower_bound: false,
                max_cost_usd: None,
            },
            start,
        );
        for index in 0..3 {
            board.take_in(started(index), start);
        }
        let stage = Progress::TrialStage {
            key: key(1),
            stage: "agent",
        };
        board.take_in(stage, start);
        let text = "Bash cargo test \u{8a9e}\u{8a9e}\u{8a9e}".repeat(9);
        board.take_in(
            Progress::TrialActivity {
                key: key(1),
                text,
                spent_usd: None,
            },
            start,
        );
        board.take_in(finished(outcome(0)), start + Duration::from_secs(2));
        board
    }

    #[test]
    fn it_tells_who_runs_how_long_and_how_much_is_left() {
        let start = Instant::now();
        let room = Room {
            width: 100,
            height: 24,
            unicode: false,
        };
        let lines = plain(&picture(
            &board(start),
            start + Duration::from_secs(5),
            room,
        ));
        assert_eq!(lines.len(), 3);
        assert!(
            lines[0].starts_with(
                "  claude/shell_primed/fix_rounding #1  5s / 1m00s      quiet 5s    Bash cargo"
            ),
            "{lines:?}"
        );
        assert_eq!(
            lines[1],
            "  claude/shell_primed/fix_rounding #2  5s / 1m00s      start"
        );
        assert_eq!(
            lines[2],
            "=======-----------------------  1/4  1 pass  $0.0123 spent  about 1s left"
        );
    }

    #[test]
    fn it_tells_which_lane_is_parked_until_when_and_what_is_left_of_the_budget() {
        let start = Instant::now();
        let mut board = board(start);
        let step = Progress::RunStarted {
            planned: 4,
            already_done: 0,
            jobs: 2,
            spent_usd: Some(0.5),
            spent_is_lower_bound: false,
            max_cost_usd: Some(3.0),
        };
        board.take_in(step, start);
        let state = crate::model::LaneState::Parked {
            wait: Duration::from_secs(725),
            until: "16:00:05".to_owned(),
        };
        let name = "codex".to_owned();
        board.take_in(Progress::Lane { name, state }, start);
        let room = Room {
            width: 100,
            height: 24,
            unicode: false,
        };
        let lines = plain(&picture(&board, start + Duration::from_secs(5), room));
        let parked = "  codex  parked until 16:00:05 (12m00s left)";
        assert!(lines.iter().any(|line| line == parked), "{lines:?}");
        assert!(
            lines[lines.len() - 1].contains("of $3.00 spent"),
            "{lines:?}"
        );
    }

    #[test]
    fn money_of_which_not_all_is_known_is_marked_while_the_run_goes_on() {
        let start = Instant::now();
        let room = Room {
            width: 100,
            height: 24,
            unicode: false,
        };
        let last = |board: &Board| plain(&picture(board, start, room)).pop();
        let mut ended = board(start);
        assert!(last(&ended).is_some_and(|line| line.contains("  $0.0123 spent")));
        let mut unknown = outcome(1);
        unknown.cost.billed_usd = None;
        ended.take_in(finished(unknown), start);
        assert!(last(&ended).is_some_and(|line| line.contains("  >=$0.0123 spent")));
        let mut resumed = board(start);
        let step = Progress::RunStarted {
            planned: 4,
            already_done: 1,
            jobs: 2,
            spent_usd: Some(0.5),
            spent_is_lower_bound: true,
            max_cost_usd: Some(3.0),
        };
        resumed.take_in(step, start);
        let told = last(&resumed).expect("a line");
        assert!(told.contains("  >=$0.5000 of $3.00 spent"), "{told}");
    }

    #[test]
    fn no_line_is_wider_or_the_picture_higher_than_the_screen() {
        let start = Instant::now();
        let mut board = board(start);
        for index in 10..40 {
            board.take_in(started(index), start);
        }
        for width in 1..130 {
            let room = Room {
                width,
                height: 8,
                unicode: true,
            };
            let lines = plain(&picture(&board, start, room));
            assert!(lines.len() <= 6, "{lines:?}");
            assert!(
                lines.iter().all(|line| line.width() <= width.max(14)),
                "{width}: {lines:?}"
            );
        }
    }

    #[test]
    fn the_time_of_a_word_is_not_shown_twice() {
        assert_eq!(untimed("[    0.019] message: hi"), "message: hi");
        assert_eq!(untimed("[ok] fine"), "[ok] fine");
        assert_eq!(untimed("plain"), "plain");
    }

    #[test]
    fn a_meter_is_never_longer_than_its_room() {
        for (done, all) in [(0, 0), (0, 5), (5, 5), (9, 5)] {
            let (full, empty) = meter((done, all), 10, false);
            assert_eq!(full.len() + empty.len(), 10);
        }
    }
}
