//! A small suite for the tests of this room.

use std::path::Path;

use proctor_config::{LoadBytes, LoadRequest, Suite, load_bytes};

/// The suite that this config asks for in this folder, with one task.
pub(super) fn suite(folder: &Path, config: &str) -> Suite {
    let loaded = load_bytes(&LoadBytes {
        request: LoadRequest {
            config: &folder.join("config.yaml"),
            tasks: &folder.join("tasks.yaml"),
            check_files: false,
        },
        config: config.as_bytes(),
        tasks: Some(b"- {id: t, prompt: p, graders: [{type: command, argv: ['true']}]}"),
    });
    loaded.expect("a suite")
}
