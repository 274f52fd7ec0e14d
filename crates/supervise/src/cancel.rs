//! A person's wish to stop, seen by all who run children.

use std::sync::Arc;

use tokio::sync::watch;

/// How often a person has asked to stop: once stops children by the ladder, twice kills them.
#[derive(Debug, Clone)]
pub struct Cancel {
    level: Arc<watch::Sender<u32>>,
}

impl Cancel {
    /// Nobody has asked yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            level: Arc::new(watch::Sender::new(0)),
        }
    }

    /// Asks once more, and says how often it has been asked now.
    #[expect(clippy::must_use_candidate, reason = "the wish counts, not the answer")]
    pub fn request(&self) -> u32 {
        let mut now = 0;
        self.level.send_modify(|level| {
            *level = level.saturating_add(1);
            now = *level;
        });
        now
    }

    /// How often it has been asked.
    #[must_use]
    pub fn level(&self) -> u32 {
        *self.level.borrow()
    }

    /// Waits until it has been asked `level` times.
    pub async fn reached(&self, level: u32) {
        let mut changes = self.level.subscribe();
        if changes.wait_for(|now| *now >= level).await.is_err() {
            // The sender lives in `self`; without it nobody can ask any more.
            std::future::pending::<()>().await;
        }
    }
}

impl Default for Cancel {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn each_request_raises_the_level_for_all_clones() {
        let cancel = Cancel::new();
        let other = cancel.clone();
        assert_eq!(cancel.level(), 0);
        assert_eq!(other.request(), 1);
        cancel.reached(1).await;
        let waiting = tokio::spawn(async move { cancel.reached(2).await });
        assert_eq!(other.request(), 2);
        waiting.await.expect("the waiter ends");
    }
}
