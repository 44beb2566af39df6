//! Codex: the JSON-RPC protocol of its app server.
//!
//! A message is a line without a `jsonrpc` member. Host and server number their requests independently, so an id is
//! only meaningful together with the direction. A host [initializes](initialize) the connection, opens a thread with
//! [`ThreadOptions`], and [starts turns](start_turn) on it. [`SentRequests`] decodes each answer by the type of its
//! request; [`PendingRequests`] answers requests of the server.

mod message;
mod pending;
mod request;
pub mod support;
mod thread;

use interlingua_native::codex::{
    ApiKeyv2LoginAccountParams, ClientInfo, ClientNotification, ClientNotificationMethod, InitializeCapabilities,
    InitializeParams, JsonrpcError, JsonrpcErrorError, JsonrpcResponse, LoginAccountParams, ModelListParams, RequestId,
    ThreadBackgroundTerminalsCleanParams, ThreadUnsubscribeParams, TurnInterruptParams,
};
use interlingua_native::new;
use interlingua_native::{Json, Request};
use serde::Serialize;

pub use message::ServerMessage;
pub use pending::{PendingRequests, Received, Reply};
pub use request::{Answer, AnswerError, HostRequest, RequestKind, SentRequests, decode_answer};
pub use thread::{ConfigOverrides, McpServer, McpTransport, PlanMode, ThreadOptions, start_turn};

/// JSON-RPC error code for a request that the host does not support.
const METHOD_NOT_FOUND: i64 = -32601;
/// JSON-RPC error code for a request that cannot be decoded, or whose session has ended.
const INVALID_REQUEST: i64 = -32600;

/// The first request on a connection. The server will not send the `muted` notifications.
#[must_use]
pub fn initialize(client: ClientInfo, muted: &[&str]) -> InitializeParams {
    let muted: Vec<String> = muted.iter().map(|&method| method.to_owned()).collect();
    let capabilities = InitializeCapabilities {
        // Plan mode and ending background terminals are experimental.
        experimental_api: Some(true),
        request_attestation: Some(false),
        opt_out_notification_methods: Some(muted).filter(|muted| !muted.is_empty()),
        ..InitializeCapabilities::new()
    };
    InitializeParams { capabilities: Some(capabilities), ..new!(InitializeParams { client_info: client }) }
}

/// The notification that follows the answer to [`initialize`], as a line.
#[must_use]
pub fn initialized() -> String {
    to_line(&new!(ClientNotification { method: ClientNotificationMethod::Initialized }))
}

/// Logs in with an API key.
#[must_use]
pub fn log_in(api_key: &str) -> LoginAccountParams {
    new!(ApiKeyv2LoginAccountParams { api_key: api_key }).into()
}

/// Lists a page of the models: the first page, or the one at the cursor of the page before.
#[must_use]
pub fn list_models(cursor: Option<String>) -> ModelListParams {
    ModelListParams { cursor, ..ModelListParams::new() }
}

/// Interrupts a turn. Its commands continue in background terminals.
#[must_use]
pub fn interrupt_turn(thread: &str, turn: &str) -> TurnInterruptParams {
    new!(TurnInterruptParams { thread_id: thread, turn_id: turn })
}

/// Ends the commands that an interrupted turn has left running.
#[must_use]
pub fn clean_background_terminals(thread: &str) -> ThreadBackgroundTerminalsCleanParams {
    new!(ThreadBackgroundTerminalsCleanParams { thread_id: thread })
}

/// Unsubscribes from the notifications of a thread.
#[must_use]
pub fn unsubscribe(thread: &str) -> ThreadUnsubscribeParams {
    new!(ThreadUnsubscribeParams { thread_id: thread })
}

/// Refuses a request of the server that this host does not support. Returns the line.
#[must_use]
pub fn refuse_unsupported(id: RequestId, method: &str) -> String {
    refuse(id, METHOD_NOT_FOUND, &format!("this host cannot answer `{method}`"))
}

/// Refuses a request of the server that cannot be decoded, or whose session has ended. Returns the line.
#[must_use]
pub fn refuse_invalid(id: RequestId, reason: &str) -> String {
    refuse(id, INVALID_REQUEST, reason)
}

fn refuse(id: RequestId, code: i64, message: &str) -> String {
    to_line(&new!(JsonrpcError { error: new!(JsonrpcErrorError { code: code, message: message }), id: id }))
}

/// Parses the JSON of a request id. `None` if it is not valid.
#[must_use]
pub fn parse_id(json: &str) -> Option<RequestId> {
    serde_json::from_str(json).ok()
}

/// Answers a request of the server with the type that the request declares. Returns the line.
fn respond<R: Request>(id: RequestId, response: &R::Response) -> String {
    to_line(&new!(JsonrpcResponse { id: id, result: to_json(response) }))
}

// Generated types are plain data with string keys: encoding them does not fail.

fn to_line(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

fn to_json(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default().into()
}
