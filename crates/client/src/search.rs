//! Searching the events of all sessions.

use reqwest::Method;
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::error::ClientError;

/// What to search for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchRequest {
    /// Words that must all occur in the text of an event; words in double quotes must follow each other, `word*` matches
    /// the beginnings of words.
    pub text: String,
    /// Only sessions with this agent.
    pub agent: Option<String>,
    /// Only events since this time: milliseconds since 1970, or a time such as `2026-01-31T08:00:00Z`.
    pub since: Option<String>,
    /// Maximum number of results, 200 at most; 20 if `None`.
    pub limit: Option<u64>,
}

impl SearchRequest {
    /// A search for this text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    interlingua_schema::setters! {
        pub agent: Option<String>,
        pub since: Option<String>,
        pub limit: Option<u64>,
    }
}

/// Events that were found, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SearchResults {
    /// The events.
    pub results: Vec<SearchHit>,
    /// Whether there are more than the limit.
    pub has_more: bool,
    /// Whether everything that was stored before the request was searched. False while the server indexes a large store.
    pub complete: bool,
}

/// An event that was found.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SearchHit {
    /// Id of the session.
    pub session_id: String,
    /// Agent id of the session.
    pub agent: String,
    /// Title of the session, if it has one.
    pub title: Option<String>,
    /// Sequence of the event in its session.
    pub sequence: u64,
    /// Time of the event in milliseconds since 1970.
    pub time: i64,
    /// The place of the text with most of the words, on one line.
    pub snippet: String,
}

impl Client {
    /// Searches the text of all sessions: messages, reasoning, tool calls and their results, diffs, requests and errors.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached or refuses the request.
    pub async fn search(&self, search: &SearchRequest) -> Result<SearchResults, ClientError> {
        let parameters = [
            ("q", Some(search.text.clone())),
            ("agent", search.agent.clone()),
            ("since", search.since.clone()),
            ("limit", search.limit.map(|limit| limit.to_string())),
        ];
        self.fetch(self.endpoint(Method::GET, &["search"], &parameters)?).await
    }
}
