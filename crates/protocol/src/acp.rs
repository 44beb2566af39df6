//! The Agent Client Protocol: JSON-RPC over standard input and output.
//!
//! Host and agent number their requests independently, so an id is only meaningful together with the direction. A host
//! [initializes](initialize) the connection, opens a session, and sends prompts. [`decode_answer`] decodes an answer by
//! the type of its request; [`PendingRequests`] answers what the agent asks the user.

mod pending;
mod session;

use std::fmt;

use interlingua_native::acp::{
    AgentNotification, AgentRequest, AgentRequestEnvelope, CancelNotification, ClientCapabilities, ClientNotification,
    ClientNotificationEnvelope, ClientNotificationJsonrpc, ClientRequest, ClientRequestEnvelope, ClientRequestJsonrpc,
    ElicitationCapabilities, ElicitationFormCapabilities, Error, FileSystemCapabilities, Implementation,
    InitializeRequest, JsonRpcError, JsonRpcErrorJsonrpc, JsonRpcResult, JsonRpcResultJsonrpc, RequestId,
};
use interlingua_native::{Json, Native as _, Request, new};
use serde::Serialize;

pub use interlingua_native::acp;
pub use pending::{Choice, PendingRequests, Received, Reply};
pub use session::{ModeChange, OpenedSession, SessionOptions, http_server, stdio_server};

/// The version of the protocol.
pub const PROTOCOL_VERSION: i64 = 1;
/// JSON-RPC error code for a method that the receiver does not have.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC error code for parameters that cannot be used.
pub const INVALID_PARAMS: i64 = -32602;
/// JSON-RPC error code for any other failure.
pub const INTERNAL_ERROR: i64 = -32603;
/// Error code for a file or session that does not exist.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// Error code of an agent that requires a login.
pub const AUTHENTICATION_REQUIRED: i64 = -32000;

/// The first request on a connection. It declares what the host serves: files if `offers_files`, terminals, and forms.
#[must_use]
pub fn initialize(host: Implementation, offers_files: bool) -> InitializeRequest {
    let files = FileSystemCapabilities {
        read_text_file: Some(offers_files),
        write_text_file: Some(offers_files),
        ..FileSystemCapabilities::new()
    };
    let forms =
        ElicitationCapabilities { form: Some(ElicitationFormCapabilities::new()), ..ElicitationCapabilities::new() };
    let capabilities = ClientCapabilities {
        fs: Some(files),
        terminal: Some(true),
        elicitation: Some(forms),
        ..ClientCapabilities::new()
    };
    InitializeRequest {
        client_capabilities: Some(capabilities),
        client_info: Some(host),
        ..new!(InitializeRequest { protocol_version: PROTOCOL_VERSION })
    }
}

/// The line that cancels the running turn of a session.
#[must_use]
pub fn cancel(session: &str) -> String {
    let message = ClientNotification::from(new!(CancelNotification { session_id: session }));
    to_line(&ClientNotificationEnvelope { jsonrpc: Some(ClientNotificationJsonrpc::N20), message })
}

/// The line of a request.
#[must_use]
pub fn request_line(id: u64, request: impl Into<ClientRequest>) -> String {
    let jsonrpc = Some(ClientRequestJsonrpc::N20);
    to_line(&ClientRequestEnvelope { id: Some(number(id)), jsonrpc, message: request.into() })
}

/// The line that answers a request of the other side with the type that the request declares.
#[must_use]
pub fn respond<R: Request>(id: RequestId, response: &R::Response) -> String
where
    R::Response: Serialize,
{
    let jsonrpc = JsonRpcResultJsonrpc::N20;
    to_line(&new!(JsonRpcResult { id: Some(id), jsonrpc: jsonrpc, result: to_json(response) }))
}

/// As [`respond`], with answers to questions, for which the type has no field.
fn respond_with_answers(
    id: RequestId,
    response: &impl Serialize,
    answers: serde_json::Map<String, serde_json::Value>,
) -> String {
    let mut result = serde_json::to_value(response).unwrap_or_default();
    if let Some(fields) = result.as_object_mut() {
        fields.insert("answers".to_owned(), answers.into());
    }
    to_line(&new!(JsonRpcResult { id: Some(id), jsonrpc: JsonRpcResultJsonrpc::N20, result: to_json(&result) }))
}

/// The line that refuses a request of the other side.
#[must_use]
pub fn refuse(id: RequestId, code: i64, message: &str) -> String {
    let error = new!(Error { code: code, message: message });
    to_line(&new!(JsonRpcError { error: error, id: Some(id), jsonrpc: JsonRpcErrorJsonrpc::N20 }))
}

