//! What a terminal shows while many kernels are compiled.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Compiling is shown after this time.
const DELAY: Duration = Duration::from_secs(1);
const CLEAR: &str = "\r\x1b[2K";

/// A line on the terminal, which each call of `show` overwrites and which disappears when this is dropped.
pub(crate) struct Progress<W: Write> {
    /// Where the line is; `None` without a terminal.
    terminal: Option<W>,
    begin: Instant,
    delay: Duration,
    is_shown: bool,
}

impl Progress<io::Stderr> {
    pub(crate) fn new() -> Self {
        let stderr = io::stderr();
        Progress::on(stderr.is_terminal().then_some(stderr), DELAY)
    }
}

impl<W: Write> Progress<W> {
    fn on(terminal: Option<W>, delay: Duration) -> Self {
        Progress { terminal, begin: Instant::now(), delay, is_shown: false }
    }

    /// Shows how many of all kernels are compiled.
    pub(crate) fn show(&mut self, done: usize, all: usize) {
        if let Some(terminal) = self.terminal.as_mut().filter(|_| self.begin.elapsed() >= self.delay) {
            self.is_shown = true;
            // A terminal that is gone shows nothing.
            let _ =
                write!(terminal, "{CLEAR}[cuprous] compiling kernels: {done} of {all}").and_then(|()| terminal.flush());
        }
    }
}

impl<W: Write> Drop for Progress<W> {
    fn drop(&mut self) {
        if let Some(terminal) = self.terminal.as_mut().filter(|_| self.is_shown) {
            let _ = write!(terminal, "{CLEAR}").and_then(|()| terminal.flush());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(is_terminal: bool, delay: Duration) -> String {
        let mut text = Vec::new();
        let mut progress = Progress::on(is_terminal.then_some(&mut text), delay);
        (1..=2).for_each(|done| progress.show(done, 2));
        drop(progress);
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn only_a_terminal_shows_a_line_that_disappears_and_only_after_a_while() {
        let line = |done| format!("\r\x1b[2K[cuprous] compiling kernels: {done} of 2");
        assert_eq!(shown(true, Duration::ZERO), line(1) + &line(2) + "\r\x1b[2K");
        assert_eq!(shown(true, DELAY), "");
        assert_eq!(shown(false, Duration::ZERO), "");
    }
}
