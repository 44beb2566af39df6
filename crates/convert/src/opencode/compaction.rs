//! Compactions: OpenCode has the conversation summed up in a message of its own, and goes on from there.
//!
//! A compaction is one status from its beginning to its end, with the summary in it. The message is not shown.

use interlingua_native::opencode::{CompactionPart, EventSessionCompactedProperties};
use interlingua_schema::{Compaction as Data, CompactionTrigger, RawJson};

use super::session::Session;
use super::{OpenCodeConverter, incomplete};
use crate::{Drafts, Key, Note};

/// What the summary of a compaction says until it is told with the compaction.
pub(super) const SUMMARY: &str = "a compaction's summary, told with the compaction";

/// Whether OpenCode has compacted the conversation by itself in a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Compaction {
    /// Not at all, or the host asked for it.
    #[default]
    None,
    Automatic,
    /// Because the conversation was too long to be sent. The last prompt is then said again, as a new message.
    MakesRoom,
}

/// A compaction that is going on.
#[derive(Debug)]
pub(super) struct OpenCompaction {
    key: Key,
    data: Data,
}

/// The message that sums up the conversation.
#[derive(Debug)]
pub(super) struct Summary {
    message: String,
    /// Its texts, by their parts.
    texts: Vec<(String, String)>,
    /// The payload with the latest of them.
    raw: Option<RawJson>,
    is_done: bool,
}

impl Summary {
    pub(super) fn new(message: String) -> Self {
        Self { message, texts: Vec::new(), raw: None, is_done: false }
    }

    fn text(&self) -> Option<String> {
        let texts: Vec<&str> = self.texts.iter().map(|(_, text)| text.trim_end()).collect();
        Some(texts.join("\n\n")).filter(|text| !text.is_empty())
    }
}

impl Session {
    /// A user's message that stands for a compaction.
    pub(super) fn compaction_part(&mut self, part: CompactionPart, out: &mut Drafts) {
        self.ensure_turn(out);
        self.failure_overcome(out);
        let is_automatic = part.auto == Some(true) || part.overflow == Some(true);
        self.run.compaction = match part.overflow {
            Some(true) => Compaction::MakesRoom,
            _ if is_automatic => Compaction::Automatic,
            _ => Compaction::None,
        };
        let trigger = part.auto.map(|auto| if auto { CompactionTrigger::Auto } else { CompactionTrigger::Manual });
        let data = Data::new().trigger(trigger);
        let note = Note::compacting(data.clone()).native_id(part.id.as_str());
        out.session(self.id.as_str()).note_started(part.id.as_str(), note);
        self.summary = None;
        self.compaction = Some(Box::new(OpenCompaction { key: part.id.into(), data }));
    }

    /// Whether a message is the summary of a compaction.
    pub(super) fn is_summary(&self, message: &str) -> bool {
        self.summary.as_ref().is_some_and(|summary| summary.message == message)
    }

    /// The summary so far.
    pub(super) fn summary_text(&mut self, part: String, text: String, raw: Option<RawJson>) {
        let Some(summary) = &mut self.summary else { return };
        match summary.texts.iter_mut().find(|(id, _)| *id == part) {
            Some((_, known)) => *known = text,
            None => summary.texts.push((part, text)),
        }
        summary.raw = raw;
    }

    /// The message with the summary is complete.
    pub(super) fn summary_completed(&mut self, message: &str) {
        if let Some(summary) = self.summary.as_mut().filter(|summary| summary.message == message) {
            summary.is_done = true;
        }
    }

    /// The summary could not be made.
    pub(super) fn compaction_failed(&mut self, why: &str, out: &mut Drafts) {
        self.summary = None;
        if let Some(OpenCompaction { key, data }) = self.compaction.take().map(|open| *open) {
            let note = Note::compaction_failed(data, Some(why));
            out.session(self.id.as_str()).note_finished(key, note, true);
        }
    }

    /// A compaction whose summary is complete is over with its turn, though nobody said so.
    pub(super) fn settle_compaction(&mut self, out: &mut Drafts) {
        if self.compaction.is_some() && self.summary.as_ref().is_some_and(|summary| summary.is_done) {
            self.compacted(out);
        }
    }

    /// The conversation is compacted.
    fn compacted(&mut self, out: &mut Drafts) {
        let summary = self.summary.as_mut();
        let (text, raw) = summary.map(|summary| (summary.text(), summary.raw.take())).unwrap_or_default();
        let mut session = out.session(self.id.as_str());
        match self.compaction.take().map(|open| *open) {
            Some(OpenCompaction { key, data }) => {
                let note = Note::compaction(data.summary(text)).raw(raw);
                session.note_finished(key, note, false);
            }
            None => session.note(Note::compaction(Data::new().summary(text)).raw(raw)),
        }
    }
}

impl OpenCodeConverter {
    pub(super) fn session_compacted(&mut self, properties: Option<EventSessionCompactedProperties>, out: &mut Drafts) {
        let Some(id) = properties.and_then(|properties| properties.session_id) else {
            return incomplete("session.compacted", out);
        };
        let session = self.sessions.of(&id);
        session.show_users(None, out);
        session.compacted(out);
    }
}
