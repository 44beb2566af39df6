//! Searching the text of events.
//!
//! A *document* is the text of one event, or a piece of a long one ([`text`]). Words are found in documents; results are
//! ordered from the newest to the oldest. Each database has its own index, over the same documents and words.

pub(crate) mod snippet;
pub(crate) mod text;
pub(crate) mod words;

use interlingua_schema::{SessionId, Timestamp};

use crate::StoreError;

/// Maximum size of the text of a query.
pub const MAX_QUERY_BYTES: usize = 1024;
/// Maximum number of words of a query.
pub const MAX_QUERY_WORDS: usize = 64;

/// What to search for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchQuery {
    /// Words that must all occur in the text of an event, in upper or lower case. Words in double quotes must follow each
    /// other; `word*` matches the beginnings of words. Other characters have no meaning. Without a word nothing is found.
    pub text: String,
    /// Only sessions with this agent.
    pub agent: Option<String>,
    /// Only events since this time.
    pub since: Option<Timestamp>,
    /// Maximum number of results.
    pub limit: usize,
}

impl SearchQuery {
    /// A search for at most this number of events with a text.
    #[must_use]
    pub fn new(text: impl Into<String>, limit: usize) -> Self {
        Self { text: text.into(), limit, ..Self::default() }
    }

    interlingua_schema::setters! {
        pub agent: Option<String>,
        pub since: Option<Timestamp>,
    }

    /// Refuses a query with too many words.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        match words::words(&self.text).count() {
            found if found > MAX_QUERY_WORDS => Err(StoreError::TooManyWords { found }),
            _ => Ok(()),
        }
    }
}

/// An event that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchHit {
    /// Id of its session.
    pub session_id: SessionId,
    /// Agent of the session.
    pub agent: String,
    /// Title of the session, if it has one.
    pub title: Option<String>,
    /// Sequence of the event.
    pub sequence: u64,
    /// Time of the event.
    pub time: Timestamp,
    /// The place in its text where the words are, on one line.
    pub snippet: String,
}

/// Events that were found, newest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchResults {
    /// The events.
    pub hits: Vec<SearchHit>,
    /// Whether there are more than the limit.
    pub has_more: bool,
    /// Whether everything that was stored before the search was searched. False while a large store is being indexed.
    pub is_complete: bool,
}
