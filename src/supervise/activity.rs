//! What a child does that is not heard: files that grow, memory that it takes.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::clock::TICK;
use super::processes;

/// The longest wait between two samples of a child's memory.
const SAMPLES_APART: Duration = Duration::from_secs(2);

/// Files whose growth counts as activity.
pub(super) struct ActivityFiles {
    seen: Vec<(PathBuf, Option<Look>)>,
}

type Look = (u64, SystemTime);

impl ActivityFiles {
    pub(super) fn new(files: &[PathBuf]) -> Self {
        let seen = files
            .iter()
            .map(|path| (path.clone(), look_at(path)))
            .collect();
        Self { seen }
    }

    /// When one of them last changed, if any did since the last look.
    pub(super) fn last(&mut self, now: Duration) -> Option<Duration> {
        let wall = SystemTime::now();
        let mut last = None;
        for (path, before) in &mut self.seen {
            let look = look_at(path);
            if look != *before
                && let Some((_, changed)) = look
            {
                let age = wall.duration_since(changed).unwrap_or_default();
                last = last.max(Some(now.saturating_sub(age)));
            }
            *before = look;
        }
        last
    }
}

fn look_at(path: &PathBuf) -> Option<Look> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.len(), metadata.modified().ok()?))
}

/// Peak memory of the first process: sampled, since only the parent's wait could tell it exactly.
#[derive(Default)]
pub(super) struct MemorySamples {
    pub(super) highest: Option<u64>,
    next: Duration,
}

impl MemorySamples {
    pub(super) fn are_due(&self, now: Duration) -> bool {
        now >= self.next.max(TICK / 2)
    }

    pub(super) fn take(&mut self, now: Duration, pid: u32) {
        self.highest = self.highest.max(processes::peak_memory_kib(pid));
        self.next = now + now.min(SAMPLES_APART);
    }
}
