//! The ways in which programs spell one character.

/// So many backslashes stand before one that was escaped three times over.
const MOST_BACKSLASHES: usize = 8;

/// A character and its spellings.
pub(super) struct Character {
    /// As it is; also behind backslashes where `is_escapable`.
    plain: Box<str>,
    is_escapable: bool,
    is_backslash: bool,
    /// What stands behind backslashes only.
    escaped: Vec<String>,
    /// For each byte whether something that stands behind backslashes begins with it.
    may_follow: Vec<bool>,
    /// What stands for it by itself.
    coded: Vec<String>,
}

impl Character {
    pub(super) fn of(one: char) -> Self {
        let escaped = escaped(one);
        let mut may_follow = vec![false; 256];
        let plain = one.to_string();
        for byte in escaped
            .iter()
            .chain([&plain])
            .map(|text| text.as_bytes()[0])
        {
            may_follow[usize::from(byte)] = true;
            may_follow[usize::from(byte.to_ascii_uppercase())] = true;
        }
        Self {
            plain: plain.into(),
            may_follow,
            is_escapable: one.is_ascii_punctuation() || one == ' ',
            is_backslash: one == '\\',
            escaped,
            coded: coded(one),
        }
    }

    /// How many bytes it takes at most.
    pub(super) fn longest(&self) -> usize {
        let length = |all: &[String]| all.iter().map(String::len).max().unwrap_or(0);
        let behind = self.plain.len().max(length(&self.escaped));
        length(&self.coded).max(MOST_BACKSLASHES + behind)
    }

    /// The bytes that it may begin with.
    pub(super) fn first_bytes(&self) -> Vec<u8> {
        let coded = self.coded.iter().map(|text| text.as_bytes()[0]);
        let mut bytes: Vec<u8> = coded.chain([self.plain.as_bytes()[0], b'\\']).collect();
        bytes.sort_unstable();
        bytes.dedup();
        bytes
    }

    /// All bytes that it may be made of.
    pub(super) fn bytes(&self) -> impl Iterator<Item = u8> {
        let texts = self.escaped.iter().chain(&self.coded);
        let bytes = texts.flat_map(|text| text.bytes());
        let both =
            bytes.flat_map(|byte| [byte, byte.to_ascii_uppercase(), byte.to_ascii_lowercase()]);
        both.chain(self.plain.bytes()).chain([b'\\'])
    }

    /// Adds where it may begin, if it ends at `end`.
    pub(super) fn before(&self, bytes: &[u8], end: usize, starts: &mut Vec<usize>) {
        let bytes = &bytes[..end];
        let before = |start: usize| {
            let bytes = bytes[..start].iter().rev();
            let backslashes = bytes.take_while(|byte| **byte == b'\\');
            backslashes.take(MOST_BACKSLASHES).count()
        };
        if self.is_backslash {
            starts.extend(backslashes(before(end)).map(|count| end - count));
        } else if bytes.ends_with(self.plain.as_bytes()) {
            let start = end - self.plain.len();
            let most = if self.is_escapable { before(start) } else { 0 };
            starts.extend((0..=most).map(|count| start - count));
        }
        for text in &self.escaped {
            if ends_with(bytes, text) {
                let start = end - text.len();
                starts.extend((1..=before(start)).map(|count| start - count));
            }
        }
        let coded = self.coded.iter().filter(|text| ends_with(bytes, text));
        starts.extend(coded.map(|text| end - text.len()));
    }

