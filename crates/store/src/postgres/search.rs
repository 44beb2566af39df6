//! Full-text search over the stored events.
//!
//! The words of a document are a `tsvector`, which is made here and not by Postgres, so that text is divided into words
//! as in the other store. Documents are added after events are durable, by whatever server comes first: the position
//! that is indexed is a row, and the server that has locked it goes on from there.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use interlingua_schema::{Timestamp, UniversalEvent};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::global_cursor::Position;
use crate::postgres::connection::DbClient;
use crate::postgres::error::DbError;
use crate::postgres::fold::fold;
use crate::postgres::pool::Pool;
use crate::postgres::positions::{read_after, read_appends};
use crate::postgres::text::decode;
use crate::search::snippet::Snippet;
use crate::search::text::{char_boundary, divide, searchable_text, with_overlap};
use crate::search::words::{Phrase, parse_query, separate_ideographs, words};
use crate::{RawPayloads, SearchHit, SearchQuery, SearchResults, SessionFilter, SessionKey, StoreError};

/// Interval of looking for events that are not indexed.
const INTERVAL: Duration = Duration::from_secs(2);
/// How long a search waits for the index to be complete.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(1);
/// Delay before a search looks again at an index that another server fills.
const WAIT_INTERVAL: Duration = Duration::from_millis(20);
/// Delay after the database could not be used.
const RETRY_DELAY: Duration = Duration::from_secs(5);
/// Greatest position of a word in a `tsvector`.
const MAX_POSITION: usize = 16_383;
/// Length to which a word is cut off, here and in a query. Postgres allows 2046 bytes.
const MAX_WORD_BYTES: usize = 512;
/// Maximum number of positions of a word in a `tsvector`.
const MAX_POSITIONS_PER_WORD: usize = 255;

/// The index of a store.
pub(crate) struct SearchIndex {
    pool: Arc<Pool>,
    offset: i64,
    wakeup: Notify,
}

/// What a step did.
enum Step {
    /// Indexed events. There may be more.
    Indexed,
    /// All events below the bound are indexed, up to the append with this number.
    Complete(i64),
    /// Another server is at it.
    Busy,
}

impl SearchIndex {
    pub(crate) fn new(pool: Arc<Pool>, offset: i64) -> Self {
        Self { pool, offset, wakeup: Notify::new() }
    }

    /// Indexes events for ever, when there are new ones.
    pub(crate) async fn run(&self) {
        loop {
            let _ = timeout(INTERVAL, self.wakeup.notified()).await;
            loop {
                match self.step().await {
                    Ok(Step::Indexed) => {}
                    Ok(Step::Complete(_) | Step::Busy) => break,
                    Err(error) => {
                        tracing::debug!(%error, "cannot index stored events for the search; trying again later");
                        sleep(RETRY_DELAY).await;
                        break;
                    }
                }
            }
        }
    }

    async fn step(&self) -> Result<Step, StoreError> {
        let client = self.pool.client().await?;
        Ok(index_some(&client, self.offset).await?)
    }

    /// Searches. Waits a short time until everything that was stored before is indexed.
    pub(crate) async fn search(&self, query: &SearchQuery) -> Result<SearchResults, StoreError> {
        // `fold` first: a letter and its mark may be two characters.
        let phrases = parse_query(&fold(&query.text));
        let has_agent = query.agent.as_deref().is_none_or(|agent| words(agent).next().is_some());
        if phrases.is_empty() || !has_agent {
            return Ok(SearchResults { is_complete: true, ..SearchResults::default() });
        }
        let is_complete = self.complete().await?;
        let client = self.pool.client().await?;
        let results = find(&client, query, &phrases).await?;
        Ok(SearchResults { is_complete, ..results })
    }

    /// Waits until everything that is stored now is indexed, or a timeout. Returns whether it is.
    async fn complete(&self) -> Result<bool, StoreError> {
        let query = "SELECT coalesce(max(append), 0) FROM events";
        let target: i64 = self.pool.client().await?.query_one(query, &[]).await?.get(0);
        let deadline = Instant::now() + SEARCH_TIMEOUT;
        loop {
            match self.step().await? {
                Step::Complete(indexed) if indexed >= target => return Ok(true),
                Step::Indexed => {}
                Step::Complete(_) | Step::Busy => sleep(WAIT_INTERVAL).await,
            }
            if Instant::now() >= deadline {
                // Goes on in the background.
                self.wakeup.notify_one();
                return Ok(false);
            }
        }
    }
}

