//! Claude Code: JSON lines in both directions, with a control protocol among them.
//!
//! The host starts a process with the flags of [`command_line`], sends [`initialize`], and then a [`Prompt`] per turn.
//! The agent asks by control requests; [`PendingRequests`] tracks and answers them. Everything that a host sends is a
//! [`HostMessage`].

mod answer;
mod command_line;
mod host_request;
mod pending;
mod prompt;
mod resume;
mod support;

pub use interlingua_native::claude::{
    ControlInitializeRequest, ControlInitializeResponse, ControlInterruptRequest, McpServerConfigForProcessTransport,
    McpServerConfigForProcessTransportType, ModelInfo, ModelInfoSupportedEffortLevelsItem as Effort, PermissionMode,
};
use interlingua_native::claude::{ControlRequest, ControlResponse, StdinMessage};
use interlingua_native::new;
use serde::Serialize;

pub use answer::{ControlAnswer, DialogResult, ElicitationResult};
pub use command_line::{McpServers, Permissions, SessionOptions, WIRE_FLAGS, command_line};
pub use host_request::{ControlRequestBuilder, ControlRequestParams, HostRequest, SentRequest, initialize, interrupt};
pub use pending::{PendingRequests, Received, Reply, refuse};
pub use prompt::{Attachment, Prompt};
pub use resume::ResumeStatus;
pub use support::{EFFORT, PARTIAL_MESSAGES, SUPPORT, TOOLS, XHIGH_EFFORT};

/// A message that a host sends, as one line.
#[derive(Clone, Debug, PartialEq)]
pub enum HostMessage {
    /// A message of the user. It starts a turn, or waits for the running one to end.
    Prompt(Prompt),
    /// A request of the host.
    Request {
        /// Id of the request. The answer has the same id.
        id: String,
        /// The request.
        request: HostRequest,
    },
    /// An answer to a request of the agent.
    Answer {
        /// Id of the agent's request.
        id: String,
        /// The answer.
        answer: ControlAnswer,
    },
}

impl HostMessage {
    /// The line to send, without the line break.
    #[must_use]
    pub fn into_line(self) -> String {
        to_text(&StdinMessage::from(self))
    }
}

impl From<HostMessage> for StdinMessage {
    fn from(message: HostMessage) -> Self {
        match message {
            HostMessage::Prompt(prompt) => prompt.into_message().into(),
            HostMessage::Request { id, request } => {
                new!(ControlRequest { request: request.into(), request_id: id }).into()
            }
            HostMessage::Answer { id, answer } => new!(ControlResponse { response: answer.into_result(id) }).into(),
        }
    }
}

/// Encodes a value as JSON. This does not fail: the keys of generated types are strings.
fn to_text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
