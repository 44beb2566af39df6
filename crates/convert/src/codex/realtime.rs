//! A spoken conversation: what is said in it, as text.

use interlingua_native::codex::{
    ThreadRealtimeClosedNotification, ThreadRealtimeErrorNotification, ThreadRealtimeItem,
    ThreadRealtimeItemCompletedNotification, ThreadRealtimeItemStartedNotification,
    ThreadRealtimeItemTranscriptDeltaNotification, ThreadRealtimeStartedNotification,
    ThreadRealtimeTranscriptDoneNotification, ThreadRealtimeTranscriptRole,
};
use interlingua_schema::{ContentPart, ErrorCode};

use super::CodexConverter;
use super::items::mode_of;
use crate::{Drafts, Failure, MessageDraft, MessageEnd, Note, UserMessage};

/// The mode of a thread while it is spoken with.
const REALTIME_MODE: &str = "realtime";
const MARK: &str = "the beginning or end of a spoken conversation, which is told by itself";
/// What is said is told whole as well.
pub(super) const WORDS: &str = "a transcript as far as it goes, or once more";

impl CodexConverter {
    pub(super) fn realtime_started(&mut self, params: &ThreadRealtimeStartedNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        thread.session(out).note(Note::mode_changed(Some(mode_of(thread)), REALTIME_MODE));
    }

    pub(super) fn realtime_closed(&mut self, params: ThreadRealtimeClosedNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let note = Note::mode_changed(Some(REALTIME_MODE.to_owned()), mode_of(thread));
        thread.session(out).note(match params.reason {
            Some(reason) => note.with_part(ContentPart::text(reason)),
            None => note,
        });
    }

    pub(super) fn realtime_error(&mut self, params: ThreadRealtimeErrorNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        thread.session(out).failed(Failure::new(ErrorCode::AgentError, params.message.unwrap_or_default()));
    }

    pub(super) fn realtime_item_started(&mut self, params: ThreadRealtimeItemStartedNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let Some(ThreadRealtimeItem::TranscriptSegment(item)) = params.item else {
            return out.dropped(MARK);
        };
        thread.realtime.in_segments = true;
        if is_user(item.role.as_ref().map(ThreadRealtimeTranscriptRole::as_str)) {
            return out.dropped(WORDS);
        }
        let id = item.id.unwrap_or_default();
        thread.realtime.speaking.insert(id.clone());
        thread.session(out).message_started(id.as_str(), MessageDraft::assistant().native_id(id.as_str()));
    }

    /// The agent's words stream; a user's are told when they end.
    pub(super) fn realtime_item_delta(
        &mut self,
        params: ThreadRealtimeItemTranscriptDeltaNotification,
        out: &mut Drafts,
    ) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let id = params.item_id.unwrap_or_default();
        if thread.realtime.speaking.contains(&id) {
            thread.session(out).message_delta(id, params.delta.unwrap_or_default());
        } else {
            out.dropped(WORDS);
        }
    }

    pub(super) fn realtime_item_completed(
        &mut self,
        params: ThreadRealtimeItemCompletedNotification,
        out: &mut Drafts,
    ) {
        let thread = self.on(params.thread_id.as_deref(), out);
        let Some(ThreadRealtimeItem::TranscriptSegment(item)) = params.item else {
            return out.dropped(MARK);
        };
        let id = item.id.unwrap_or_default();
        let text = item.text.unwrap_or_default();
        thread.realtime.in_segments = true;
        thread.realtime.speaking.remove(&id);
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

    /// The older way to tell a transcript, which newer releases keep beside the segments.
    pub(super) fn transcript_done(&mut self, params: ThreadRealtimeTranscriptDoneNotification, out: &mut Drafts) {
        let thread = self.on(params.thread_id.as_deref(), out);
        if thread.realtime.in_segments {
            return out.dropped(WORDS);
        }
        thread.realtime.transcripts += 1;
        let key = format!("transcript-{}", thread.realtime.transcripts);
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
