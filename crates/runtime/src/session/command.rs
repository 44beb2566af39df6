//! Commands to a session actor.

use interlingua_store::{MessageId, NewMessage, SessionChanges};
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::driver::PermissionReply;
use crate::error::RuntimeError;

/// Where the reply to a command goes. The caller may have gone away.
pub(crate) type ReplySender = oneshot::Sender<Result<(), RuntimeError>>;

/// A command to a session actor.
#[derive(Debug)]
pub(crate) enum SessionCommand {
    /// Start the actor, which closes what was interrupted and takes queued messages; or let it read the session's
    /// secrets again.
    Wake(ReplySender),
    /// Queue a message.
    Message {
        message: NewMessage,
        /// The client's trace.
        trace_parent: Option<String>,
        /// Replied to when the message is durable.
        reply_to: ReplySender,
        /// Gets the sequence number before the first event of the message's turn.
        turn_start: oneshot::Sender<u64>,
    },
    /// Find the turn of a message that was queued before.
    FindTurn {
        public_id: String,
        reply_to: ReplySender,
        /// Gets the sequence number before the first event of the message's turn.
        turn_start: oneshot::Sender<u64>,
    },
    /// Remove a message from the queue.
    CancelMessage { id: MessageId, reply_to: ReplySender },
    /// Change what the agent is started with.
    Update { changes: SessionChanges, reply_to: ReplySender },
    /// Answer a permission request.
    Permission {
        id: String,
        reply: PermissionReply,
        /// Name of the API token of the client.
        by: Option<String>,
        reply_to: ReplySender,
    },
    /// Answer or reject a question.
    Question { id: String, reply: QuestionReply, reply_to: ReplySender },
    /// End the running turn.
    Interrupt(ReplySender),
    /// End the session.
    Terminate(ReplySender),
    /// Give the session up as soon as it is idle, because another server has newer secrets for it.
    HandOver(ReplySender),
    /// Stop the agent because the server shuts down.
    Shutdown(ReplySender),
}

/// A client's reply to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum QuestionReply {
    /// The chosen options, or free text.
    Answered(Vec<String>),
    /// The client does not answer.
    Rejected,
}

impl SessionCommand {
    /// Replies with an error to a command that is not executed.
    pub(crate) fn refuse(self, error: RuntimeError) {
        let reply_to = match self {
            Self::Wake(reply_to)
            | Self::Message { reply_to, .. }
            | Self::FindTurn { reply_to, .. }
            | Self::CancelMessage { reply_to, .. }
            | Self::Update { reply_to, .. }
            | Self::Permission { reply_to, .. }
            | Self::Question { reply_to, .. }
            | Self::Interrupt(reply_to)
            | Self::Terminate(reply_to)
            | Self::HandOver(reply_to)
            | Self::Shutdown(reply_to) => reply_to,
        };
        // The caller may have gone away.
        let _ = reply_to.send(Err(error));
    }

    /// Replies to a command for a session that has ended: what the end has already achieved succeeds, the rest is
    /// refused.
    pub(crate) fn reply_for_ended_session(self, error: RuntimeError) {
        match self {
            Self::Wake(reply_to) | Self::Terminate(reply_to) | Self::HandOver(reply_to) | Self::Shutdown(reply_to) => {
                let _ = reply_to.send(Ok(()));
            }
            command => command.refuse(error),
        }
    }
}
