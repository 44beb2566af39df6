//! Searching.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::path::Path;

use interlingua_schema::{SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Statement};

use super::database;
use super::documents::first_since;
use super::event_reader::EventReader;
use super::match_expression::{match_expression, match_words};
use super::shards;
use crate::search::words::{Phrase, parse_query, words};
use crate::{SearchHit, SearchQuery, SearchResults, SessionKey, StoreError};

/// Searches an index. `store` is a connection to the store's database.
///
/// An index that cannot be read is one that is being made again: nothing is found then.
pub(crate) fn search(store: &Connection, file: &Path, query: &SearchQuery) -> Result<SearchResults, StoreError> {
    let phrases = parse_query(&query.text);
    // The id of an agent has letters.
    let has_agent = query.agent.as_deref().is_none_or(|agent| words(agent).next().is_some());
    if phrases.is_empty() || !has_agent {
        return Ok(SearchResults { is_complete: true, ..SearchResults::default() });
    }
    let searched = match database::open_for_reading(file) {
        Ok(Some(index)) => find(store, &index, query, &phrases).map(Some),
        Ok(None) => Ok(None),
        Err(error) => Err(SearchError::Index(error)),
    };
    match searched {
        Ok(Some(results)) => Ok(SearchResults { is_complete: true, ..results }),
        Ok(None) => Ok(SearchResults::default()),
        Err(SearchError::Index(error)) => {
            tracing::warn!(%error, "cannot read the search index");
            Ok(SearchResults::default())
        }
        Err(SearchError::Store(error)) => Err(error),
    }
}

/// Which database failed.
enum SearchError {
    Index(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for SearchError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Index(error)
    }
}

fn find(
    store: &Connection,
    index: &Connection,
    query: &SearchQuery,
    phrases: &[Phrase],
) -> Result<SearchResults, SearchError> {
    // All shards as they are at one moment: another one may be dropped meanwhile.
    let index = index.unchecked_transaction()?;
    let first = match query.since {
        None => Some(0),
        Some(since) => first_since(&index, since)?,
    };
    let Some(first) = first else { return Ok(SearchResults::default()) };
    let agent = query.agent.as_deref();
    let expression = match_expression(phrases, agent);
    // One phrase is in one document. Several may be in different documents of a long event.
    let words = (phrases.len() > 1).then(|| match_words(phrases, agent));
    let mut search = Search::new(store, &index, query, phrases)?;
    for shard in shards::load(&index)? {
        search.events.enter(shard)?;
        let mut found = index.prepare(&shard.query(words.is_some()))?;
        let mut rows = match &words {
            Some(words) => found.query((&expression, words, first))?,
            None => found.query((&expression, first))?,
        };
        while let Some(row) = rows.next()? {
            if search.add(row.get(0)?, row.get(1)?)?.is_break() {
                return Ok(search.results);
            }
        }
        if shard.first <= first {
            break;
        }
    }
    Ok(search.results)
}

/// A search in progress.
struct Search<'a> {
    store: &'a Connection,
    query: &'a SearchQuery,
    load: Statement<'a>,
    events: EventReader<'a>,
    sessions: HashMap<SessionKey, Option<FoundSession>>,
    last_event: Option<(SessionKey, u64)>,
    results: SearchResults,
}

impl<'a> Search<'a> {
    fn new(
        store: &'a Connection,
        index: &'a Connection,
        query: &'a SearchQuery,
        phrases: &'a [Phrase],
    ) -> rusqlite::Result<Self> {
        let load = index.prepare("SELECT session, sequence, time FROM documents WHERE id = ?1")?;
        let events = EventReader::new(index, phrases)?;
        let (sessions, results) = (HashMap::new(), SearchResults::default());
        Ok(Self { store, query, load, events, sessions, last_event: None, results })
    }

    /// Adds a document that matches, or the first one of an event with all words. Breaks if there are more than the limit.
    fn add(&mut self, document: i64, is_direct: bool) -> Result<ControlFlow<()>, SearchError> {
        let found = self.load.query_row([document], |row| {
            let event = (SessionKey(row.get(0)?), row.get::<_, i64>(1)?.cast_unsigned());
            Ok((event, Timestamp::from_millis(row.get(2)?)))
        });
        let Some((event, time)) = found.optional()? else { return Ok(ControlFlow::Continue(())) };
        // A long event has several documents, one after the other.
        if self.query.since.is_some_and(|since| time < since) || self.last_event == Some(event) {
            return Ok(ControlFlow::Continue(()));
        }
        if !is_direct && !self.events.has_phrases(document, event)? {
            return Ok(ControlFlow::Continue(()));
        }
        let (key, sequence) = event;
        let session = match self.sessions.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                unknown.insert(load_session(self.store, key).map_err(|error| SearchError::Store(error.into()))?)
            }
        };
        // A deleted session may still be in the index.
        let agent = self.query.agent.as_ref();
        let Some(session) = session.as_ref().filter(|session| agent.is_none_or(|agent| *agent == session.agent)) else {
            return Ok(ControlFlow::Continue(()));
        };
        if self.results.hits.len() >= self.query.limit {
            self.results.has_more = true;
            return Ok(ControlFlow::Break(()));
        }
        self.results.hits.push(SearchHit {
            session_id: session.id.clone(),
            agent: session.agent.clone(),
            title: session.title.clone(),
            sequence,
            time,
            snippet: self.events.read_snippet(document, event, is_direct)?,
        });
        self.last_event = Some(event);
        Ok(ControlFlow::Continue(()))
    }
}

struct FoundSession {
    id: SessionId,
    agent: String,
    title: Option<String>,
}

fn load_session(store: &Connection, key: SessionKey) -> rusqlite::Result<Option<FoundSession>> {
    store
        .prepare_cached("SELECT id, agent, title FROM sessions WHERE key = ?1")?
        .query_row([key.0], |row| {
            Ok(FoundSession { id: row.get::<_, String>(0)?.into(), agent: row.get(1)?, title: row.get(2)? })
        })
        .optional()
}
