//! Text styles of the transcript.

use std::fmt;
use std::io;

use anstyle::{AnsiColor, Style};

/// Role of a text in the transcript, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextRole {
    User,
    Agent,
    Reasoning,
    Tool,
    Added,
    Removed,
    Hunk,
    Error,
    Request,
    Dim,
}

/// The styles of all roles: coloured or plain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Styles {
    is_coloured: bool,
}

impl Styles {
    /// Coloured if standard output is a terminal and colours are not disabled, e.g. with `NO_COLOR`.
    pub(crate) fn for_stdout() -> Self {
        let choice = anstream::AutoStream::choice(&io::stdout());
        Self { is_coloured: choice != anstream::ColorChoice::Never }
    }

    #[cfg(test)]
    pub(super) fn plain() -> Self {
        Self { is_coloured: false }
    }

    pub(super) fn apply<T: fmt::Display>(self, role: TextRole, text: T) -> StyledText<T> {
        let style = if self.is_coloured { style_of(role) } else { Style::new() };
        StyledText { style, text }
    }
}

/// A text that is displayed with its style.
pub(super) struct StyledText<T> {
    style: Style,
    text: T,
}

impl<T: fmt::Display> fmt::Display for StyledText<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.style.render(), self.text, self.style.render_reset())
    }
}

fn style_of(role: TextRole) -> Style {
    match role {
        TextRole::User => AnsiColor::Cyan.on_default().bold(),
        TextRole::Agent => Style::new().bold(),
        TextRole::Reasoning => Style::new().dimmed().italic(),
        TextRole::Tool => AnsiColor::Blue.on_default().bold(),
        TextRole::Added => AnsiColor::Green.on_default(),
        TextRole::Removed => AnsiColor::Red.on_default(),
        TextRole::Hunk => AnsiColor::Cyan.on_default(),
        TextRole::Error => AnsiColor::Red.on_default().bold(),
        TextRole::Request => AnsiColor::Yellow.on_default().bold(),
        TextRole::Dim => Style::new().dimmed(),
    }
}
