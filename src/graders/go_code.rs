//! Where code of Go has something: comments and strings are looked past.

/// Where the function begins that runs the tests of a package, if there is one.
pub(super) fn test_main_at(text: &str) -> Option<usize> {
    let code = code(text);
    let is_main = |at: &usize| {
        let (before, found) = code.split_at(*at);
        let after = &found["func".len()..];
        let name = after.trim_start();
        let is_word = !before.ends_with(|one: char| one.is_alphanumeric() || one == '_');
        let opens = name.strip_prefix("TestMain").map(str::trim_start);
        is_word && name.len() < after.len() && opens.is_some_and(|it| it.starts_with('('))
    };
    let mut places = code.match_indices("func").map(|(at, _)| at);
    places.find(is_main)
}

/// The code alone: blanks stand for each byte of comments and strings, but lines stay lines.
fn code(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let hidden = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => closed(rest, 2, "*/"),
            '`' => closed(rest, 1, "`"),
            '"' | '\'' => quoted(rest, first),
            _ => 0,
        };
        if hidden == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (skipped, after) = rest.split_at(hidden);
        let blanks = skipped.bytes().map(|byte| match byte {
            b'\n' => '\n',
            _ => ' ',
        });
        code.extend(blanks);
        rest = after;
    }
    code
}

/// How long something is that begins with so many bytes and goes on until `end`.
fn closed(text: &str, begins: usize, end: &str) -> usize {
    let inside = &text[begins..];
    let found = inside.find(end).map(|at| begins + at + end.len());
    found.unwrap_or(text.len())
}

/// How long a text in these quotes is, which ends with its line.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (place, one) in text.char_indices().skip(1) {
        match one {
            '\n' => return place,
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if one == quote => return place + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_that_runs_tests_is_found_however_it_is_spelt() {
        for main in [
            "func TestMain(m *testing.M) {}",
            "  func\tTestMain (m *testing.M) {}",
            "func /*x*/ TestMain /*y*/ (m *testing.M) {}",
            "func/*x*/TestMain(m *testing.M) {}",
            "func // x\nTestMain(m *testing.M) {}",
            "func /* é \n */ TestMain(m *testing.M) {}",
        ] {
            for before in [
                "",
                "package a\n",
                "var é = '\"'; ",
                "/* ` */ ",
                "`\\`; \"\\\"\"; ",
            ] {
                let text = format!("{before}{main}");
                let found = test_main_at(&text).map(|at| text[at..].trim_start().to_owned());
                assert_eq!(found.as_deref(), Some(main.trim_start()), "{text}");
            }
        }
    }

    #[test]
    fn what_only_looks_like_it_is_not() {
        for text in [
            "",
            "// func TestMain(m *testing.M) {}",
            "/* func TestMain(m *testing.M) {} */",
            "var a = `\nfunc TestMain(m *testing.M) {}\n`",
            "var a = \"func TestMain(m)\"",
            "func (a A) TestMain(m *testing.M) {}",
            "func TestMainly(m *testing.M) {}",
            "func aTestMain(m *testing.M) {}",
            "func TestMain",
            "myfunc TestMain(",
            "funcTestMain(",
        ] {
            assert_eq!(test_main_at(text), None, "{text}");
        }
    }
}
