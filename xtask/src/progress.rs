//! Progress of an installation.
//!
//! On a terminal, one line is redrawn. Elsewhere (a log, CI), a line is printed from time to time.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use crate::console;

/// Interval at which the line on a terminal is redrawn.
const REDRAW_INTERVAL: Duration = Duration::from_millis(500);
/// Interval at which a line is printed elsewhere.
const LOG_INTERVAL: Duration = Duration::from_secs(15);

/// A longer line would wrap on a narrow terminal, and could then not be redrawn.
const MAX_LINE_WIDTH: usize = 79;

/// Progress of a running installation.
pub(crate) struct Progress {
    packages: String,
    started: Instant,
    /// Elapsed time at which the next line is due.
    next_update: Duration,
    is_terminal: bool,
}

impl Progress {
    /// Announces the installation of `packages`.
    pub(crate) fn start(packages: String) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        if !is_terminal {
            console::log(format_args!("  installing {packages}"));
        }
        let next_update = if is_terminal { Duration::ZERO } else { LOG_INTERVAL };
        Self { packages, started: Instant::now(), next_update, is_terminal }
    }

    /// Prints the progress if an update is due. `bytes` is called only then.
    pub(crate) fn tick(&mut self, bytes: impl FnOnce() -> u64) {
        let elapsed = self.started.elapsed();
        if elapsed < self.next_update {
            return;
        }
        let line = format!("  installing ({}, {}) {}", format_duration(elapsed), format_size(bytes()), self.packages);
        if self.is_terminal {
            let line: String = line.chars().take(MAX_LINE_WIDTH).collect();
            console::redraw_line(&line);
            self.next_update = elapsed + REDRAW_INTERVAL;
        } else {
            console::log(format_args!("{line}"));
            self.next_update = elapsed + LOG_INTERVAL;
        }
    }

    /// Prints the final line after a success. After a failure, the caller reports the error.
    pub(crate) fn finish(self, success: bool, bytes: impl FnOnce() -> u64) {
        if self.is_terminal {
            console::redraw_line("");
        }
        if success {
            let time = format_duration(self.started.elapsed());
            console::log(format_args!("  installed ({time}, {}) {}", format_size(bytes()), self.packages));
        }
    }
}

fn format_duration(time: Duration) -> String {
    match time.as_secs() {
        short @ 0..60 => format!("{short} s"),
        long => format!("{} min {} s", long / 60, long % 60),
    }
}

fn format_size(bytes: u64) -> String {
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
        assert_eq!(format_duration(Duration::from_secs(59)), "59 s");
        assert_eq!(format_duration(Duration::from_secs(61)), "1 min 1 s");
        assert_eq!(format_size(436_000_000), "436 MB");
        assert_eq!(format_size(2_500), "2 kB");
    }
}
