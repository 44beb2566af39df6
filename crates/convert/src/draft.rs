//! What a converter says happened, before ids, order and gaps are seen to.

mod message;
mod note;
mod plan;
mod prompt;
mod request;
mod tool;
mod turn;

use interlingua_schema::{ApprovalScope, Decision, QuestionAnswer, SessionMetadata, TurnMetadata, Usage};

use crate::Key;
pub(crate) use message::{Channel, streamed_text};
pub use message::{MessageDraft, MessageEnd};
pub use note::{Failure, Note};
pub(crate) use note::{NoteKind, Unparsed};
pub(crate) use plan::{LastPlan, UNCHANGED_PLAN};
pub use plan::{plan_step, plan_step_from_json};
pub(crate) use prompt::PromptPayload;
pub use prompt::{PromptDraft, UserMessage};
pub use request::{PermissionDraft, QuestionDraft};
pub use tool::{ToolCall, ToolResult};
pub use turn::TurnEnd;

/// One thing that happened.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// The tool call whose sub-agent did it; the agent itself when absent.
    pub(crate) sub_agent: Option<Key>,
    /// Inferred by the converter rather than said by the agent.
    pub(crate) synthetic: bool,
    pub(crate) action: DraftAction,
}

impl Draft {
    /// What follows is about this session.
    pub(crate) fn select_session(session: Option<Key>) -> Self {
        Self { sub_agent: None, synthetic: false, action: DraftAction::SelectSession(session) }
    }

    /// All of it, so that nothing is left to do.
    pub(crate) fn take(&mut self) -> Self {
        Self { sub_agent: self.sub_agent.take(), synthetic: self.synthetic, action: self.action.take() }
    }
}

/// What happened. Wide contents are boxed: every draft is as large as the widest variant, and is copied twice.
#[derive(Clone, Debug, Default)]
pub(crate) enum DraftAction {
    /// What was said has been taken elsewhere.
    #[default]
    Taken,
    /// What follows is about the native session of this name, or the one begun last when the payload names none.
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
    /// What was said, which is then done.
    pub(crate) fn take(&mut self) -> Self {
        std::mem::take(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_is_small() {
        assert!(size_of::<Draft>() <= 128, "{}", size_of::<Draft>());
    }
}
