//! What the pages in `docs` show, for tests that try it.

use std::fs;
use std::path::Path;

/// What stands in a block of a page: from behind these words, each looked for behind the one before it, to the block's end.
pub(crate) fn block(name: &str, behind: &[&str]) -> String {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let page = fs::read_to_string(docs.join(name)).expect("the page");
    let mut rest = page.as_str();
    for words in behind {
        (_, rest) = rest.split_once(words).expect("the place");
    }
    rest.split_once("```").expect("its end").0.to_owned()
}
