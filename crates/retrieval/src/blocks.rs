//! An input in blocks of whole lines: another thread takes them apart while those before are put to use, in their order.

use std::io::{BufRead, Read as _};
use std::sync::mpsc::sync_channel;
use std::thread;

use memchr::{memchr_iter, memrchr};

use super::lines::{LONGEST, TOO_LONG, said};

/// A block is about so long, unless a line is longer.
const BLOCK: usize = 1 << 20;
/// So many blocks wait on each side of the other thread.
const AHEAD: usize = 2;

/// Some lines that follow each other.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) text: Vec<u8>,
    /// How many lines come before.
    before: u64,
}

impl Block {
    /// Lines that are not blank, with their numbers in the input from 1, and without their ends.
    pub(super) fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let mut rest = &self.text[..];
        let lines = std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = &rest[..end];
            rest = rest.get(end + 1..).unwrap_or_default();
            Some(line)
        });
        (self.before + 1..)
            .zip(lines)
            .filter_map(|(number, line)| Some((number, said(number, line)?)))
    }
}

/// Calls `take` with every block in another thread, and `each` here with the block and what came of it.
///
/// # Errors
/// What the input says, or a line that is too long, with the number of the line; blocks before it were given.
pub(super) fn each_block<T: Send>(
    input: &mut dyn BufRead,
    take: impl Fn(&Block) -> T + Send,
    mut each: impl FnMut(&Block, T),
) -> Result<(), (u64, String)> {
    thread::scope(|scope| {
        let (give, given) = sync_channel::<Block>(AHEAD);
        let (tell, told) = sync_channel(AHEAD);
        scope.spawn(move || {
            for block in given {
                let taken = take(&block);
                if tell.send((block, taken)).is_err() {
                    return;
                }
            }
        });
        let mut blocks = Blocks {
            input,
            begun: Vec::new(),
            before: 0,
            spare: Vec::new(),
            failed: None,
        };
        let mut waiting = 0;
        let ended = loop {
            match blocks.next() {
                Ok(Some(block)) => {
                    if give.send(block).is_err() {
                        break Ok(());
                    }
                    waiting += 1;
                }
                Ok(None) => break Ok(()),
                Err(problem) => break Err(problem),
            }
            if waiting > AHEAD
                && let Ok((block, taken)) = told.recv()
            {
                waiting -= 1;
                each(&block, taken);
                blocks.again(block.text);
            }
        };
        drop(give);
        for (block, taken) in told {
            each(&block, taken);
        }
        ended
    })
}

struct Blocks<'a> {
    input: &'a mut dyn BufRead,
    /// What was read after the last whole line.
    begun: Vec<u8>,
    before: u64,
    /// Memory of blocks that were put to use.
    spare: Vec<Vec<u8>>,
    /// Why reading failed, which is told behind the last whole line.
    failed: Option<String>,
}

impl Blocks<'_> {
    /// Takes memory back for blocks to come.
    fn again(&mut self, mut text: Vec<u8>) {
        text.clear();
        if text.capacity() <= 4 * BLOCK {
            self.spare.push(text);
        }
    }

    fn next(&mut self) -> Result<Option<Block>, (u64, String)> {
        loop {
            if let Some(why) = self.failed.take() {
                return Err((self.before + 1, why));
            }
            let looked = self.begun.len();
            // Straight to its place, and not by way of the buffer of the input.
            let read = self.input.take(BLOCK as u64).read_to_end(&mut self.begun);
            self.failed = read.err().map(|error| error.to_string());
            if let Some(end) = memrchr(b'\n', &self.begun[looked..]) {
                return Ok(Some(self.cut(looked + end + 1)));
            }
            if self.begun.len() > LONGEST {
                return Err((self.before + 1, TOO_LONG.to_owned()));
            }
            if self.begun.len() == looked && self.failed.is_none() {
                let text = std::mem::take(&mut self.begun);
                return Ok((!text.is_empty()).then(|| self.block(text)));
            }
        }
    }

    /// The block that ends here; what was read behind it begins the next one.
    fn cut(&mut self, end: usize) -> Block {
        let mut rest = self.spare.pop().unwrap_or_default();
        rest.reserve(2 * BLOCK);
        rest.extend_from_slice(&self.begun[end..]);
        self.begun.truncate(end);
        let text = std::mem::replace(&mut self.begun, rest);
        self.block(text)
    }

    fn block(&mut self, text: Vec<u8>) -> Block {
        let before = self.before;
        self.before += memchr_iter(b'\n', &text).count() as u64;
        Block { text, before }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Lines of the input as they are known from elsewhere.
    fn lines(text: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut lines = Vec::new();
        let mut input = text;
        super::super::lines::each_line(&mut input, |number, line| {
            lines.push((number, line.to_vec()));
        })
        .expect("lines");
        lines
    }

    #[test]
    fn blocks_hold_the_lines_of_the_input_in_their_order() {
        let short: String = "a line\n".repeat(400_000);
        let long = "x".repeat(3 * BLOCK);
        let odd = format!("\u{feff}first\n\n \r\n{long}\nafter\n{short}{long}\n\nlast");
        for text in [short.as_str(), &odd, "", "\n", "one", &long] {
            let mut got = Vec::new();
            let mut input = io::BufReader::with_capacity(1000, text.as_bytes());
            let ended = each_block(
                &mut input,
                |block| {
                    block
                        .lines()
                        .map(|(number, line)| (number, line.to_vec()))
                        .collect::<Vec<_>>()
                },
                |_, mut lines| got.append(&mut lines),
            );
            assert_eq!(ended, Ok(()));
            assert!(got == lines(text.as_bytes()), "{} bytes", text.len());
        }
    }

    #[test]
    fn what_cannot_be_read_has_its_line() {
        struct Broken(u8);
        impl io::Read for Broken {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                self.0 += 1;
                if self.0 > 3 {
                    return Err(io::Error::other("the disk is gone"));
                }
                into.fill(b'\n');
                Ok(into.len())
            }
        }
        let mut input = io::BufReader::with_capacity(BLOCK / 2, Broken(0));
        let ended = each_block(&mut input, |_| (), |_, ()| ());
        assert_eq!(
            ended,
            Err((1 + 3 * BLOCK as u64 / 2, "the disk is gone".to_owned()))
        );
    }
}
