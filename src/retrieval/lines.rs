//! An input line by line, in one buffer that does not stay large after a large line.

use std::io::{self, BufRead, Read as _};

/// A line above this is no record.
const LONGEST: u64 = 256 << 20;
/// A buffer above this is given back.
const KEPT: usize = 8 << 20;

/// Calls `each` with every line that is not blank and its number from 1, without its end; stops where reading fails.
///
/// # Errors
/// What the input says, or a line that is too long.
pub(super) fn each_line(
    input: &mut dyn BufRead,
    mut each: impl FnMut(u64, &[u8]),
) -> Result<(), (u64, String)> {
    let mut line = Vec::new();
    for number in 1.. {
        let read = read_line(input, &mut line).map_err(|error| (number, error.to_string()))?;
        if !read {
            break;
        }
        if line.len() as u64 > LONGEST {
            return Err((number, "is longer than 256 MiB".to_owned()));
        }
        let mut text = line.strip_suffix(b"\n").unwrap_or(&line);
        if number == 1 {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if !text.trim_ascii().is_empty() {
            each(number, text);
        }
        if line.capacity() > KEPT {
            line = Vec::new();
        }
    }
    Ok(())
}

fn read_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    Ok(input.take(LONGEST + 2).read_until(b'\n', line)? > 0)
}
