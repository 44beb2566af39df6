//! What is asked of a running session.

use interlingua_schema::Message;
use tokio::sync::oneshot;

use crate::driver::PermissionReply;
use crate::error::RuntimeError;

/// Where the answer to a command goes. Nobody may be waiting any more.
pub(crate) type Answer<T = ()> = oneshot::Sender<Result<T, RuntimeError>>;

/// What is asked of a running session.
#[derive(Debug)]
pub(crate) enum Command {
    /// Be there: what was interrupted is closed, and what waits is taken up.
    Settle(Answer),
    /// Queue a message.
    Message {
        message: Message,
        /// Told when it is durable.
        queued: Answer,
        /// Told the sequence before the first event of the turn that takes it up.
        turn: oneshot::Sender<u64>,
    },
    /// Answer a permission request.
    Permission { id: String, reply: PermissionReply, answer: Answer },
    /// Answer a question, or refuse to.
    Question { id: String, reply: QuestionReply, answer: Answer },
    /// End the running turn.
    Interrupt(Answer),
    /// End the session.
    Terminate(Answer),
    /// Let go of the agent, because the server is about to stop.
    Leave(Answer),
}

/// What a client says to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum QuestionReply {
    /// These choices, or words.
    Answered(Vec<String>),
    /// Nothing.
    Rejected,
}

impl Command {
    /// Answers a command that will not be obeyed.
    pub(crate) fn refuse(self, error: RuntimeError) {
        let answer = match self {
            Self::Settle(answer)
            | Self::Permission { answer, .. }
            | Self::Question { answer, .. }
            | Self::Interrupt(answer)
            | Self::Terminate(answer)
            | Self::Leave(answer) => answer,
            Self::Message { queued, .. } => queued,
        };
        // Whoever asked may have gone away.
        let _ = answer.send(Err(error));
    }

    /// Whether it is fulfilled by the session's being over.
    pub(crate) fn is_fulfilled_by_the_end(&self) -> bool {
        matches!(self, Self::Settle(_) | Self::Terminate(_) | Self::Leave(_))
    }

    /// Answers a command that an ended session can answer.
    pub(crate) fn fulfil(self) {
        if let Self::Settle(answer) | Self::Terminate(answer) | Self::Leave(answer) = self {
            let _ = answer.send(Ok(()));
        }
    }
}
