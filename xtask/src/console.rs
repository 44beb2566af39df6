//! Output to the terminal.
//!
//! `println!` panics when the reader has closed the pipe, as in `cargo xtask drift … | head`. These functions ignore
//! write errors instead, so that the task goes on and only the text is lost.

use std::fmt::{Arguments, Display};
use std::io::Write as _;

/// Writes a result to standard output. The text contains its own line breaks.
pub(crate) fn print(text: impl Display) {
    let _ = write!(std::io::stdout(), "{text}");
}

/// Writes one line about progress, or an error, to standard error.
pub(crate) fn log(line: Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Replaces the current line of the terminal.
pub(crate) fn redraw_line(text: &str) {
    let mut terminal = std::io::stderr();
    let _ = write!(terminal, "\r\x1b[K{text}");
    let _ = terminal.flush();
}
