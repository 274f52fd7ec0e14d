//! What the pages in `docs` show, for tests that try it.

use std::fs;
use std::path::Path;

/// A page by its name.
pub(crate) fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name);
    fs::read_to_string(path).expect("the page")
}

/// What stands in a block of a page: from behind these words, each looked for behind the one before it, to the block's end.
pub(crate) fn block(name: &str, behind: &[&str]) -> String {
    let page = page(name);
    let mut rest = page.as_str();
    for words in behind {
        (_, rest) = rest.split_once(words).expect("the place");
    }
    rest.split_once("```").expect("its end").0.to_owned()
}
