//! Redaction of bytes that come piece by piece.

use std::borrow::Cow;
use std::sync::Arc;

use crate::secret_search::SecretSearch;

/// Removes secrets from bytes that come piece by piece; holds back less than the longest secret.
pub struct StreamRedactor {
    search: Option<Arc<SecretSearch>>,
    held: Vec<u8>,
    /// Whether any secret was replaced.
    pub(super) found_any: bool,
}

impl StreamRedactor {
    pub(super) fn new(search: Option<Arc<SecretSearch>>) -> Self {
        Self {
            search,
            held: Vec::new(),
            found_any: false,
        }
    }

    /// Takes the next piece, and returns what may be written now.
    #[must_use]
    pub fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(search) = &self.search else {
            return Cow::Borrowed(bytes);
        };
        self.held.extend_from_slice(bytes);
        let mut output = Vec::with_capacity(self.held.len());
        let settled = search.replace_settled(&self.held, &mut output);
        self.found_any |= settled.found_any;
        self.held.drain(..settled.end);
        Cow::Owned(output)
    }

    /// What was held back, when nothing more comes.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        let rest = std::mem::take(&mut self.held);
        match &self.search {
            // What begins a longer secret may hold a shorter one.
            Some(search) if search.finds(&rest) => {
                self.found_any = true;
                search.replaced_bytes(&rest)
            }
            _ => rest,
        }
    }
}
