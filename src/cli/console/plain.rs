//! A line for each thing that happened: no cursor tricks, nothing that changes.

use std::io::Write;

use crate::cli::console::words::Line;
use crate::cli::console::{Mode, View};

/// Writes lines to standard error.
pub(super) struct Plain {
    view: View,
    stderr: anstream::AutoStream<std::io::Stderr>,
}

impl Plain {
    pub(super) fn new(view: View) -> Self {
        Self {
            view,
            stderr: view.colour.stderr(),
        }
    }

    pub(super) fn print(&mut self, lines: &[Line]) {
        for line in lines {
            let text = match line {
                Line::Step(text) if self.view.mode != Mode::Quiet => text,
                Line::Agent(text) if self.view.stream => text,
                Line::Urgent(text) => text,
                Line::Step(_) | Line::Agent(_) => continue,
            };
            // Whoever listened may be gone; the run goes on.
            drop(writeln!(self.stderr, "{text}"));
        }
    }
}
