//! The words of a run: what is said of each step, once for all views.

use std::time::Duration;

use anstyle::{AnsiColor, Style};

use crate::cli::console::board::{Board, Ending};
use crate::model::{Integrity, LaneState, Progress, TrialKey, TrialOutcome};
use crate::report::{counted, sanitize_line, table};

/// Something to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// A step of the run.
    Step(String),
    /// What an agent said.
    Agent(String),
    /// What a person must know even when all else is silent.
    Urgent(String),
}

/// At most this many characters of a reason or a note are shown.
const SHOWN_REASON: usize = 160;

/// What is said of a step; `board` does not know it yet.
pub(super) fn lines(board: &Board, step: &Progress) -> Vec<Line> {
    match step {
        Progress::RunStarted {
            planned,
            already_done,
            jobs,
            ..
        } => {
            vec![Line::Step(begun((*planned, *already_done), *jobs))]
        }
        Progress::BlockStarted { name } if name == "all" => Vec::new(),
        Progress::BlockStarted { name } => {
            let style = Style::new().bold();
            vec![Line::Step(format!(
                "{style}-- {}{style:#}",
                sanitize_line(name)
            ))]
        }
        Progress::TrialActivity { key, text, .. } => agent(key, text),
        Progress::TrialFinished { outcome, again } => {
            vec![Line::Step(finished(board, outcome, *again))]
        }
        Progress::Lane { name, state } => vec![lane(&sanitize_line(name), state)],
        Progress::Notice { text } => vec![Line::Step(format!("note: {}", sanitize_line(text)))],
        Progress::Warning { text } => {
            vec![Line::Urgent(format!("WARNING: {}", sanitize_line(text)))]
        }
        Progress::Cancelling { times } if *times > board.cancelling() => {
            vec![Line::Urgent(cancelling(*times).to_owned())]
        }
        Progress::TrialStarted { .. }
        | Progress::TrialStage { .. }
        | Progress::Cancelling { .. }
        | Progress::RunFinished { .. } => Vec::new(),
    }
}

fn lane(name: &str, state: &LaneState) -> Line {
    match state {
        LaneState::Parked { until, .. } => Line::Step(format!(
            "note: {name} is parked until {until}; other agents go on"
        )),
        LaneState::Open => Line::Step(format!("note: {name} goes on")),
        LaneState::Stopped => Line::Urgent(format!(
            "{name} is stopped: its login failed twice in a row (key, account, model); its trials without a result are left for --resume"
        )),
    }
}

/// What is said to a person who asked to stop.
fn cancelling(times: u32) -> &'static str {
    match times {
        0 | 1 => "stopping: running agents are asked to end; press Ctrl-C again to kill them",
        _ => "killing the running agents",
    }
}

fn begun((planned, already_done): (usize, usize), jobs: u32) -> String {
    let trials = counted(planned, "trial");
    let resumed = match already_done {
        0 => String::new(),
        done => format!(" ({done} done before)"),
    };
    let at_once = match jobs {
        0 | 1 => "one at a time".to_owned(),
        jobs => format!("{jobs} at once, which changes their timings"),
    };
    format!("{trials} to run{resumed}, {at_once}")
}

fn agent(key: &TrialKey, text: &str) -> Vec<Line> {
    let style = AnsiColor::BrightBlack.on_default();
    let label = label(key);
    let safe = crate::report::sanitize(text);
    safe.lines()
        .map(|line| {
            Line::Agent(format!(
                "{style}{label} |{style:#} {}",
                line.replace('\t', " ")
            ))
        })
        .collect()
}

/// `[ 12/60] pass  claude/shell_primed/fix_rounding #2  1.3s  $0.0123  answer PASS, path WARN  suspect[program_left:a]`
fn finished(board: &Board, outcome: &TrialOutcome, again: bool) -> String {
    let all = board.already_done() + board.planned();
    let number = board.already_done() + board.finished() + 1;
    let width = all.to_string().len();
    let (word, style) = match verdict(Ending::of(outcome)) {
        (_, style) if again => ("again", style),
        verdict => verdict,
    };
    let time = outcome
        .wall_time
        .map_or_else(|| "-".to_owned(), |time| table::seconds(time.as_secs_f64()));
    let cost = outcome
        .cost
        .billed_usd
        .map(|usd| table::at_least(table::dollars(usd), outcome.cost.is_lower_bound));
    let cost = cost.as_deref().unwrap_or("-");
    let (layers, reason, judged) = (layers(outcome), reason(outcome), judged(outcome));
    let doubted = doubted(outcome);
    format!(
        "[{number:>width$}/{all}] {style}{word:<5}{style:#} {}  {time}  {cost}{layers}{reason}{doubted}{judged}",
        label(&outcome.key)
    )
}

