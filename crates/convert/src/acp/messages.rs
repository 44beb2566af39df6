//! Messages: the protocol streams chunks, without a start and an end.
//!
//! Consecutive chunks of one kind and one `messageId` are a message. It is over when a chunk of another kind or id
//! comes, when the agent uses a tool, and when the turn ends.

use interlingua_native::Json;
use interlingua_native::acp::ContentBlock;
use interlingua_schema::{ContentPart, Visibility};

use super::content::{content_part, parent_call, prompt_part};
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
pub(super) struct Run {
    kind: ChunkKind,
    message_id: Option<String>,
    key: Key,
    /// Content that is not streamed: all of a user's message, and what is not text of the other messages.
    parts: Vec<ContentPart>,
}

impl Run {
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

    fn finish(mut self, is_main: bool, session: &mut SessionDrafts<'_>) {
        let draft = self.draft();
        let parts = std::mem::take(&mut self.parts);
        if self.kind == ChunkKind::User && is_main {
            let message = UserMessage::new(parts);
            let message = match self.message_id {
                Some(id) => message.native_id(id),
                None => message,
            };
            return session.user_message(self.key, message);
        }
        let end = parts.into_iter().fold(MessageEnd::as_streamed(), MessageEnd::with_part);
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
        let usage = self.observe_chunk_usage(id, meta);
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
        let parent = meta.and_then(parent_call);
        let mut drafts = self.drafts(id, out).sub_agent_or_main(parent.as_deref());
        let session = self.session(id);
        let message_id = message_id.filter(|id| !id.is_empty());
        let continues = |run: &Run| run.kind == kind && run.message_id == message_id;
        if !session.runs.get(&parent).is_some_and(continues) {
            finish_run(session, parent.as_ref(), &mut drafts);
            session.message_count += 1;
            let key = Key::numbered("message", session.message_count);
            let run = Run { kind, message_id, key, parts: Vec::new() };
            if kind != ChunkKind::User {
                drafts.message_started(&run.key, run.draft());
            }
            session.runs.insert(parent.clone(), run);
        }
        if let Some(run) = session.runs.get_mut(&parent) {
            run.push(part, &mut drafts);
        }
        if !out.has_input_drafts() {
            out.dropped(if kind == ChunkKind::User { USER_CHUNK } else { EMPTY });
        }
    }

    /// Finishes all messages of a session.
    pub(super) fn finish_runs(&mut self, id: &str, out: &mut Drafts) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        for (parent, run) in std::mem::take(&mut session.runs) {
            let is_main = parent.is_none();
            run.finish(is_main, &mut out.session(id).sub_agent_or_main(parent));
        }
    }
}

impl AcpConverter {
    /// Finishes the message without an id that the agent was streaming when it went on with a call.
    pub(super) fn finish_unnamed_run(&mut self, id: &str, call_id: &str, out: &mut Drafts) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        let parent = session.tools.get(call_id).and_then(|tool| tool.parent().cloned());
        if session.runs.get(&parent).is_some_and(|run| run.message_id.is_none()) {
            let mut drafts = out.session(id).sub_agent_or_main(parent.as_deref());
            finish_run(session, parent.as_ref(), &mut drafts);
        }
    }
}

/// Finishes the message of one sub-agent, or of the main agent.
pub(super) fn finish_run(session: &mut Session, parent: Option<&String>, drafts: &mut SessionDrafts<'_>) {
    if let Some(run) = session.runs.remove(&parent.cloned()) {
        run.finish(parent.is_none(), drafts);
    }
}
