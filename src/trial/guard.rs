//! What a task says about paths, ready to be asked.

use std::path::Path;

use crate::config::{GraderSpec, TaskSpec};
use crate::graders::Globs;

/// What a task says about paths.
#[derive(Debug)]
pub struct Guard {
    /// Paths that count though the base commit ignores them.
    counts: Globs,
}

impl Guard {
    /// The guard of a task.
    ///
    /// # Errors
    /// When a pattern is none; says which.
    pub fn of(task: &TaskSpec, subdir: &Path) -> Result<Self, String> {
        let mut counts = task.carry.clone();
        for grader in &task.graders {
            match grader {
                GraderSpec::GitDiffForbidden { forbidden_globs } => {
                    counts.extend(forbidden_globs.iter().cloned());
                }
                GraderSpec::ScreenshotExists { path }
                | GraderSpec::ScreenshotCompare { path, .. } => {
                    counts.push(globset_escape(&path.to_string_lossy()));
                }
                GraderSpec::Command { .. }
                | GraderSpec::IosTestPass(_)
                | GraderSpec::IosInstallCheck
                | GraderSpec::IosLaunchCheck
                | GraderSpec::Unknown { .. } => {}
            }
        }
        Ok(Self {
            counts: Globs::new(&counts, subdir)?,
        })
    }

    /// Whether a path counts though the base commit ignores it.
    #[must_use]
    pub fn counts(&self, path: &Path) -> bool {
        self.counts.matter(path)
    }
}

/// A path as a pattern that means it alone.
fn globset_escape(path: &str) -> String {
    path.chars()
        .flat_map(|character| {
            let special = "*?[]{}\\".contains(character);
            special.then_some('\\').into_iter().chain([character])
        })
        .collect()
}