/// A document to be added.
struct Document {
    session: SessionKey,
    sequence: u64,
    time: Timestamp,
    text: String,
    words: String,
    /// Whether the event has several documents.
    is_part: bool,
}

/// Indexes the next rows of events, in one transaction.
async fn index_some(client: &DbClient, offset: i64) -> Result<Step, DbError> {
    client.begin().await?;
    let lock = "SELECT append, session, sequence FROM search_state FOR UPDATE SKIP LOCKED";
    let Some(row) = client.query_opt(lock, &[]).await? else {
        client.rollback().await?;
        return Ok(Step::Busy);
    };
    let position = Position {
        append: row.get(0),
        session: SessionKey(row.get(1)),
        sequence: row.get::<_, i64>(2).cast_unsigned(),
    };
    let found = read_after(client, &SessionFilter::default(), position, offset, RawPayloads::Omit).await?;
    let mut documents = Vec::new();
    for (session, _, lines) in read_appends(client, &found.rows).await? {
        for index in 0..lines.len() {
            if let Some((sequence, json)) = lines.get(index) {
                push_documents(&mut documents, session, sequence, json);
            }
        }
    }
    insert_documents(client, &documents).await?;
    let end = match found.rows.last() {
        Some(last) if !found.is_complete => {
            Position { append: last.append, session: last.session, sequence: last.last }
        }
        _ => position.max(Position::end_of(found.bound - 1)),
    };
    if end != position {
        let store = "UPDATE search_state SET append = $1, session = $2, sequence = $3";
        client.execute(store, &[&end.append, &end.session.0, &end.sequence.cast_signed()]).await?;
    }
    client.commit().await?;
    Ok(if found.is_complete { Step::Complete(found.bound - 1) } else { Step::Indexed })
}

fn push_documents(documents: &mut Vec<Document>, session: SessionKey, sequence: u64, json: &str) {
    // Most events are deltas, which have no searchable text.
    let kind = json.split_once(r#","type":""#).map(|(_, rest)| rest);
    if kind.is_some_and(|kind| kind.starts_with("item.delta\"")) {
        return;
    }
    let Ok(event) = serde_json::from_str::<UniversalEvent>(json) else { return };
    let text = searchable_text(&event);
    let texts: Vec<&str> = divide(&text).collect();
    for (index, text) in texts.iter().enumerate() {
        let words = to_vector(&with_overlap(text, texts.get(index + 1).copied()));
        let is_part = texts.len() > 1;
        documents.push(Document { session, sequence, time: event.time, text: (*text).to_owned(), words, is_part });
    }
}

async fn insert_documents(client: &DbClient, documents: &[Document]) -> Result<(), DbError> {
    if documents.is_empty() {
        return Ok(());
    }
    // The lock excludes a deletion, which removes the documents that it finds.
    let insert = "INSERT INTO documents (session, sequence, time, text, words, is_part) \
         SELECT u.session, u.sequence, u.time, u.text, u.words::tsvector, u.is_part \
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bool[]) \
         WITH ORDINALITY AS u (session, sequence, time, text, words, is_part, number) \
         JOIN sessions AS s ON s.key = u.session ORDER BY u.number FOR KEY SHARE OF s";
    let sessions: Vec<i64> = documents.iter().map(|document| document.session.0).collect();
    let sequences: Vec<i64> = documents.iter().map(|document| document.sequence.cast_signed()).collect();
    let times: Vec<i64> = documents.iter().map(|document| document.time.as_millis()).collect();
    // NUL has no meaning in a search.
    let texts: Vec<String> = documents.iter().map(|document| document.text.replace('\0', " ")).collect();
    let vectors: Vec<&str> = documents.iter().map(|document| document.words.as_str()).collect();
    let parts: Vec<bool> = documents.iter().map(|document| document.is_part).collect();
    client.execute(insert, &[&sessions, &sequences, &times, &texts, &vectors, &parts]).await.map(drop)
}

/// The words of a text as a `tsvector`: `'word':1,5 'other':2`.
fn to_vector(text: &str) -> String {
    let folded = fold(&separate_ideographs(text));
    let mut positions: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, (_, word)) in words(&folded).enumerate() {
        let all = positions.entry(cut_off(word)).or_default();
        if all.len() < MAX_POSITIONS_PER_WORD {
            all.push((index + 1).min(MAX_POSITION));
        }
    }
    let mut vector = String::new();
    for (word, positions) in positions {
        let positions: Vec<String> = positions.iter().map(ToString::to_string).collect();
        // Words have letters and digits only, which need no escaping. Writing to a string does not fail.
        let _ = write!(vector, "'{word}':{} ", positions.join(","));
    }
    vector
}

