//! Compactions. OpenCode writes a summary of the conversation as a message and continues from it.
//!
//! A compaction is one status item with the summary in it. The message is not shown.

use interlingua_native::opencode::{CompactionPart, EventSessionCompactedProperties};
use interlingua_schema::{Compaction, CompactionTrigger, RawJson};

use super::session::Session;
use super::{OpenCodeConverter, report_incomplete};
use crate::{Drafts, Key, Note};

/// Drop reason for the text of a summary, which goes into the status item.
pub(super) const SUMMARY: &str = "compaction summary, reported with the compaction";

/// Whether OpenCode has compacted the conversation on its own in a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum AutoCompaction {
    /// No compaction, or one that the host requested.
    #[default]
    None,
    Automatic,
    /// The conversation was too long for the model. OpenCode then repeats the last prompt as a new message.
    OnOverflow,
}

/// A running compaction.
#[derive(Debug)]
pub(super) struct OpenCompaction {
    key: Key,
    data: Compaction,
}

/// The message with the summary.
#[derive(Debug)]
pub(super) struct Summary {
    message: String,
    /// Part ids and texts.
    texts: Vec<(String, String)>,
    /// Payload with the latest text.
    raw: Option<RawJson>,
    is_complete: bool,
}

impl Summary {
    pub(super) fn new(message: String) -> Self {
        Self { message, texts: Vec::new(), raw: None, is_complete: false }
    }

    fn text(&self) -> Option<String> {
        let texts: Vec<&str> = self.texts.iter().map(|(_, text)| text.trim_end()).collect();
        Some(texts.join("\n\n")).filter(|text| !text.is_empty())
    }
}

impl Session {
    /// A compaction starts. Its part is in a user message.
    pub(super) fn compaction_part(&mut self, part: CompactionPart, out: &mut Drafts) {
        self.ensure_turn(out);
        self.downgrade_held_failure(out);
        let is_automatic = part.auto == Some(true) || part.overflow == Some(true);
        self.turn.auto_compaction = match part.overflow {
            Some(true) => AutoCompaction::OnOverflow,
            _ if is_automatic => AutoCompaction::Automatic,
            _ => AutoCompaction::None,
        };
        let trigger = part.auto.map(|auto| if auto { CompactionTrigger::Auto } else { CompactionTrigger::Manual });
        let data = Compaction::new().trigger(trigger);
        let note = Note::compacting(data.clone()).native_id(part.id.as_str());
        out.session(self.id.as_str()).note_started(part.id.as_str(), note);
        self.summary = None;
        self.open_compaction = Some(Box::new(OpenCompaction { key: part.id.into(), data }));
    }

    pub(super) fn is_summary(&self, message: &str) -> bool {
        self.summary.as_ref().is_some_and(|summary| summary.message == message)
    }

    /// Updates a text of the summary.
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
            summary.is_complete = true;
        }
    }

    /// The summary has failed.
    pub(super) fn compaction_failed(&mut self, reason: &str, out: &mut Drafts) {
        self.summary = None;
        if let Some(OpenCompaction { key, data }) = self.open_compaction.take().map(|open| *open) {
            let note = Note::compaction_failed(data, Some(reason));
            out.session(self.id.as_str()).note_finished(key, note, true);
        }
    }

    /// Completes a compaction with a complete summary when its turn ends without `session.compacted`.
    pub(super) fn complete_summarized_compaction(&mut self, out: &mut Drafts) {
        if self.open_compaction.is_some() && self.summary.as_ref().is_some_and(|summary| summary.is_complete) {
            self.complete_compaction(out);
        }
    }

    fn complete_compaction(&mut self, out: &mut Drafts) {
        let summary = self.summary.as_mut();
        let (text, raw) = summary.map(|summary| (summary.text(), summary.raw.take())).unwrap_or_default();
        let mut session = out.session(self.id.as_str());
        match self.open_compaction.take().map(|open| *open) {
            Some(OpenCompaction { key, data }) => {
                let note = Note::compaction(data.summary(text)).raw(raw);
                session.note_finished(key, note, false);
            }
            None => session.note(Note::compaction(Compaction::new().summary(text)).raw(raw)),
        }
    }
}

impl OpenCodeConverter {
    pub(super) fn session_compacted(&mut self, properties: Option<EventSessionCompactedProperties>, out: &mut Drafts) {
        let Some(id) = properties.and_then(|properties| properties.session_id) else {
            return report_incomplete("session.compacted", out);
        };
        let session = self.sessions.get_or_insert(&id);
        session.show_user_messages(None, out);
        session.complete_compaction(out);
    }
}
