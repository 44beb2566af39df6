//! Writing to the user.
//!
//! `println!` panics when nobody reads any more, as in `cargo xtask drift … | head`. That is no failure of ours: the
//! work goes on and the text is lost.

use std::fmt::{Arguments, Display};
use std::io::Write as _;

/// Results, on standard output. The text brings its own line ends.
pub(crate) fn result(text: impl Display) {
    let _ = write!(std::io::stdout(), "{text}");
}

/// What is going on, on standard error, as a line.
pub(crate) fn note(line: Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// What is going on, on the terminal's current line, in place of what stands there.
pub(crate) fn redraw(text: &str) {
    let mut terminal = std::io::stderr();
    let _ = write!(terminal, "\r\x1b[K{text}");
    let _ = terminal.flush();
}
