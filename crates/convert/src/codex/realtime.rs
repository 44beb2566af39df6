//! Voice conversations, converted from their transcripts.

use interlingua_native::codex::{
    ThreadRealtimeClosedNotification, ThreadRealtimeErrorNotification, ThreadRealtimeItem,
    ThreadRealtimeItemCompletedNotification, ThreadRealtimeItemStartedNotification,
    ThreadRealtimeItemTranscriptDeltaNotification, ThreadRealtimeStartedNotification,
    ThreadRealtimeTranscriptDoneNotification, ThreadRealtimeTranscriptRole,
};
use interlingua_schema::{ContentPart, ErrorCode};

use super::CodexConverter;
use super::items::current_mode;
use crate::{Drafts, Failure, MessageDraft, MessageEnd, Note, UserMessage};

/// Mode of a thread during a voice conversation.
const REALTIME_MODE: &str = "realtime";
const BOUNDARY: &str = "start or end of a voice conversation, which has its own notification";
/// Drop reason for partial and repeated transcripts.
pub(super) const TRANSCRIPT: &str = "a partial or repeated transcript";

impl CodexConverter {
    pub(super) fn realtime_started(&mut self, params: &ThreadRealtimeStartedNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        thread.session(out).note(Note::mode_changed(Some(current_mode(thread)), REALTIME_MODE));
    }

    pub(super) fn realtime_closed(&mut self, params: ThreadRealtimeClosedNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let note = Note::mode_changed(Some(REALTIME_MODE.to_owned()), current_mode(thread));
        thread.session(out).note(match params.reason {
            Some(reason) => note.with_part(ContentPart::text(reason)),
            None => note,
        });
    }

    pub(super) fn realtime_error(&mut self, params: ThreadRealtimeErrorNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        thread.session(out).failed(Failure::new(ErrorCode::AgentError, params.message.unwrap_or_default()));
    }

    pub(super) fn realtime_item_started(&mut self, params: ThreadRealtimeItemStartedNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let Some(ThreadRealtimeItem::TranscriptSegment(item)) = params.item else {
            return out.dropped(BOUNDARY);
        };
        thread.realtime.has_segments = true;
        if is_user(item.role.as_ref().map(ThreadRealtimeTranscriptRole::as_str)) {
            return out.dropped(TRANSCRIPT);
        }
        let id = item.id.unwrap_or_default();
        thread.realtime.open_segments.insert(id.clone());
        thread.session(out).message_started(id.as_str(), MessageDraft::assistant().native_id(id.as_str()));
    }

    /// Streams the agent's segments. A segment of the user is drafted when it is complete.
    pub(super) fn realtime_item_delta(
        &mut self,
        params: ThreadRealtimeItemTranscriptDeltaNotification,
        out: &mut Drafts,
    ) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let id = params.item_id.unwrap_or_default();
        if thread.realtime.open_segments.contains(&id) {
            thread.session(out).message_delta(id, params.delta.unwrap_or_default());
        } else {
            out.dropped(TRANSCRIPT);
        }
    }

    pub(super) fn realtime_item_completed(
        &mut self,
        params: ThreadRealtimeItemCompletedNotification,
        out: &mut Drafts,
    ) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        let Some(ThreadRealtimeItem::TranscriptSegment(item)) = params.item else {
            return out.dropped(BOUNDARY);
        };
        let id = item.id.unwrap_or_default();
        let text = item.text.unwrap_or_default();
        thread.realtime.has_segments = true;
        thread.realtime.open_segments.remove(&id);
        let mut session = thread.session(out);
        if is_user(item.role.as_ref().map(ThreadRealtimeTranscriptRole::as_str)) {
            session.user_message(id.as_str(), UserMessage::text(text).native_id(id.as_str()).injected());
        } else {
            session.message_finished(
                id.as_str(),
                MessageDraft::assistant().native_id(id.as_str()),
                MessageEnd::text(text),
            );
        }
    }

    /// Transcript in the older form. Newer releases send it beside the segments.
    pub(super) fn transcript_done(&mut self, params: ThreadRealtimeTranscriptDoneNotification, out: &mut Drafts) {
        let thread = self.thread(params.thread_id.as_deref(), out);
        if thread.realtime.has_segments {
            return out.dropped(TRANSCRIPT);
        }
        thread.realtime.transcript_count += 1;
        let key = format!("transcript-{}", thread.realtime.transcript_count);
        let text = params.text.unwrap_or_default();
        let mut session = thread.session(out);
        if is_user(params.role.as_deref()) {
            session.user_message(key, UserMessage::text(text).injected());
        } else {
            session.message_finished(key, MessageDraft::assistant(), MessageEnd::text(text));
        }
    }
}

fn is_user(role: Option<&str>) -> bool {
    role == Some("user")
}
