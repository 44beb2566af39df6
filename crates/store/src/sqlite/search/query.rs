//! Searching.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use interlingua_schema::{SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension as _};

use super::database;
use super::documents::{first_since, text_column};
use super::match_expression::match_expression;
use crate::search::snippet::snippet;
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
        Ok(Some(index)) => find(store, &index, query, &phrases),
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
) -> Result<Option<SearchResults>, SearchError> {
    let mut results = SearchResults::default();
    let first = match query.since {
        None => Some(0),
        Some(since) => first_since(index, since)?,
    };
    let Some(first) = first else { return Ok(Some(results)) };
    let mut found =
        index.prepare("SELECT rowid FROM words WHERE words MATCH ?1 AND rowid >= ?2 ORDER BY rowid DESC")?;
    let mut load = index.prepare("SELECT session, sequence, time, text FROM documents WHERE id = ?1")?;
    let mut rows = found.query((match_expression(phrases, query.agent.as_deref()), first))?;
    let mut sessions: HashMap<SessionKey, Option<FoundSession>> = HashMap::new();
    let mut last_event = None;
    while let Some(row) = rows.next()? {
        let document = load.query_row([row.get::<_, i64>(0)?], |row| {
            let event = (SessionKey(row.get(0)?), row.get::<_, i64>(1)?.cast_unsigned());
            Ok((event, Timestamp::from_millis(row.get(2)?)))
        });
        let Some((event, time)) = document.optional()? else { continue };
        // A long event has several documents, one after the other.
        if query.since.is_some_and(|since| time < since) || last_event == Some(event) {
            continue;
        }
        let (key, sequence) = event;
        let session = match sessions.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                unknown.insert(load_session(store, key).map_err(|error| SearchError::Store(error.into()))?)
            }
        };
        // A deleted session may still be in the index.
        let Some(session) = session else { continue };
        if query.agent.as_ref().is_some_and(|agent| *agent != session.agent) {
            continue;
        }
        if results.hits.len() >= query.limit {
            results.has_more = true;
            break;
        }
        let text = load.query_row([row.get::<_, i64>(0)?], |row| text_column(row, 3))?;
        results.hits.push(SearchHit {
            session_id: session.id.clone(),
            agent: session.agent.clone(),
            title: session.title.clone(),
            sequence,
            time,
            snippet: snippet(&text, phrases),
        });
        last_event = Some(event);
    }
    Ok(Some(results))
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
