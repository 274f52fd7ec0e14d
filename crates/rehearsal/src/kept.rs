//! What clients asked, kept for whoever wants to look.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde_json::Value;

use crate::script::Tokens;

/// One request and what came of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct KeptRequest {
    /// Milliseconds since the server started.
    pub at_ms: u64,
    /// `POST`, ...
    pub method: String,
    /// The path, without its query.
    pub path: String,
    /// Headers; values of those that log in are left out.
    pub headers: Vec<(String, String)>,
    /// The body; what was no JSON is a text.
    pub body: Value,
    /// `anthropic`, `responses`, `chat`, `gemini`; empty where no answer was wanted.
    pub dialect: &'static str,
    /// The play that fit, if any.
    pub play: Option<String>,
    /// Which of its turns was given, from 0.
    pub turn: usize,
    /// A question besides, without any tool (a title, a summary): it is answered outside of the play.
    pub besides: bool,
    /// The status of the answer.
    pub status: u16,
    /// The counts that a whole answer told; `None` for faults and cuts.
    pub usage: Option<Tokens>,
}

/// Requests up to some bytes, the newest of them; and all of them in a file.
#[derive(Debug)]
pub(super) struct Kept {
    inner: Mutex<Inner>,
    most: usize,
}

#[derive(Debug)]
struct Inner {
    requests: VecDeque<(KeptRequest, usize)>,
    bytes: usize,
    file: Option<File>,
}

impl Kept {
    /// Keeps bodies of `most` bytes together in memory, and everything in `file`.
    pub(super) fn new(most: usize, file: Option<File>) -> Self {
        let inner = Inner {
            requests: VecDeque::new(),
            bytes: 0,
            file,
        };
        Self {
            inner: Mutex::new(inner),
            most,
        }
    }

    pub(super) fn add(&self, request: KeptRequest, weight: usize) {
        let mut inner = self.inner();
        if let Some(file) = &mut inner.file
            && let Ok(mut line) = serde_json::to_vec(&request)
        {
            line.push(b'\n');
            if let Err(error) = file.write_all(&line) {
                tracing::warn!(%error, "a request could not be written down");
            }
        }
        inner.bytes += weight;
        inner.requests.push_back((request, weight));
        while inner.bytes > self.most && inner.requests.len() > 1 {
            if let Some((_, weight)) = inner.requests.pop_front() {
                inner.bytes -= weight;
            }
        }
    }

    pub(super) fn all(&self) -> Vec<KeptRequest> {
        let inner = self.inner();
        inner
            .requests
            .iter()
            .map(|(request, _)| request.clone())
            .collect()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
