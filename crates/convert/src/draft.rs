//! Drafts: what a converter reports, before the sequencer makes events of it.

mod failure;
mod message;
mod note;
mod plan;
mod prompt;
mod request;
mod tool;
mod turn;

use interlingua_schema::{ApprovalScope, Decision, QuestionAnswer, SessionMetadata, TurnMetadata, Usage};

use crate::Key;
pub use failure::Failure;
pub(crate) use message::{Channel, streamed_text};
pub use message::{MessageDraft, MessageEnd};
pub use note::Note;
pub(crate) use note::NoteKind;
pub(crate) use plan::{LastPlan, UNCHANGED_PLAN};
pub use plan::{plan_step, plan_step_from_json};
pub(crate) use prompt::PromptPayload;
pub use prompt::{PromptDraft, UserMessage};
pub use request::{PermissionDraft, QuestionDraft};
pub use tool::{ToolCall, ToolResult};
pub use turn::TurnEnd;

/// One report of a converter.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// Tool call that started the sub-agent that this is about; `None` for the main agent.
    pub(crate) sub_agent: Option<Key>,
    /// Inferred by the converter, not reported by the agent.
    pub(crate) synthetic: bool,
    pub(crate) action: DraftAction,
}

impl Draft {
    /// A draft that directs the drafts after it to this session.
    pub(crate) fn select_session(session: Option<Key>) -> Self {
        Self { sub_agent: None, synthetic: false, action: DraftAction::SelectSession(session) }
    }

    /// Takes the content. The draft that remains does nothing.
    pub(crate) fn take(&mut self) -> Self {
        Self { sub_agent: self.sub_agent.take(), synthetic: self.synthetic, action: self.action.take() }
    }
}

/// What a draft reports. Large contents are boxed: every draft is as large as the largest variant, and is copied twice.
#[derive(Clone, Debug, Default)]
pub(crate) enum DraftAction {
    /// The content was taken.
    #[default]
    Taken,
    /// The drafts after this are for the session with this native id, or for the session that started last if `None`.
    SelectSession(Option<Key>),
    SessionStarted(Box<SessionMetadata>),
    ChildOf {
        parent: Key,
    },
    SpawnedBy {
        parent: Key,
        call: Key,
    },
    ProcessRestarted,
    PromptSent(PromptDraft),
    PromptAccepted {
        id: Option<Key>,
    },
    PromptRejected {
        id: Key,
    },
    InterruptRequested,
    InterruptRejected,
    TurnStarted {
        turn_id: Option<String>,
        metadata: Option<Box<TurnMetadata>>,
    },
    TurnEnded(Box<TurnEnd>),
    TurnCutOff,
    UsageAdded(Box<Usage>),
    UserMessage(Key, Box<UserMessage>),
    MessageStarted(Key, MessageDraft),
    MessageDelta(Key, String),
    MessageFinished(Key, MessageDraft, Box<MessageEnd>),
    MessageAbandoned(Key),
    ToolStarted(Key, Box<ToolCall>),
    ToolArguments(Key, String),
    ToolCalled(Key, Box<ToolCall>),
    ToolOutput(Key, String),
    ToolFinished(Key, Box<ToolResult>),
    ToolAbandoned(Key),
    NoteStarted(Key, Box<Note>),
    NoteFinished(Key, Box<Note>, bool),
    NoteAdded(Box<Note>),
    PermissionRequested {
        key: Key,
        permission: Box<PermissionDraft>,
    },
    PermissionResolved {
        key: Key,
        decision: Decision,
        scope: Option<ApprovalScope>,
        by: Option<String>,
    },
    QuestionsRequested {
        key: Key,
        questions: Vec<QuestionDraft>,
    },
    QuestionsResolved {
        key: Key,
        answers: Vec<QuestionAnswer>,
    },
    RequestWithdrawn {
        key: Key,
    },
    Failed(Box<Failure>),
    Unparsed(Box<Unparsed>),
}

impl DraftAction {
    /// Takes the content and leaves [`DraftAction::Taken`].
    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

/// A payload that does not fit what is known about the agent.
#[derive(Clone, Debug)]
pub(crate) struct Unparsed {
    /// The payload has a known type and lost a part, so the outcome of its turn is not certain.
    pub(crate) damaged: bool,
    pub(crate) location: &'static str,
    pub(crate) error: String,
    pub(crate) native_type: Option<String>,
    /// SHA-256 of the payload. Empty until the conversion fills it in, because converters do not have the bytes.
    pub(crate) hash: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_small() {
        assert!(size_of::<Draft>() <= 128, "{}", size_of::<Draft>());
    }
}
