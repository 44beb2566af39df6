//! Compactions: one status item from the announcement to the summary.
//!
//! A `status` line announces a compaction, a `compact_boundary` line describes it, and a `user` line has the summary.
//! Older versions print only the last two. The item ends with the last of these lines, or before the next other line.

use interlingua_native::claude::{
    CompactBoundaryMessage, CompactBoundaryMessageCompactMetadataTrigger as Trigger, StatusMessage,
    StatusMessageCompactResult, StdoutMessage,
};
use interlingua_schema::{Compaction, CompactionTrigger};

use super::{AGENT, ClaudeConverter, clean, to_u64};
use crate::{Drafts, Note};

/// A compaction whose item has not ended.
#[derive(Debug, Default)]
pub(super) struct OpenCompaction {
    /// Key of its item, once that has started.
    key: Option<String>,
    data: Compaction,
    /// The agent reports success.
    succeeded: bool,
    has_boundary: bool,
    /// The line with the summary has come, even if the summary is empty.
    has_summary: bool,
}

impl OpenCompaction {
    /// Whether the item can end before the next other line.
    fn can_finish(&self) -> bool {
        self.has_boundary || self.has_summary
    }
}

impl ClaudeConverter {
    /// The agent announces a compaction.
    pub(super) fn compaction_announced(&mut self, session_id: Option<&str>, out: &mut Drafts) {
        self.start_turn_early(session_id, out);
        self.finish_compaction(session_id, out);
        let key = self.new_key();
        self.compaction = OpenCompaction { key: Some(key.clone()), ..OpenCompaction::default() };
        self.session_if_started(out, session_id).note_started(key, Note::compacting(Compaction::default()));
    }

    /// The agent reports whether a compaction succeeded.
    pub(super) fn compact_result(&mut self, status: &StatusMessage, out: &mut Drafts) {
        match &status.compact_result {
            // The boundary has the details.
            Some(StatusMessageCompactResult::Success) => self.compaction.succeeded = true,
            Some(failed) => {
                let OpenCompaction { key, data, .. } = std::mem::take(&mut self.compaction);
                let key = key.unwrap_or_else(|| self.new_key());
                let unknown = match failed {
                    StatusMessageCompactResult::Unknown(result) => Some(result.as_str()),
                    _ => None,
                };
                let note = Note::compaction_failed(data, status.compact_error.as_deref().or(unknown));
                self.session_if_started(out, status.session_id.as_deref()).note_finished(key, note, true);
            }
            None => {}
        }
    }

    pub(super) fn compact_boundary(&mut self, boundary: &CompactBoundaryMessage, out: &mut Drafts) {
        let session_id = boundary.session_id.as_deref();
        if let Some(metadata) = &boundary.compact_metadata {
            let data = &mut self.compaction.data;
            data.trigger = match metadata.trigger {
                Some(Trigger::Manual) => Some(CompactionTrigger::Manual),
                Some(Trigger::Auto) => Some(CompactionTrigger::Auto),
                Some(ref unknown) => {
                    let error = format!("unknown compaction trigger: {unknown}");
                    out.current_session().unparsed(AGENT, error, Some("system/compact_boundary".to_owned()));
                    None
                }
                None => None,
            };
            data.tokens_before = to_u64(metadata.pre_tokens.as_ref());
            data.tokens_after = to_u64(metadata.post_tokens.as_ref());
        }
        self.compaction.has_boundary = true;
        self.start_compaction(session_id, out);
        if self.compaction.has_summary {
            self.finish_compaction(session_id, out);
        }
    }

    /// Adds the text to the compaction if it is a summary. Returns whether it is. Only newer versions mark the `user`
    /// line of a summary as synthetic.
    pub(super) fn take_compaction_summary(&mut self, session_id: Option<&str>, text: &str, out: &mut Drafts) -> bool {
        let Some(summary) = clean::extract_summary(text) else { return false };
        self.compaction.data.summary = Some(summary).filter(|summary| !summary.is_empty());
        self.compaction.has_summary = true;
        self.start_compaction(session_id, out);
        if self.compaction.has_boundary {
            self.finish_compaction(session_id, out);
        }
        true
    }

    /// Starts the item of a compaction unless it has started.
    fn start_compaction(&mut self, session_id: Option<&str>, out: &mut Drafts) {
        if self.compaction.key.is_none() {
            let key = self.new_key();
            self.session_if_started(out, session_id)
                .note_started(key.as_str(), Note::compacting(self.compaction.data.clone()));
            self.compaction.key = Some(key);
        }
        out.dropped("part of a compaction, reported when it ends");
    }

    /// Ends the item of a compaction whose boundary or summary has come.
    fn finish_compaction(&mut self, session_id: Option<&str>, out: &mut Drafts) {
        if self.compaction.can_finish() {
            let OpenCompaction { key, data, .. } = std::mem::take(&mut self.compaction);
            let key = key.unwrap_or_else(|| self.new_key());
            self.session_if_started(out, session_id).note_finished(key, Note::compaction(data), false);
        }
    }

    /// Ends the item of a compaction whose summary did not come, before a line that continues the conversation.
    pub(super) fn finish_compaction_before(&mut self, message: &StdoutMessage, out: &mut Drafts) {
        let continues = match message {
            StdoutMessage::Assistant(_)
            | StdoutMessage::StreamEvent(_)
            | StdoutMessage::ResultSuccess(_)
            | StdoutMessage::ResultError(_)
            | StdoutMessage::ControlRequest(_)
            | StdoutMessage::ConversationReset(_) => true,
            StdoutMessage::User(line) => line.parent_tool_use_id.is_some(),
            _ => false,
        };
        if continues {
            self.finish_compaction(None, out);
        }
    }

    /// Ends a compaction with its turn if it has succeeded, even without a boundary.
    pub(super) fn finish_compaction_at_turn_end(&mut self, session_id: Option<&str>, out: &mut Drafts) {
        if self.compaction.succeeded {
            self.compaction.has_boundary = true;
        }
        self.finish_compaction(session_id, out);
        self.compaction = OpenCompaction::default();
    }
}
