//! Compactions: one status item from the announcement to the summary.
//!
//! A compaction is announced by a `status`, told by a `compact_boundary`, and followed by the summary in a user's line.
//! Older versions have only the last two. The item ends with the last of them, or with what comes next.

use interlingua_native::claude::{
    CompactBoundaryMessage, CompactBoundaryMessageCompactMetadataTrigger as Trigger, StatusMessage,
    StatusMessageCompactResult, StdoutMessage,
};
use interlingua_schema::{Compaction as CompactionData, CompactionTrigger};

use super::{ClaudeConverter, HERE, clean, whole};
use crate::{Drafts, Note};

/// A compaction that is not over.
#[derive(Debug, Default)]
pub(super) struct Compaction {
    /// The key of its item, once that has begun.
    key: Option<String>,
    data: CompactionData,
    /// The agent says that it worked.
    succeeded: bool,
    has_boundary: bool,
    /// The line with the summary came, even if nothing is in it.
    has_summary: bool,
}

impl Compaction {
    /// Whether it is over as soon as something else is said.
    fn is_done(&self) -> bool {
        self.has_boundary || self.has_summary
    }
}

impl ClaudeConverter {
    /// A compaction begins.
    pub(super) fn compacting(&mut self, native: Option<&str>, out: &mut Drafts) {
        self.begin_early(native, out);
        self.end_compaction(native, out);
        let key = self.new_key();
        self.compaction = Compaction { key: Some(key.clone()), ..Compaction::default() };
        self.aside(out, native).note_started(key, Note::compacting(CompactionData::default()));
    }

    /// A compaction is over, well or not.
    pub(super) fn compact_result(&mut self, status: &StatusMessage, out: &mut Drafts) {
        match &status.compact_result {
            // The boundary tells the rest.
            Some(StatusMessageCompactResult::Success) => self.compaction.succeeded = true,
            Some(failed) => {
                let Compaction { key, data, .. } = std::mem::take(&mut self.compaction);
                let key = key.unwrap_or_else(|| self.new_key());
                let unknown = match failed {
                    StatusMessageCompactResult::Unknown(word) => Some(word.as_str()),
                    _ => None,
                };
                let note = Note::compaction_failed(data, status.compact_error.as_deref().or(unknown));
                self.aside(out, status.session_id.as_deref()).note_finished(key, note, true);
            }
            None => {}
        }
    }

    pub(super) fn compact_boundary(&mut self, boundary: &CompactBoundaryMessage, out: &mut Drafts) {
        let native = boundary.session_id.as_deref();
        if let Some(metadata) = &boundary.compact_metadata {
            let data = &mut self.compaction.data;
            data.trigger = match metadata.trigger {
                Some(Trigger::Manual) => Some(CompactionTrigger::Manual),
                Some(Trigger::Auto) => Some(CompactionTrigger::Auto),
                Some(ref unknown) => {
                    let error = format!("unknown trigger of a compaction: {unknown}");
                    out.current_session().unparsed(HERE, error, Some("system/compact_boundary".to_owned()));
                    None
                }
                None => None,
            };
            data.tokens_before = whole(metadata.pre_tokens.as_ref());
            data.tokens_after = whole(metadata.post_tokens.as_ref());
        }
        self.compaction.has_boundary = true;
        self.begin_compaction(native, out);
        if self.compaction.has_summary {
            self.end_compaction(native, out);
        }
    }

    /// Whether a line in the user's name is the summary of a compaction, which then becomes part of that. Only newer
    /// versions mark it as made up.
    pub(super) fn compaction_summary(&mut self, native: Option<&str>, text: &str, out: &mut Drafts) -> bool {
        let Some(summary) = clean::summary(text) else { return false };
        self.compaction.data.summary = Some(summary).filter(|summary| !summary.is_empty());
        self.compaction.has_summary = true;
        self.begin_compaction(native, out);
        if self.compaction.has_boundary {
            self.end_compaction(native, out);
        }
        true
    }

    fn begin_compaction(&mut self, native: Option<&str>, out: &mut Drafts) {
        if self.compaction.key.is_none() {
            let key = self.new_key();
            self.aside(out, native).note_started(key.as_str(), Note::compacting(self.compaction.data.clone()));
            self.compaction.key = Some(key);
        }
        out.dropped("part of a compaction, reported when it ends");
    }

    /// Ends the item of a compaction that was told of.
    fn end_compaction(&mut self, native: Option<&str>, out: &mut Drafts) {
        if self.compaction.is_done() {
            let Compaction { key, data, .. } = std::mem::take(&mut self.compaction);
            let key = key.unwrap_or_else(|| self.new_key());
            self.aside(out, native).note_finished(key, Note::compaction(data), false);
        }
    }

    /// Ends a compaction whose summary did not come, before anything else is reported.
    pub(super) fn end_compaction_before(&mut self, message: &StdoutMessage, out: &mut Drafts) {
        let goes_on = match message {
            StdoutMessage::Assistant(_)
            | StdoutMessage::StreamEvent(_)
            | StdoutMessage::ResultSuccess(_)
            | StdoutMessage::ResultError(_)
            | StdoutMessage::ControlRequest(_)
            | StdoutMessage::ConversationReset(_) => true,
            StdoutMessage::User(line) => line.parent_tool_use_id.is_some(),
            _ => false,
        };
        if goes_on {
            self.end_compaction(None, out);
        }
    }

    /// The turn ends: a compaction that is known to have worked ends with it, boundary or not.
    pub(super) fn end_compaction_of_turn(&mut self, native: Option<&str>, out: &mut Drafts) {
        if self.compaction.succeeded {
            self.compaction.has_boundary = true;
        }
        self.end_compaction(native, out);
        self.compaction = Compaction::default();
    }
}