fn verdict(ending: Ending) -> (&'static str, Style) {
    match ending {
        Ending::Pass => ("pass", AnsiColor::Green.on_default()),
        Ending::Fail => ("fail", AnsiColor::Red.on_default()),
        Ending::Infra => ("infra", AnsiColor::Yellow.on_default()),
        Ending::Cancelled => ("stop", AnsiColor::Yellow.on_default()),
        Ending::Baseline => ("base", AnsiColor::Cyan.on_default()),
    }
}

/// Why it did not pass; for what the agent did not decide, also the first word of explanation.
fn reason(outcome: &TrialOutcome) -> String {
    let Some(reason) = &outcome.failure_reason else {
        return String::new();
    };
    let note = match Ending::of(outcome) {
        Ending::Infra => outcome.notes.first(),
        _ => None,
    };
    let text = match note {
        Some(note) => format!("{reason}: {note}"),
        None => reason.clone(),
    };
    format!("  {}", shortened(&sanitize_line(&text), SHOWN_REASON))
}

/// What speaks against the result, in the words of its row.
fn doubted(outcome: &TrialOutcome) -> String {
    if outcome.integrity == Integrity::Clean {
        return String::new();
    }
    let style = AnsiColor::Yellow.on_default();
    let label = sanitize_line(&outcome.integrity.label());
    format!("  {style}{}{style:#}", shortened(&label, SHOWN_REASON))
}

/// How its layers ended, a word for each: `  answer PASS, path WARN`.
fn layers(outcome: &TrialOutcome) -> String {
    let Some(layers) = &outcome.layers else {
        return String::new();
    };
    let each = [
        ("answer", &layers.answer),
        ("path", &layers.path),
        ("budget", &layers.budget),
    ];
    let asked = each
        .into_iter()
        .filter_map(|(name, status)| Some(format!("{name} {}", status.as_ref()?.to_uppercase())));
    let asked: Vec<String> = asked.collect();
    if asked.is_empty() {
        return String::new();
    }
    format!("  {}", asked.join(", "))
}

/// How far the judges are known that decided about it.
fn judged(outcome: &TrialOutcome) -> String {
    let judges = outcome.layers.iter().flat_map(|it| &it.judges);
    let each: Vec<&str> = judges.map(String::as_str).collect();
    if each.is_empty() {
        return String::new();
    }
    let text = sanitize_line(&each.join("; "));
    format!("  judged: {}", shortened(&text, SHOWN_REASON))
}

/// At most `most` characters of `text`, the cut shown.
fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((place, _)) => format!("{}...", &text[..place]),
        None => text.to_owned(),
    }
}

/// `claude/shell_primed/fix_rounding #2`; the number is the one in the trial's folder.
pub(super) fn label(key: &TrialKey) -> String {
    let cell = &key.cell;
    let attempt = match key.attempt {
        0 => String::new(),
        attempt => format!(" (attempt {})", attempt + 1),
    };
    sanitize_line(&format!(
        "{}/{}/{} #{}{attempt}",
        cell.agent, cell.scenario, cell.task, key.index
    ))
}