    /// Adds where it may end, if it begins at `start`; whether the bytes end before it may.
    pub(super) fn after(&self, bytes: &[u8], start: usize, ends: &mut Vec<usize>) -> bool {
        let rest = &bytes[start..];
        let run = rest.iter().take_while(|byte| **byte == b'\\');
        let run = run.take(MOST_BACKSLASHES + 1).count();
        // Most backslashes begin something else.
        let follows = rest.get(run).filter(|_| run > 0 && !self.is_backslash);
        if follows.is_some_and(|byte| !self.may_follow[usize::from(*byte)]) {
            return false;
        }
        let (mut is_cut, can_go_on) = (rest.is_empty(), run < MOST_BACKSLASHES);
        let mut is_next = |at: usize, text: &str, exactly: bool| {
            let there = &rest[at..];
            let there = &there[..there.len().min(text.len())];
            let (text, length) = (text.as_bytes(), there.len());
            let same = if exactly {
                *there == text[..length]
            } else {
                there.eq_ignore_ascii_case(&text[..length])
            };
            is_cut |= same && length < text.len();
            same && length == text.len()
        };
        if self.is_backslash {
            ends.extend(backslashes(run).map(|count| start + count));
        } else if (run == 0 || self.is_escapable && run <= MOST_BACKSLASHES)
            && is_next(run, &self.plain, true)
        {
            ends.push(start + run + self.plain.len());
        }
        if (1..=MOST_BACKSLASHES).contains(&run) {
            for text in &self.escaped {
                if is_next(run, text, false) {
                    ends.push(start + run + text.len());
                }
            }
        }
        for text in &self.coded {
            if is_next(0, text, false) {
                ends.push(start + text.len());
            }
        }
        is_cut || self.is_backslash && can_go_on && run == rest.len()
    }
}

/// How many backslashes may stand for one, of so many.
fn backslashes(run: usize) -> impl Iterator<Item = usize> {
    [1, 2, 4, MOST_BACKSLASHES]
        .into_iter()
        .filter(move |count| *count <= run)
}

fn ends_with(bytes: &[u8], text: &str) -> bool {
    let start = bytes.len().checked_sub(text.len());
    start.is_some_and(|start| bytes[start..].eq_ignore_ascii_case(text.as_bytes()))
}

/// As JSON, JavaScript, Rust, Python and C have it, without the first backslashes.
fn escaped(one: char) -> Vec<String> {
    let code = u32::from(one);
    let mut all = vec![format!("u{{{code:x}}}"), format!("u{{{code:04x}}}")];
    let letter = match one {
        '\n' => Some("n"),
        '\r' => Some("r"),
        '\t' => Some("t"),
        '\u{8}' => Some("b"),
        '\u{c}' => Some("f"),
        _ => None,
    };
    all.extend(letter.map(str::to_owned));
    if code < 256 {
        all.push(format!("x{code:02x}"));
    }
    let units = one.encode_utf16(&mut [0; 2]).to_vec();
    let units: Vec<String> = units.iter().map(|unit| format!("u{unit:04x}")).collect();
    let bytes = one.to_string().into_bytes();
    let hex: Vec<String> = bytes.iter().map(|byte| format!("x{byte:02x}")).collect();
    let octal: Vec<String> = bytes.iter().map(|byte| format!("{byte:03o}")).collect();
    for parts in [units, hex, octal] {
        for count in backslashes(4) {
            all.push(parts.join(&"\\".repeat(count)));
        }
    }
    // The sign that begins them is one that JSON for pages escapes.
    all.extend(of_pages(one).map(|text| format!("u0026{text}")));
    all.sort_unstable();
    all.dedup();
    all
}

/// As addresses, pages, mail and shells have it.
fn coded(one: char) -> Vec<String> {
    let bytes = one.to_string().into_bytes();
    let coded = |sign: &str| {
        let bytes = bytes.iter().map(|byte| format!("{sign}{byte:02x}"));
        bytes.collect::<Vec<_>>().concat()
    };
    let mut all: Vec<String> = vec![coded("%"), coded("%25"), coded("=")];
    for sign in ["&", "&amp;"] {
        all.extend(of_pages(one).map(|text| format!("{sign}{text}")));
    }
    match one {
        ' ' => all.push("+".to_owned()),
        '\'' => all.extend(["'\\''", "'\\\\''", "'\"'\"'", "'\\\"'\\\"'"].map(str::to_owned)),
        _ => {}
    }
    all
}

/// By number and by name, without the first sign.
fn of_pages(one: char) -> impl Iterator<Item = String> {
    let code = u32::from(one);
    let name = match one {
        '&' => Some("amp;"),
        '<' => Some("lt;"),
        '>' => Some("gt;"),
        '"' => Some("quot;"),
        '\'' => Some("apos;"),
        _ => None,
    };
    let mut numbers = vec![
        format!("#{code};"),
        format!("#{code:03};"),
        format!("#x{code:x};"),
        format!("#x{code:02x};"),
        format!("#x{code:04x};"),
    ];
    numbers.dedup();
    numbers.into_iter().chain(name.map(str::to_owned))
}
