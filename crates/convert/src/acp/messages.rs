//! Messages: the protocol streams chunks, without a start and an end.
//!
//! Consecutive chunks of one kind and one `messageId` are a message. It is over when a chunk of another kind or id
//! comes, when the agent uses a tool, and when the turn ends. No payload says that it is over, so its end is synthetic,
//! with the last chunk as its payload.

use interlingua_native::Json;
use interlingua_native::acp::ContentBlock;
use interlingua_schema::{ContentPart, RawJson, Visibility};

use super::content::{Meta, content_part, prompt_part};
use super::session::Session;
use super::{ACP, AcpConverter};
use crate::{Drafts, Key, MessageDraft, MessageEnd, SessionDrafts, UserMessage};

/// Drop reason for a chunk without content.
const EMPTY: &str = "an empty chunk";
/// Drop reason for a chunk of a user's message. The message is shown when it is complete.
const USER_CHUNK: &str = "a chunk of a user's message";

/// Kind of the message that a chunk is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChunkKind {
    User,
    Agent,
    Thought,
}

/// A message that is streaming.
#[derive(Debug)]
pub(super) struct OpenMessage {
    kind: ChunkKind,
    message_id: Option<String>,
    key: Key,
    /// Content that is not streamed: all of a user's message, and what is not text of the other messages.
    parts: Vec<ContentPart>,
    /// Payload of the last chunk.
    raw: Option<RawJson>,
    chunks: u64,
}

impl OpenMessage {
    fn draft(&self) -> MessageDraft {
        let draft = match self.kind {
            ChunkKind::User => MessageDraft::prompt(),
            ChunkKind::Agent => MessageDraft::assistant(),
            ChunkKind::Thought => MessageDraft::reasoning(Visibility::Public),
        };
        match &self.message_id {
            Some(id) => draft.native_id(id.as_str()),
            None => draft,
        }
    }

    /// Adds a part to the message.
    fn push(&mut self, part: ContentPart, session: &mut SessionDrafts<'_>) {
        match part {
            ContentPart::Text { text } if self.kind != ChunkKind::User => {
                session.message_delta(&self.key, text);
            }
            ContentPart::Text { text } => match self.parts.last_mut() {
                Some(ContentPart::Text { text: last }) => last.push_str(&text),
                _ => self.parts.push(ContentPart::Text { text }),
            },
            part => self.parts.push(part),
        }
    }

    fn finish(mut self, is_main: bool, mut session: SessionDrafts<'_>) {
        let draft = self.draft();
        let parts = std::mem::take(&mut self.parts);
        if self.kind == ChunkKind::User && is_main {
            // A message in one chunk is what the agent says; otherwise no payload has all of it.
            let mut session = if self.chunks > 1 { session.synthetic() } else { session };
            let message = UserMessage::new(parts).raw(self.raw).starts_turn();
            let message = match self.message_id {
                Some(id) => message.native_id(id),
                None => message,
            };
            return session.user_message(self.key, message);
        }
        session = session.synthetic();
        let end = parts.into_iter().fold(MessageEnd::as_streamed(), MessageEnd::with_part).raw(self.raw);
        session.message_finished(self.key, draft, end);
    }
}

impl AcpConverter {
    pub(super) fn handle_chunk(
        &mut self,
        id: &str,
        kind: ChunkKind,
        content: Option<ContentBlock>,
        message_id: Option<String>,
        meta: Option<&Json>,
        out: &mut Drafts,
    ) {
        let usage = self.observe_chunk_usage(id, meta, out);
        let part = match content {
            Some(ContentBlock::Unknown { tag, .. }) => {
                return self.drafts(id, out).unparsed(ACP, "unknown content", Some(tag));
            }
            Some(block) if kind == ChunkKind::User => prompt_part(block),
            Some(block) => content_part(block),
            None => None,
        };
        let Some(part) = part.filter(|part| !matches!(part, ContentPart::Text { text } if text.is_empty())) else {
            return out.dropped(if usage { super::usage::CONTEXT } else { EMPTY });
        };
        if kind == ChunkKind::Agent || kind == ChunkKind::Thought {
            self.fail_denied_calls(id, out);
        }
        let parent = self.parent_call(id, &mut Meta::read(meta));
        let _ = self.drafts(id, out);
        let session = self.session(id);
        let message_id = message_id.filter(|id| !id.is_empty());
        let continues = |message: &OpenMessage| message.kind == kind && message.message_id == message_id;
        let raw = out.raw();
        let is_new = !session.messages.get(&parent).is_some_and(continues);
        if is_new {
            finish_message(session, id, parent.as_ref(), out);
        }
        let mut drafts = out.session(id).sub_agent_or_main(parent.as_ref());
        if is_new {
            session.message_count += 1;
            let key = Key::numbered("message", session.message_count);
            let message = OpenMessage { kind, message_id, key, parts: Vec::new(), raw: None, chunks: 0 };
            if kind != ChunkKind::User {
                drafts.message_started(&message.key, message.draft());
            }
            session.messages.insert(parent.clone(), message);
        }
        if let Some(message) = session.messages.get_mut(&parent) {
            message.push(part, &mut drafts);
            message.raw = raw;
            message.chunks += 1;
        }
        if !out.has_input_drafts() {
            out.dropped(if kind == ChunkKind::User { USER_CHUNK } else { EMPTY });
        }
    }

    /// Finishes all messages of a session.
    pub(super) fn finish_messages(&mut self, id: &str, out: &mut Drafts) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        for (parent, message) in std::mem::take(&mut session.messages) {
            let is_main = parent.is_none();
            message.finish(is_main, out.session(id).sub_agent_or_main(parent));
        }
    }

    /// Finishes the user's message that the agent is repeating.
    pub(super) fn finish_user_message(&mut self, id: &str, out: &mut Drafts) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.messages.get(&None).is_some_and(|message| message.kind == ChunkKind::User) {
            finish_message(session, id, None, out);
        }
    }

    /// Finishes the message without an id that the agent was streaming when it went on with a call.
    pub(super) fn finish_unnamed_message(&mut self, id: &str, call_id: &str, out: &mut Drafts) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let parent = session.calls.parent(call_id);
        if session.messages.get(&parent).is_some_and(|message| message.message_id.is_none()) {
            finish_message(session, id, parent.as_ref(), out);
        }
    }
}

/// Finishes the message of one sub-agent, or of the main agent.
pub(super) fn finish_message(session: &mut Session, id: &str, parent: Option<&Key>, out: &mut Drafts) {
    if let Some(message) = session.messages.remove(&parent.cloned()) {
        message.finish(parent.is_none(), out.session(id).sub_agent_or_main(parent));
    }
}