/// Whole seconds as `12s`, `4m05s`, `1h02m`.
pub(super) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::cli::console::samples::{finished as step, key, outcome, started};
    use crate::model::{Infra, LayerVerdicts};

    fn said(board: &Board, step: &Progress) -> Vec<String> {
        let strip = |text: &str| anstream::adapter::strip_str(text).to_string();
        lines(board, step)
            .iter()
            .map(|line| match line {
                Line::Step(text) | Line::Agent(text) | Line::Urgent(text) => strip(text),
            })
            .collect()
    }

    fn board() -> Board {
        let mut board = Board::new();
        let now = Instant::now();
        board.take_in(
            Progress::RunStarted {
                planned: 60,
                already_done: 0,
                jobs: 1,
                spent_usd: None,
                spent_is_lower_bound: false,
                max_cost_usd: None,
            },
            now,
        );
        board.take_in(started(2), now);
        board
    }

    #[test]
    fn a_finished_trial_is_one_line() {
        let failed = |infra, reason: &str| {
            let mut outcome = outcome(2);
            outcome.success = false;
            outcome.infra = infra;
            outcome.failure_reason = Some(reason.to_owned());
            outcome.cost.billed_usd = None;
            outcome.notes = vec!["429\nretry later \u{1b}[2J".to_owned()];
            outcome
        };
        let cases = [
            (
                outcome(2),
                "[ 1/60] pass  claude/shell_primed/fix_rounding #2  1.3s  $0.0123",
            ),
            (
                failed(Infra::None, "tests_failed"),
                "[ 1/60] fail  claude/shell_primed/fix_rounding #2  1.3s  -  tests_failed",
            ),
            (
                failed(Infra::RateLimited, "agent_exit_nonzero"),
                "[ 1/60] infra claude/shell_primed/fix_rounding #2  1.3s  -  agent_exit_nonzero: 429 retry later ",
            ),
        ];
        for (outcome, expected) in cases {
            assert_eq!(said(&board(), &step(outcome)), [expected]);
        }
    }

    #[test]
    fn a_trial_that_cost_more_than_was_told_says_so_in_its_line() {
        let mut stopped = outcome(2);
        stopped.cost.is_lower_bound = true;
        let line = said(&board(), &step(stopped)).remove(0);
        assert!(line.ends_with("1.3s  >=$0.0123"), "{line}");
    }

    #[test]
    fn a_trial_that_is_not_clean_says_so_in_its_line() {
        let reasons = || vec!["program_left:a\u{1b}[2J".to_owned(), "x".repeat(200)];
        for (integrity, expected) in [
            (Integrity::Clean, ""),
            (Integrity::Suspect(reasons()), "  suspect[program_left:a;xx"),
            (
                Integrity::Violated(reasons()),
                "  violated[program_left:a;xx",
            ),
            (Integrity::Uncontained, "  uncontained"),
        ] {
            let mut outcome = outcome(2);
            outcome.integrity = integrity;
            let line = said(&board(), &step(outcome)).remove(0);
            let (_, told) = line.split_once("$0.0123").expect("what it costs");
            assert!(told.starts_with(expected), "{line}");
            assert_eq!(told.is_empty(), expected.is_empty(), "{line}");
            assert!(told.len() < 200, "{line}");
        }
    }

    #[test]
    fn a_finished_trial_tells_how_the_layers_ended_that_were_asked_for() {
        let told = |answer: Option<&str>, path: Option<&str>, budget: Option<&str>| {
            let mut outcome = outcome(2);
            let word = |status: Option<&str>| status.map(str::to_owned);
            outcome.layers = Some(LayerVerdicts {
                answer: word(answer),
                path: word(path),
                budget: word(budget),
                ..LayerVerdicts::default()
            });
            let line = said(&board(), &step(outcome)).remove(0);
            let (_, told) = line.split_once("$0.0123").expect("what it costs");
            told.to_owned()
        };
        let all = told(Some("pass"), Some("warn"), Some("error"));
        assert_eq!(all, "  answer PASS, path WARN, budget ERROR");
        assert_eq!(told(None, Some("fail"), None), "  path FAIL");
        assert_eq!(told(None, None, None), "");
    }

    #[test]
    fn a_judged_trial_tells_how_far_its_judge_is_known() {
        let mut judged = outcome(2);
        let layers = LayerVerdicts {
            judges: vec!["answer.llm_judge: NOT CALIBRATED".to_owned()],
            ..LayerVerdicts::default()
        };
        judged.layers = Some(layers);
        let line = said(&board(), &step(judged)).remove(0);
        let told = "$0.0123  judged: answer.llm_judge: NOT CALIBRATED";
        assert!(line.ends_with(told), "{line}");
    }

    #[test]
    fn text_of_agents_cannot_leave_its_lines() {
        let text = "one\x1b]0;title\x07\rtwo\x1b[1A\nthree".to_owned();
        let step = Progress::TrialActivity {
            key: key(2),
            text,
            spent_usd: None,
        };
        let label = "claude/shell_primed/fix_rounding #2 |";
        assert_eq!(
            said(&board(), &step),
            [
                format!("{label} one"),
                format!("{label} two"),
                format!("{label} three")
            ]
        );
    }

    #[test]
    fn each_wish_to_stop_is_answered_once() {
        let mut board = board();
        let first = Progress::Cancelling { times: 1 };
        assert!(said(&board, &first)[0].contains("press Ctrl-C again"));
        board.take_in(first.clone(), Instant::now());
        assert!(said(&board, &first).is_empty());
        assert_eq!(
            said(&board, &Progress::Cancelling { times: 2 }),
            ["killing the running agents"]
        );
    }

    #[test]
    fn clocks_are_short() {
        let cases = [(0, "0s"), (59, "59s"), (65, "1m05s"), (3_725, "1h02m")];
        for (seconds, expected) in cases {
            assert_eq!(clock(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn a_lane_says_until_when_it_is_parked_and_why_it_is_stopped() {
        let lane = |state| Progress::Lane {
            name: "claude\u{1b}[2J".to_owned(),
            state,
        };
        let parked = lane(LaneState::Parked {
            wait: Duration::from_secs(9),
            until: "16:00:05".to_owned(),
        });
        let told = said(&board(), &parked).concat();
        assert_eq!(
            told,
            "note: claude is parked until 16:00:05; other agents go on"
        );
        let told = said(&board(), &lane(LaneState::Stopped)).concat();
        assert!(told.contains("login failed twice"), "{told}");
        let again = Progress::TrialFinished {
            outcome: Box::new(outcome(2)),
            again: true,
        };
        assert!(said(&board(), &again)[0].contains("again claude/"));
    }
}
