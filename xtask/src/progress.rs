//! What is shown while something takes long.
//!
//! On a terminal one line is redrawn; elsewhere (a log, CI) there is a plain line now and then.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use crate::say;

/// How often the line on a terminal is redrawn.
const REDRAW: Duration = Duration::from_millis(500);
/// How often a log gets a line.
const REPEAT: Duration = Duration::from_secs(15);

/// A longer line would wrap on a narrow terminal, and then it cannot be redrawn.
const WIDTH: usize = 79;

/// An installation under way.
pub(crate) struct Progress {
    what: String,
    started: Instant,
    next: Duration,
    terminal: bool,
}

impl Progress {
    /// Announces that `what` is being installed.
    pub(crate) fn start(what: String) -> Self {
        let terminal = std::io::stderr().is_terminal();
        if !terminal {
            say::note(format_args!("  installing {what}"));
        }
        let next = if terminal { Duration::ZERO } else { REPEAT };
        Self { what, started: Instant::now(), next, terminal }
    }

    /// Shows how far it is, when it is time to. `bytes` is asked only then.
    pub(crate) fn tick(&mut self, bytes: impl FnOnce() -> u64) {
        let elapsed = self.started.elapsed();
        if elapsed < self.next {
            return;
        }
        let line = format!("  installing ({}, {}) {}", seconds(elapsed), size(bytes()), self.what);
        if self.terminal {
            let line: String = line.chars().take(WIDTH).collect();
            say::redraw(&line);
            self.next = elapsed + REDRAW;
        } else {
            say::note(format_args!("{line}"));
            self.next = elapsed + REPEAT;
        }
    }

    /// Ends it; about a failure the error speaks for itself.
    pub(crate) fn finish(self, success: bool, bytes: impl FnOnce() -> u64) {
        if self.terminal {
            say::redraw("");
        }
        if success {
            let time = seconds(self.started.elapsed());
            say::note(format_args!("  installed ({time}, {}) {}", size(bytes()), self.what));
        }
    }
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        short @ 0..60 => format!("{short} s"),
        long => format!("{} min {} s", long / 60, long % 60),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        small @ 0..1_000_000 => format!("{} kB", small / 1000),
        large => format!("{} MB", large / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_readable() {
        assert_eq!(seconds(Duration::from_secs(59)), "59 s");
        assert_eq!(seconds(Duration::from_secs(61)), "1 min 1 s");
        assert_eq!(size(436_000_000), "436 MB");
        assert_eq!(size(2_500), "2 kB");
    }
}
