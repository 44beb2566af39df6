//! Colours, where they are wanted.

use std::fmt;
use std::io;

use anstyle::{AnsiColor, Style};

/// What a text is, which decides how it looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    User,
    Agent,
    Thought,
    Tool,
    Added,
    Removed,
    Hunk,
    Bad,
    Asked,
    Faint,
}

/// Paints, or leaves things plain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint {
    coloured: bool,
}

impl Paint {
    /// Coloured if standard output is a terminal and the user does not object.
    pub(crate) fn for_stdout() -> Self {
        let choice = anstream::AutoStream::choice(&io::stdout());
        Self { coloured: choice != anstream::ColorChoice::Never }
    }

    #[cfg(test)]
    pub(super) fn plain() -> Self {
        Self { coloured: false }
    }

    pub(super) fn ink<T: fmt::Display>(self, ink: Ink, text: T) -> Painted<T> {
        let style = if self.coloured { style(ink) } else { Style::new() };
        Painted { style, text }
    }
}

/// A text with its style around it.
pub(super) struct Painted<T> {
    style: Style,
    text: T,
}

impl<T: fmt::Display> fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.style.render(), self.text, self.style.render_reset())
    }
}

fn style(ink: Ink) -> Style {
    match ink {
        Ink::User => AnsiColor::Cyan.on_default().bold(),
        Ink::Agent => Style::new().bold(),
        Ink::Thought => Style::new().dimmed().italic(),
        Ink::Tool => AnsiColor::Blue.on_default().bold(),
        Ink::Added => AnsiColor::Green.on_default(),
        Ink::Removed => AnsiColor::Red.on_default(),
        Ink::Hunk => AnsiColor::Cyan.on_default(),
        Ink::Bad => AnsiColor::Red.on_default().bold(),
        Ink::Asked => AnsiColor::Yellow.on_default().bold(),
        Ink::Faint => Style::new().dimmed(),
    }
}

/// A text that does nothing to the terminal it is shown on: without escape sequences and control characters.
pub(crate) fn tame(text: &str) -> String {
    let stripped = anstream::adapter::strip_str(text).to_string();
    stripped.chars().filter(|character| !character.is_control() || matches!(character, '\n' | '\t')).collect()
}