/// The id of a request of this side.
#[must_use]
pub fn number(id: u64) -> RequestId {
    RequestId::Number(i64::try_from(id).unwrap_or(i64::MAX))
}

/// A line of the agent.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentMessage {
    /// A request.
    Request(RequestId, Box<AgentRequest>),
    /// A request that cannot be decoded, with the reason.
    BadRequest(RequestId, String),
    /// A notification.
    Notification(Box<AgentNotification>),
    /// The answer to the host's request with this id.
    Answer(RequestId),
}

impl AgentMessage {
    /// Decodes a line. `None` if it is not part of the protocol.
    #[must_use]
    pub fn decode(line: &str) -> Option<Self> {
        /// The keys that tell the kind of a line.
        #[derive(serde::Deserialize)]
        struct Head {
            #[serde(default)]
            id: Option<RequestId>,
            #[serde(default)]
            method: Option<serde::de::IgnoredAny>,
        }
        let head: Head = serde_json::from_str(line).ok()?;
        match (head.method, head.id) {
            (Some(_), Some(id)) => Some(match AgentRequestEnvelope::decode(line) {
                Ok(decoded) => Self::Request(id, Box::new(decoded.value.message)),
                Err(error) => Self::BadRequest(id, error.to_string()),
            }),
            (Some(_), None) => {
                AgentNotification::decode(line).ok().map(|decoded| Self::Notification(Box::new(decoded.value)))
            }
            (None, Some(id)) => Some(Self::Answer(id)),
            (None, None) => None,
        }
    }
}

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// The JSON-RPC error code; 0 if the answer cannot be read.
    pub code: i64,
    /// The message, with the detail that some agents put into the data.
    pub message: String,
}

impl RpcError {
    /// Whether the agent requires a login.
    #[must_use]
    pub fn requires_login(&self) -> bool {
        self.code == AUTHENTICATION_REQUIRED
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Decodes the answer to a request.
///
/// # Errors
/// If the other side refuses the request, or the line is not an answer to it.
pub fn decode_answer<R: Request>(line: &str) -> Result<R::Response, RpcError> {
    let unreadable = |reason: String| RpcError { code: 0, message: format!("cannot read the answer: {reason}") };
    if let Ok(decoded) = JsonRpcError::decode(line)
        && let Some(error) = decoded.value.error
    {
        return Err(RpcError { code: error.code.unwrap_or_default(), message: error.text() });
    }
    let answer = JsonRpcResult::decode(line).map_err(|error| unreadable(error.to_string()))?.value;
    let result = answer.result.as_ref().map_or("null", Json::get);
    // Older agents answer some requests with null instead of an empty object.
    let result = if result == "null" { "{}" } else { result };
    R::Response::decode(result).map(|decoded| decoded.value).map_err(|error| unreadable(error.to_string()))
}

// Generated types are plain data with string keys: encoding them does not fail.

fn to_line(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

fn to_json(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use interlingua_native::acp::NewSessionRequest;

    use super::*;

    #[test]
    fn a_request_of_the_agent_is_not_the_answer_to_a_request_of_the_host() {
        let request =
            r#"{"jsonrpc":"2.0","id":1,"method":"terminal/kill","params":{"sessionId":"s","terminalId":"t"}}"#;
        assert!(matches!(AgentMessage::decode(request), Some(AgentMessage::Request(RequestId::Number(1), _))));
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        assert_eq!(AgentMessage::decode(answer), Some(AgentMessage::Answer(RequestId::Number(1))));
        assert_eq!(AgentMessage::decode("plain text"), None);
    }

    #[test]
    fn a_refusal_has_its_code_and_its_detail() {
        let line = r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error","data":{"details":"no sessions"}}}"#;
        let error = decode_answer::<NewSessionRequest>(line).unwrap_err();
        assert_eq!((error.code, error.message.as_str()), (-32603, "Internal error: no sessions"));
        let line = r#"{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}"#;
        assert_eq!(decode_answer::<NewSessionRequest>(line).unwrap().session_id.as_deref(), Some("s"));
    }

    #[test]
    fn lines_are_json_rpc() {
        assert_eq!(cancel("s"), r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#);
        let line = refuse(RequestId::Text("x".to_owned()), METHOD_NOT_FOUND, "no");
        assert_eq!(line, r#"{"error":{"code":-32601,"message":"no"},"id":"x","jsonrpc":"2.0"}"#);
    }
}
