//! Secrets in bytes that come piece by piece.

use std::sync::Arc;

use crate::redact_search::Search;

/// Removes secrets from bytes that come piece by piece; holds back no more than the beginning of one.
pub struct Sieve {
    search: Option<Arc<Search>>,
    held: Vec<u8>,
}

impl Sieve {
    pub(super) fn new(search: Option<Arc<Search>>) -> Self {
        Self {
            search,
            held: Vec::new(),
        }
    }

    /// Gives `keep` what may be written now, in one piece or two.
    pub fn pass(&mut self, bytes: &[u8], mut keep: impl FnMut(&[u8])) {
        let Some(search) = &self.search else {
            return keep(bytes);
        };
        if self.is_apart(search, bytes) && !search.finds(bytes) {
            let sure = search.open_end(bytes, 0);
            if !self.held.is_empty() {
                keep(&self.held);
            }
            self.held.clear();
            self.held.extend_from_slice(&bytes[sure..]);
            return keep(&bytes[..sure]);
        }
        self.held.extend_from_slice(bytes);
        keep(&self.let_go(false));
    }

    /// Whether no secret begins in what was held back and ends in these bytes.
    fn is_apart(&self, search: &Search, bytes: &[u8]) -> bool {
        if self.held.is_empty() {
            return true;
        }
        // Less could leave what was held back the beginning of one.
        if bytes.len() < search.longest {
            return false;
        }
        let seam = [&self.held, &bytes[..search.longest]].concat();
        !search.finds(&seam)
    }

    /// What was held back, when nothing more comes.
    pub fn rest(&mut self) -> Vec<u8> {
        self.let_go(true)
    }

    fn let_go(&mut self, is_all: bool) -> Vec<u8> {
        let mut output = Vec::new();
        if let Some(search) = &self.search {
            // Writing to memory does not fail.
            let strained = search.strain(&self.held, is_all, &mut output);
            let (_, done) = strained.unwrap_or_default();
            self.held.drain(..done);
        }
        output
    }
}
