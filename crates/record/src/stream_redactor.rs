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
        let held = std::mem::take(&mut self.held);
        let all = if held.is_empty() {
            Cow::Borrowed(bytes)
        } else {
            Cow::Owned([&held, bytes].concat())
        };
        let settled = search.settle(&all);
        self.found_any |= settled.replaced.is_some();
        self.held = all[settled.end..].to_vec();
        match (settled.replaced, all) {
            (Some(replaced), _) => Cow::Owned(replaced),
            (None, Cow::Borrowed(all)) => Cow::Borrowed(&all[..settled.end]),
            (None, Cow::Owned(mut all)) => {
                all.truncate(settled.end);
                Cow::Owned(all)
            }
        }
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
