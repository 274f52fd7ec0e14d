//! Recorded replies: a line of JSON each, found by the digest of the exact request.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::model::Usage;
use crate::record::{RecordError, Redactor, append_line, numbered_lines, read_appended};

/// One reply that could be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Recorded {
    /// Digest of the request.
    pub(super) request: String,
    /// Who was asked, for people.
    pub(super) judge: String,
    /// Its words.
    pub(super) reply: String,
    /// The model that answered, by its own account.
    #[serde(default)]
    pub(super) model: Option<String>,
    /// Tokens of the call that gave the reply.
    #[serde(default)]
    pub(super) tokens: Option<Tokens>,
    /// What all calls for it cost, in USD.
    #[serde(default)]
    pub(super) cost_usd: Option<f64>,
    /// How many calls it took.
    pub(super) calls: u32,
    /// When it came.
    pub(super) at: String,
}

/// Tokens as they are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tokens {
    input: u64,
    cached_read: u64,
    cache_write: u64,
    output: u64,
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        Self {
            input: usage.uncached_input,
            cached_read: usage.cached_read,
            cache_write: usage.cache_write,
            output: usage.output,
        }
    }
}

/// Whose turn it is to send one request.
type Turn = tokio::sync::Mutex<()>;

/// The file of recorded replies.
#[derive(Debug)]
pub(super) struct Recordings {
    path: PathBuf,
    known: Mutex<HashMap<String, Recorded>>,
    turns: Mutex<HashMap<String, Arc<Turn>>>,
    redactor: Redactor,
}

impl Recordings {
    /// Reads what is there. Lines that cannot be read are left out: their requests are asked again.
    ///
    /// # Errors
    /// A file that is there and cannot be read.
    pub(super) fn open(path: &Path, redactor: Redactor) -> io::Result<Self> {
        let bytes = read_appended(path)?;
        let lines = numbered_lines(&bytes);
        let lines = lines.filter_map(|(_, line)| serde_json::from_slice(line).ok());
        Ok(Self {
            path: path.to_path_buf(),
            known: Mutex::new(
                lines
                    .map(|recorded: Recorded| (recorded.request.clone(), recorded))
                    .collect(),
            ),
            turns: Mutex::default(),
            redactor,
        })
    }

    /// Held by whoever asks: the same request waits until its reply is there.
    pub(super) fn turn(&self, request: &str) -> Arc<Turn> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(request.to_owned()).or_default())
    }

    pub(super) fn find(&self, request: &str) -> Option<Recorded> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(request).cloned()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a reply, on disk when this returns.
    ///
    /// # Errors
    /// When it is not.
    pub(super) fn keep(&self, recorded: Recorded) -> Result<(), RecordError> {
        let line = serde_json::to_string(&recorded).unwrap_or_default();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        append_line(&self.path, &self.redactor.redact_json(&line))?;
        known.insert(recorded.request.clone(), recorded);
        Ok(())
    }
}
