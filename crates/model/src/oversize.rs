//! Changes that are more than graders take.

use serde::{Deserialize, Serialize};

/// How much was changed where it is too much to grade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Oversize {
    /// Files, links and special files that were added or changed; removed ones are no burden to graders.
    pub paths: u64,
    /// Bytes of the files among them.
    pub bytes: u64,
}

impl Oversize {
    /// More of these paths are not graded.
    pub const MAX_PATHS: u64 = 20_000;
    /// More changed bytes than this are not graded.
    pub const MAX_BYTES: u64 = 512 << 20;
}
