//! Positions in the events of all sessions.
//!
//! The events of all sessions have one order: by the number of their append, then by session, then by sequence. Only
//! appends of databases of an older format share a number, so usually that is the order in which they were committed. A
//! position says that everything up to it was read, whatever was filtered out.

use std::fmt;
use std::str::FromStr;

use crate::SessionKey;

/// A position in the events of all sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) append: i64,
    pub(crate) session: SessionKey,
    pub(crate) sequence: u64,
}

impl Position {
    /// Before the first event.
    pub(crate) const START: Self = Self { append: -1, ..Self::end_of(-1) };

    /// After all events of the appends up to this one.
    pub(crate) const fn end_of(append: i64) -> Self {
        Self { append, session: SessionKey(i64::MAX), sequence: u64::MAX }
    }
}

/// A reader's position in the events of all sessions, for a client that continues later. It is text without spaces, and
/// only means something to the store that it comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalCursor {
    pub(crate) store_id: u32,
    pub(crate) position: Position,
}

/// Error: the text is not a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected the cursor of an event of a stream of many sessions")]
pub struct ParseCursorError;

impl fmt::Display for GlobalCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { append, session, sequence } = self.position;
        write!(f, "{:08x}.{append}", self.store_id)?;
        if self.position != Position::end_of(append) {
            write!(f, ".{}.{sequence}", session.0)?;
        }
        Ok(())
    }
}

impl FromStr for GlobalCursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, ParseCursorError> {
        let mut parts = text.split('.');
        let store_id = parts.next().filter(|id| id.len() == 8).ok_or(ParseCursorError)?;
        let store_id = u32::from_str_radix(store_id, 16).map_err(|_| ParseCursorError)?;
        let append = parts.next().and_then(|part| part.parse().ok()).ok_or(ParseCursorError)?;
        let position = match (parts.next(), parts.next(), parts.next()) {
            (None, None, None) => Position::end_of(append),
            (Some(session), Some(sequence), None) => Position {
                append,
                session: SessionKey(session.parse().map_err(|_| ParseCursorError)?),
                sequence: sequence.parse().map_err(|_| ParseCursorError)?,
            },
            _ => return Err(ParseCursorError),
        };
        Ok(Self { store_id, position })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_parsed_from_its_text() {
        let position = Position { append: 12, session: SessionKey(3), sequence: 456 };
        for (position, text) in
            [(position, "0000beef.12.3.456"), (Position::end_of(12), "0000beef.12"), (Position::START, "0000beef.-1")]
        {
            let cursor = GlobalCursor { store_id: 0xbeef, position };
            assert_eq!(cursor.to_string(), text);
            assert_eq!(text.parse(), Ok(cursor));
        }
        for text in ["", "12", "beef.1", "0000beef", "0000beef.", "0000beef.1.2", "0000beef.1.2.3.4", "0000beef.1.2.-3"]
        {
            assert_eq!(text.parse::<GlobalCursor>(), Err(ParseCursorError), "{text}");
        }
    }

    #[test]
    fn positions_are_ordered_by_append_session_and_sequence() {
        let at = |append, session, sequence| Position { append, session: SessionKey(session), sequence };
        let ordered = [Position::START, at(0, 1, 1), at(0, 1, 2), at(0, 2, 1), Position::end_of(0), at(1, 1, 1)];
        assert!(ordered.is_sorted());
    }
}
