//! One command per file: each resolves its flags, asks one room to do the work, and tells what came of it.

pub(super) mod completions;
pub(super) mod estimate;
pub(super) mod init;
pub(super) mod rebuild;
pub(super) mod schema;
