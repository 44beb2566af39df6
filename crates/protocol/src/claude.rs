//! Claude Code: lines of JSON both ways, and a control protocol among them.
//!
//! The host starts a process with the flags of [`command_line`], sends [`initialize`], and then a [`Prompt`] per turn.
//! The agent asks with control requests, which [`PendingRequests`] keeps and answers. Everything that a host sends is a
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

/// Everything that a host sends, a line each.
#[derive(Clone, Debug, PartialEq)]
pub enum HostMessage {
    /// What the user says. It begins a turn, or waits for the running one to end.
    Prompt(Prompt),
    /// A request of the host.
    Request {
        /// The name of the request, which its answer bears.
        id: String,
        /// What is asked for.
        request: HostRequest,
    },
    /// An answer to a request of the agent.
    Answer {
        /// The name of the agent's request.
        id: String,
        /// The answer.
        answer: ControlAnswer,
    },
}

impl HostMessage {
    /// The line that is sent, without its end.
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

/// The JSON text of a value that always has one: the keys of generated types are strings.
fn to_text<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
