//! Progress of long work on standard error: one line that is updated on a terminal, and a new line now and then elsewhere.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

/// Interval between lines if standard error is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Interval between updates on a terminal.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// Progress on standard error.
pub(crate) struct Progress {
    started: Instant,
    /// Work that takes no longer than this shows no progress.
    delay: Duration,
    on_terminal: bool,
    last_update: Option<Instant>,
}

impl Progress {
    /// Progress that is shown from now on.
    pub(crate) fn start() -> Self {
        Self::start_after(Duration::ZERO)
    }

    /// Progress that is shown if the work takes longer than this.
    pub(crate) fn start_after(delay: Duration) -> Self {
        Self { started: Instant::now(), delay, on_terminal: io::stderr().is_terminal(), last_update: None }
    }

    /// Shows a line, unless one was shown just before. `line` gets the time since the start.
    pub(crate) fn update(&mut self, line: impl FnOnce(Duration) -> String) {
        let interval = if self.on_terminal { UPDATE_INTERVAL } else { LINE_INTERVAL };
        let elapsed = self.started.elapsed();
        if elapsed < self.delay || self.last_update.is_some_and(|last| last.elapsed() < interval) {
            return;
        }
        self.last_update = Some(Instant::now());
        let line = line(elapsed);
        if self.on_terminal {
            eprint!("\r{line}\u{1b}[K");
        } else {
            eprintln!("{line}");
        }
    }

    /// Removes the line from the terminal.
    pub(crate) fn finish(&mut self) {
        if self.on_terminal && self.last_update.take().is_some() {
            eprint!("\r\u{1b}[K");
        }
    }
}
