//! Words that speak of tests in names and lines: as words, not inside of others.

/// What speaks of tests.
pub(super) const TEST_WORDS: &[&str] = &["test", "spec", "check", "coverage"];

/// Words that end in "test" and mean something else.
#[rustfmt::skip]
const NO_TESTS: [&str; 23] = [
    "latest", "greatest", "fastest", "shortest", "contest", "protest", "attest", "detest", "lightest", "brightest", "smartest", "strictest",
    "tightest", "softest", "cutest", "neatest", "hottest", "flattest", "quietest", "slightest", "straightest", "sweetest", "whitest",
];

/// How words begin that begin with "test" and mean something else.
const NO_TEST: [&str; 4] = ["testam", "testif", "testim", "testos"];

/// Whether one of `words` is in a text, as one of its words.
pub(super) fn speaks(text: &str, words: &[&str]) -> bool {
    let mut parts = parts(text).into_iter();
    parts.any(|part| words.iter().any(|word| is_form(&part, word)))
}

/// The words of a text in small letters: `runUITests_2` is run, ui, tests.
fn parts(text: &str) -> Vec<String> {
    let all: Vec<char> = text.chars().collect();
    let mut parts = vec![String::new()];
    for (place, one) in all.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|place| all.get(place));
        let after = all.get(place + 1);
        let is = |it: Option<&char>, small: bool| {
            it.is_some_and(|it| {
                if small {
                    it.is_lowercase()
                } else {
                    it.is_uppercase()
                }
            })
        };
        let begins =
            one.is_uppercase() && (is(before, true) || is(before, false) && is(after, true));
        if begins || !one.is_alphabetic() {
            parts.push(String::new());
        }
        if let Some(last) = parts.last_mut().filter(|_| one.is_alphabetic()) {
            last.extend(one.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

/// Whether `part` is `word`, or a form of it.
fn is_form(part: &str, word: &str) -> bool {
    let plain = ["s", "ing", "er", "ers", "ed"].iter().find_map(|end| {
        let plain = part.strip_suffix(end)?;
        plain.ends_with(word).then_some(plain)
    });
    let plain = plain.unwrap_or(part);
    match word {
        // Of runners, as in `pytest`, and of tools, as in `testbed`.
        "test" => {
            (plain.ends_with(word) && !NO_TESTS.contains(&plain))
                || (part.starts_with(word) && !NO_TEST.iter().any(|no| part.starts_with(no)))
        }
        "check" => plain.ends_with(word),
        "spec" => [word, "rspec"].contains(&plain),
        _ => part == word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_tests_are_words_of_their_own() {
        for text in [
            "test",
            "tests",
            "run_tests",
            "runTests",
            "UITests",
            "XCTest",
            "pytest11",
            "unittest",
            "testImplementation",
            "add_test(",
            "enable_testing()",
            "integrationTest",
            "test2json",
            "TESTS",
            "nextest",
            "check",
            "pre-check",
            "distcheck",
            "spec/a",
            "rspec",
            "FooSpec",
            "coverage",
            "vitest",
            "tested",
            "a.test.js",
            "testcase",
            "doctests",
        ] {
            assert!(speaks(text, TEST_WORDS), "{text}");
        }
        for text in [
            "CheckoutView",
            "checksum.c",
            "com.x:inspector:1",
            "latest",
            "specific",
            "Attestation",
            "contest",
            "protested",
            "testimonials",
            "checkbox",
            "gemspec",
            "aspect",
            "fastest",
            "special",
            "inspection",
            "",
            "jest",
        ] {
            assert!(!speaks(text, TEST_WORDS), "{text}");
        }
        assert!(speaks("replace a => ./b", &["replace"]));
        assert!(!speaks("x/replacer v1", &["replace"]));
    }
}
