//! Where requests meet the script: the answer to each, and how often its faults happened.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::Value;

use crate::answer::Answer;
use crate::asked::Asked;
use crate::kept::{Kept, KeptRequest};
use crate::script::{Play, Script, Tokens, Turn};
use crate::translate;

/// Faults that are counted per conversation; beyond so many, all are forgotten.
const MOST_COUNTED: usize = 10_000;

/// A conversation by its words, a play by its number, a turn of it.
type FaultPlace = (Vec<String>, usize, usize);

/// What all connections share.
#[derive(Debug)]
pub(super) struct Stage {
    script: Script,
    pub(super) kept: Kept,
    started: Instant,
    /// How often a fault happened, by conversation and turn.
    faults: Mutex<HashMap<FaultPlace, u32>>,
}

/// What a request gets.
pub(super) struct Cue<'a> {
    pub(super) play: Option<&'a Play>,
    pub(super) index: usize,
    /// The turn as it was written; `None` outside of a play.
    pub(super) turn: Option<&'a Turn>,
    pub(super) answer: Answer,
    pub(super) besides: bool,
}

impl Stage {
    pub(super) fn new(script: Script, kept: Kept) -> Self {
        Self {
            script,
            kept,
            started: Instant::now(),
            faults: Mutex::default(),
        }
    }

    /// A request of which nothing but its arrival is known.
    pub(super) fn arrived(&self) -> KeptRequest {
        let at_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        KeptRequest {
            at_ms,
            body: Value::Null,
            ..KeptRequest::default()
        }
    }

    /// Finds the answer to a request.
    pub(super) fn cue(&self, asked: &Asked) -> Cue<'_> {
        let plain = |say: &str, besides| Cue {
            play: None,
            index: 0,
            turn: None,
            answer: Answer {
                say: say.to_owned(),
                usage: Tokens {
                    input: 50,
                    output: 5,
                    ..Tokens::default()
                },
                ..Answer::default()
            },
            besides,
        };
        if asked.tools.is_empty() {
            return plain("A scripted answer", true);
        }
        let Some((number, play)) = self.script.play(&asked.words) else {
            return plain("No play of the script fits this conversation.", false);
        };
        let index = self.turn(asked, (number, play));
        let turn = &play.turns[index];
        let calls = translate::calls(turn, asked);
        let answer = Answer {
            think: turn.think.clone(),
            // The words come with the turn itself, not with a search before it.
            say: if translate::is_search(&calls) {
                String::new()
            } else {
                turn.say.clone()
            },
            calls,
            usage: turn.usage,
        };
        Cue {
            play: Some(play),
            index,
            turn: Some(turn),
            answer,
            besides: false,
        }
    }

    /// Which turn comes next: results that are there end the turns that asked for them.
    fn turn(&self, asked: &Asked, play: (usize, &Play)) -> usize {
        let (number, play) = play;
        let mut seen = 0;
        for (index, turn) in play.turns.iter().enumerate() {
            if index + 1 == play.turns.len() {
                break;
            }
            if (turn.fault.is_some() || turn.cut) && !self.over(asked, turn, (number, index)) {
                return index;
            }
            let owed = if turn.fault.is_some() || turn.cut {
                0
            } else {
                translate::owed(turn, asked)
            };
            if seen + owed > asked.results.len() {
                return index;
            }
            seen += owed;
        }
        play.turns.len() - 1
    }

    /// Whether a fault has happened as often as it shall in this conversation; counts this one.
    fn over(&self, asked: &Asked, turn: &Turn, place: (usize, usize)) -> bool {
        let Some(times) = turn.times else {
            return false;
        };
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        if faults.len() > MOST_COUNTED {
            faults.clear();
        }
        let mut conversation = asked.words.clone();
        conversation.extend(asked.cwd.clone());
        let count = faults.entry((conversation, place.0, place.1)).or_default();
        *count += 1;
        *count > times
    }
}