fn cut_off(word: &str) -> &str {
    word.get(..char_boundary(word, word.len().min(MAX_WORD_BYTES))).unwrap_or(word)
}

/// The phrases as a `tsquery`: `'fix' & ('the' <-> 'build') & 'err':*`.
fn to_query(phrases: &[Phrase]) -> String {
    phrase_queries(phrases).join(" & ")
}

fn phrase_queries(phrases: &[Phrase]) -> Vec<String> {
    let phrase_to_query = |phrase: &Phrase| {
        let words: Vec<String> = phrase
            .lowercase_words()
            .map(|(word, is_prefix)| format!("'{}'{}", cut_off(&word), if is_prefix { ":*" } else { "" }))
            .collect();
        format!("({})", words.join(" <-> "))
    };
    phrases.iter().map(phrase_to_query).collect()
}

async fn find(client: &DbClient, query: &SearchQuery, phrases: &[Phrase]) -> Result<SearchResults, DbError> {
    // A long event has several documents: the phrases may be in different ones. The last document with all of them counts, or
    // the first one with any.
    let find = "SELECT d.id, d.session, d.sequence, d.time, s.id, s.agent, s.title, d.text FROM ( \
             SELECT coalesce(max(id) FILTER (WHERE m.words @@ $1::text::tsquery), min(id)) AS id \
             FROM documents AS m WHERE (m.words @@ $1::text::tsquery \
                 OR m.is_part AND m.words @@ $5::text::tsquery) AND m.time >= $2 \
             AND ($3::text IS NULL OR (SELECT agent FROM sessions WHERE key = m.session) = $3) \
             AND EXISTS (SELECT 1 FROM sessions WHERE key = m.session) \
             GROUP BY m.session, m.sequence \
             HAVING bool_or(m.words @@ $1::text::tsquery) OR (SELECT bool_and(EXISTS ( \
                 SELECT 1 FROM documents AS p WHERE p.session = m.session AND p.sequence = m.sequence \
                 AND p.words @@ q.query::tsquery)) FROM unnest($6::text[]) AS q (query)) \
             ORDER BY 1 DESC LIMIT $4) AS found \
         JOIN documents AS d ON d.id = found.id JOIN sessions AS s ON s.key = d.session ORDER BY d.id DESC";
    let since = query.since.map_or(i64::MIN, Timestamp::as_millis);
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
    let each = phrase_queries(phrases);
    let rows =
        client.query(find, &[&to_query(phrases), &since, &query.agent, &limit, &each.join(" | "), &each]).await?;
    let has_more = rows.len() > query.limit;
    let hits = rows.iter().take(query.limit).map(|row| SearchHit {
        session_id: decode(row.get(4)).into(),
        agent: row.get(5),
        title: row.get::<_, Option<String>>(6).map(decode),
        sequence: row.get::<_, i64>(2).cast_unsigned(),
        time: Timestamp::from_millis(row.get(3)),
        snippet: Snippet::find(row.get(7), phrases).text,
    });
    Ok(SearchResults { hits: hits.collect(), has_more, is_complete: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_text_are_a_vector() {
        assert_eq!(to_vector("Fix the BUILD; fix src/main.rs"), "'build':3 'fix':1,4 'main':6 'rs':7 'src':5 'the':2 ");
        assert_eq!(to_vector("Größe e\u{301}té 東京"), "'ete':2 'große':1 '京':4 '東':3 ");
        assert_eq!(to_vector("'; -- \\ \0"), "");
        let long = to_vector(&"word ".repeat(20_000));
        assert_eq!(long.matches(',').count() + 1, MAX_POSITIONS_PER_WORD);
    }

    #[test]
    fn a_query_is_words_and_phrases() {
        let query = |text: &str| to_query(&parse_query(&fold(text)));
        assert_eq!(query(r#"Fix "the build" err*"#), "('fix') & ('the' <-> 'build') & ('err':*)");
        assert_eq!(query("src/main.rs"), "('src' <-> 'main' <-> 'rs')");
        assert_eq!(query("Été"), "('ete')");
        assert_eq!(query(&"x".repeat(5000)).len(), MAX_WORD_BYTES + 4);
    }
}
