//! When each line of an agent's output came: its events say it.

use std::mem::{Discriminant, discriminant};
use std::time::Duration;

use proctor_agents::StreamReader;
use proctor_config::AgentKind;
use proctor_model::{AgentEvent, EventKind};

/// How many events of other origin (standard error) may stand between two lines.
const FURTHEST: usize = 64;

/// The time of each line of `stdout`.
///
/// The lines are read once more, and each event that a line gives is looked for in the recorded ones, in order; a line
/// without events came with the one before it. An agent that is known to have spoken until `until` said its last lines
/// without events evenly up to then.
pub(super) fn line_times(
    kind: AgentKind,
    stdout: &[u8],
    recorded: &[AgentEvent],
    until: Option<Duration>,
) -> Vec<Duration> {
    let mut reader = StreamReader::for_kind(kind);
    let mut rest = recorded;
    let mut now = Duration::ZERO;
    let mut events = Vec::new();
    let mut known = 0;
    let lines = stdout.split_inclusive(|byte| *byte == b'\n');
    let mut times: Vec<Duration> = lines
        .enumerate()
        .map(|(index, line)| {
            events.clear();
            reader.line(without_end(line), Duration::ZERO, &mut events);
            let mut first = None;
            for event in &events {
                if let Some(place) = place(rest, discriminant(&event.kind)) {
                    first = first.or(Some(rest[place].at));
                    rest = &rest[place + 1..];
                }
            }
            if let Some(at) = first {
                now = at.max(now);
                known = index + 1;
            }
            now
        })
        .collect();
    if let Some(until) = until {
        spread(&mut times[known..], now, until);
    }
    times
}

/// Puts times evenly between two moments.
fn spread(times: &mut [Duration], from: Duration, until: Duration) {
    let parts = u32::try_from(times.len() + 1).unwrap_or(u32::MAX);
    let step = until.saturating_sub(from) / parts;
    let mut at = from;
    for time in times {
        at += step;
        *time = at;
    }
}

fn place(recorded: &[AgentEvent], wanted: Discriminant<EventKind>) -> Option<usize> {
    let near = recorded.iter().take(FURTHEST);
    near.into_iter()
        .position(|event| discriminant(&event.kind) == wanted)
}

fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_get_the_times_of_their_events() {
        let message = |at, text: &str| AgentEvent {
            at: Duration::from_millis(at),
            kind: EventKind::Message {
                text: text.to_owned(),
            },
        };
        let warning = AgentEvent {
            at: Duration::from_millis(20),
            kind: EventKind::Warning {
                text: "on standard error".to_owned(),
            },
        };
        let recorded = [
            message(10, "a"),
            warning,
            message(30, "b"),
            message(70, "c"),
        ];
        let times = line_times(AgentKind::Command, b"a\nb\r\nc", &recorded, None);
        assert_eq!(times, [10, 30, 70].map(Duration::from_millis));
    }

    #[test]
    fn without_recorded_events_all_lines_come_at_once() {
        assert_eq!(
            line_times(AgentKind::Command, b"a\nb\n", &[], None),
            [Duration::ZERO; 2]
        );
    }

    #[test]
    fn who_spoke_until_the_end_says_the_lines_without_events_evenly_up_to_then() {
        let recorded = [AgentEvent {
            at: Duration::from_millis(100),
            kind: EventKind::Message {
                text: "a".to_owned(),
            },
        }];
        let until = Some(Duration::from_millis(500));
        let times = line_times(AgentKind::Command, b"a\n\n\n\n", &recorded, until);
        assert_eq!(times, [100, 200, 300, 400].map(Duration::from_millis));
    }
}
