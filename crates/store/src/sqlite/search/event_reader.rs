//! Looking into the documents of events that were found.

use rusqlite::{Connection, Row, Statement};

use super::documents::text_column;
use super::match_expression::match_expression;
use super::shards::Shard;
use crate::SessionKey;
use crate::search::snippet::Snippet;
use crate::search::words::Phrase;

/// Amount of text of long events in which the places of the words are looked for, for all results of a search.
const MAX_SEARCHED_BYTES: usize = 4 * 1024 * 1024;

/// Session and sequence of an event.
type EventKey = (SessionKey, u64);

/// Reads the documents of events.
pub(super) struct EventReader<'a> {
    index: &'a Connection,
    documents: Statement<'a>,
    /// Finds a phrase in documents of the shard that is searched.
    phrase: Option<Statement<'a>>,
    phrases: &'a [Phrase],
    /// How much of the texts of long events can still be searched.
    remaining: usize,
}

impl<'a> EventReader<'a> {
    pub(super) fn new(index: &'a Connection, phrases: &'a [Phrase]) -> rusqlite::Result<Self> {
        let documents =
            index.prepare("SELECT id, session, sequence, text FROM documents WHERE id >= ?1 ORDER BY id")?;
        Ok(Self { index, documents, phrase: None, phrases, remaining: MAX_SEARCHED_BYTES })
    }

    /// Begins with the events of a shard.
    pub(super) fn enter(&mut self, shard: Shard) -> rusqlite::Result<()> {
        self.phrase = Some(self.index.prepare(&shard.range_query())?);
        Ok(())
    }

    /// Whether an event, which has all words and whose first document has this id, has them in the order of the phrases.
    pub(super) fn has_phrases(&mut self, first: i64, event: EventKey) -> rusqlite::Result<bool> {
        let Some(phrase_query) = &mut self.phrase else { return Ok(false) };
        if !self.phrases.iter().any(Phrase::has_order) {
            return Ok(true);
        }
        let mut last = first;
        let mut rows = self.documents.query([first])?;
        while let Some(row) = rows.next()?.filter(|row| is_of_event(row, event)) {
            last = row.get(0)?;
        }
        drop(rows);
        for phrase in self.phrases.iter().filter(|phrase| phrase.has_order()) {
            let expression = match_expression(std::slice::from_ref(phrase), None);
            if !phrase_query.query_row((expression, first, last), |row| row.get::<_, bool>(0))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The place with most of the words in an event, in the document with this id, which has all of them if it was found
    /// itself, or in a later one.
    pub(super) fn read_snippet(&mut self, id: i64, event: EventKey, is_direct: bool) -> rusqlite::Result<String> {
        let mut best: Option<Snippet> = None;
        let mut rows = self.documents.query([id])?;
        while let Some(row) = rows.next()?.filter(|row| is_of_event(row, event)) {
            let text = text_column(row, 3)?;
            let found = Snippet::find(&text, self.phrases);
            if best.as_ref().is_none_or(|best| found.words > best.words) {
                best = Some(found);
            }
            if is_direct || self.remaining == 0 || best.as_ref().is_some_and(|best| best.is_complete) {
                break;
            }
            self.remaining = self.remaining.saturating_sub(text.len());
        }
        Ok(best.map(|best| best.text).unwrap_or_default())
    }
}

/// Whether a row of documents belongs to an event.
fn is_of_event(row: &Row<'_>, (session, sequence): EventKey) -> bool {
    row.get(1) == Ok(session.0) && row.get(2) == Ok(sequence.cast_signed())
}
