//! The live view on a terminal: a line for each running trial, a summary below, finished trials above.

use std::io::Stderr;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcgetpgrp, tcsetattr};

use crate::cli::console::View;
use crate::cli::console::board::Board;
use crate::cli::console::picture::{Room, picture};
use crate::cli::console::words::Line;
use crate::cli::out::{speaks_unicode, terminal_height, terminal_width};

/// Draws on standard error, and leaves nothing behind when it is closed.
pub(super) struct Live {
    view: View,
    colour: bool,
    bar: ProgressBar,
    _echo: NoControlEcho,
}

/// While it lives, the terminal shows no `^C` for Ctrl-C: its two characters would move the lines that are drawn in place.
struct NoControlEcho {
    had_it: bool,
}

impl NoControlEcho {
    fn begin() -> Self {
        let had_it = control_echo(false) == Some(true);
        Self { had_it }
    }
}

impl Drop for NoControlEcho {
    fn drop(&mut self) {
        if self.had_it {
            control_echo(true);
        }
    }
}

/// Switches the echo of control characters and says what it was. Only the terminal's foreground may: others would be stopped.
fn control_echo(wanted: bool) -> Option<bool> {
    let terminal: Stderr = std::io::stderr();
    if tcgetpgrp(&terminal).ok()? != rustix::process::getpgrp() {
        return None;
    }
    let mut modes = tcgetattr(&terminal).ok()?;
    let was = modes.local_modes.contains(LocalModes::ECHOCTL);
    modes.local_modes.set(LocalModes::ECHOCTL, wanted);
    tcsetattr(&terminal, OptionalActions::Now, &modes).ok()?;
    Some(was)
}

impl Live {
    pub(super) fn new(view: View) -> Self {
        let style =
            ProgressStyle::with_template("{msg}").expect("the template has one known field");
        let bar =
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_style(style);
        Self {
            view,
            colour: view.colour.on_stderr(),
            bar,
            _echo: NoControlEcho::begin(),
        }
    }

    pub(super) fn print(&self, lines: &[Line]) {
        for line in lines {
            match line {
                Line::Agent(_) if !self.view.stream => {}
                Line::Step(text) | Line::Agent(text) | Line::Urgent(text) => {
                    self.bar.println(self.painted(text));
                }
            }
        }
    }

    pub(super) fn redraw(&self, board: &Board, now: Instant) {
        let stderr = std::io::stderr();
        let room = Room {
            width: terminal_width(&stderr).map_or(80, usize::from),
            height: terminal_height(&stderr).map_or(24, usize::from),
            unicode: speaks_unicode(),
        };
        let text = picture(board, now, room).join("\n");
        self.bar.set_message(self.painted(&text));
        self.bar.tick();
    }

    pub(super) fn close(&self) {
        self.bar.finish_and_clear();
    }

    fn painted(&self, text: &str) -> String {
        if self.colour {
            text.to_owned()
        } else {
            anstream::adapter::strip_str(text).to_string()
        }
    }
}
