//! Writing a transcript, event by event.

use std::collections::HashMap;
use std::io::{self, Write};

use interlingua_schema::{SessionId, Timestamp, UniversalEvent, Usage};

use crate::entry::{Entry, EntryBody};
use crate::fold::Fold;
use crate::{html, markdown};

/// The format of a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TranscriptFormat {
    /// One HTML file without scripts that loads nothing.
    Html,
    /// Markdown that GitHub shows well.
    Markdown,
}

/// Writes a transcript, event by event. The events may belong to several sessions.
#[derive(Debug)]
pub struct TranscriptWriter<W> {
    out: W,
    format: TranscriptFormat,
    title: Option<String>,
    has_header: bool,
    folds: HashMap<SessionId, Fold>,
    /// The session of the last entry.
    session: Option<SessionId>,
    totals: Totals,
}

/// What the end of a transcript says about all of it.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    pub(crate) events: u64,
    pub(crate) turns: u64,
    pub(crate) usage: Option<Usage>,
    pub(crate) unparsed: u64,
    pub(crate) start: Option<Timestamp>,
    pub(crate) end: Option<Timestamp>,
}

impl<W: Write> TranscriptWriter<W> {
    /// A transcript in this format. Nothing is written before the first event.
    pub fn new(out: W, format: TranscriptFormat) -> Self {
        Self {
            out,
            format,
            title: None,
            has_header: false,
            folds: HashMap::new(),
            session: None,
            totals: Totals::default(),
        }
    }

    /// Sets the title; the id of the first session if it is not set.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// What the transcript is written to.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Adds an event, and writes the entries that are now complete.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    pub fn write_event(&mut self, event: &UniversalEvent) -> io::Result<()> {
        if !self.has_header {
            let title = self.title.clone().unwrap_or_else(|| event.session_id.as_str().to_owned());
            self.write_header(&title)?;
        }
        self.totals.events += 1;
        self.totals.start.get_or_insert(event.time);
        self.totals.end = Some(event.time);
        if !self.folds.contains_key(&event.session_id) {
            self.folds.insert(event.session_id.clone(), Fold::default());
        }
        let entries = self.folds.get_mut(&event.session_id).map(|fold| fold.push(event)).unwrap_or_default();
        self.write_entries(&event.session_id, &entries)
    }

    /// Notes an input that is not an event.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    pub fn write_unparsed(&mut self, reason: &str) -> io::Result<()> {
        if !self.has_header {
            let title = self.title.clone().unwrap_or_else(|| "Transcript".to_owned());
            self.write_header(&title)?;
        }
        let body = EntryBody::Unparsed(reason.to_owned());
        self.write_entry(&Entry { sequence: 0, time: self.totals.end.unwrap_or(Timestamp::EPOCH), body })
    }

    /// Writes what is left and the end, and returns the output.
    ///
    /// # Errors
    ///
    /// If the output cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.has_header {
            let title = self.title.clone().unwrap_or_else(|| "Transcript".to_owned());
            self.write_header(&title)?;
        }
        let mut folds: Vec<_> = std::mem::take(&mut self.folds).into_iter().collect();
        folds.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (session, mut fold) in folds {
            let entries = fold.finish();
            self.write_entries(&session, &entries)?;
        }
        let end = match self.format {
            TranscriptFormat::Html => html::footer(&self.totals),
            TranscriptFormat::Markdown => markdown::footer(&self.totals),
        };
        self.out.write_all(end.as_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn write_header(&mut self, title: &str) -> io::Result<()> {
        self.has_header = true;
        let header = match self.format {
            TranscriptFormat::Html => html::header(title),
            TranscriptFormat::Markdown => markdown::header(title),
        };
        self.out.write_all(header.as_bytes())
    }

    fn write_entries(&mut self, session: &SessionId, entries: &[Entry]) -> io::Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        // One session needs no heading: the title is enough.
        if self.session.as_ref() != Some(session) {
            if self.session.is_some() || self.folds.len() > 1 {
                let heading = match self.format {
                    TranscriptFormat::Html => html::session_heading(session.as_str()),
                    TranscriptFormat::Markdown => markdown::session_heading(session.as_str()),
                };
                self.out.write_all(heading.as_bytes())?;
            }
            self.session = Some(session.clone());
        }
        entries.iter().try_for_each(|entry| self.write_entry(entry))
    }

    fn write_entry(&mut self, entry: &Entry) -> io::Result<()> {
        match &entry.body {
            EntryBody::TurnEnded(turn) => {
                self.totals.turns += 1;
                if let Some(usage) = &turn.usage {
                    match &mut self.totals.usage {
                        Some(total) => *total += usage.clone(),
                        none => *none = Some(usage.clone()),
                    }
                }
            }
            EntryBody::Unparsed(_) => self.totals.unparsed += 1,
            _ => {}
        }
        let text = match self.format {
            TranscriptFormat::Html => html::entry(entry),
            TranscriptFormat::Markdown => markdown::entry(entry),
        };
        self.out.write_all(text.as_bytes())
    }
}
