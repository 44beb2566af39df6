//! Sending messages to an agent.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use interlingua_schema::{Attachment, Message};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::JsonBody;
use crate::object::Object;
use crate::path::SessionPath;
use crate::problem::Problem;
use crate::query::Query;
use crate::sse;

/// Maximum size of a message in MiB.
const MAX_MESSAGE_MIB: usize = 32;

/// A message for the agent.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SendMessage {
    /// Text of the message.
    message: String,
    /// Attached files.
    #[schema(value_type = Option<Vec<FileToSend>>)]
    attachments: Option<Vec<Object<FileToSend>>>,
}

/// A file that is attached to a message.
#[derive(Deserialize, ToSchema)]
pub(crate) struct FileToSend {
    /// Path, absolute or relative to the session's directory.
    path: String,
    /// Media type; guessed from the path if absent.
    mime: Option<String>,
    /// File name; the last part of the path if absent.
    filename: Option<String>,
}

impl From<SendMessage> for Message {
    fn from(send: SendMessage) -> Self {
        let attachment =
            |Object(file): Object<FileToSend>| Attachment::new(file.path).mime(file.mime).filename(file.filename);
        let attachments = send.attachments.unwrap_or_default().into_iter().map(attachment).collect();
        Self::new(send.message).attachments(attachments)
    }
}

/// Queues a message for the agent. Answers when the message is durable. Each message gets its own turn, in order.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/messages",
    tag = "messages",
    operation_id = "sendMessage",
    params(("id" = String, Path, description = "Session id")),
    request_body = SendMessage,
    responses((status = 204, description = "The message is queued and durable"), (status = 409, description = "The session has ended"))
)]
pub(crate) async fn send(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    JsonBody(message): JsonBody<SendMessage, MAX_MESSAGE_MIB>,
) -> Result<StatusCode, Problem> {
    app.runtime().send(&id, message.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Queues a message for the agent and streams the events of its turn.
///
/// The stream closes after the turn's `turn.ended`, after `session.ended`, and when the turn waits for the user
/// (`permission.requested`, `question.requested`), unless `hold` is true.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/messages/stream",
    tag = "messages",
    operation_id = "streamTurn",
    params(
        ("id" = String, Path, description = "Session id"),
        ("include_raw" = Option<bool>, Query, description = "Whether events include their native payload"),
        ("hold" = Option<bool>, Query, description = "Whether the stream stays open while the turn waits for the user"),
    ),
    request_body = SendMessage,
    responses(
        (status = 200, description = "The turn's events, as `id: <sequence>` and `data: <event>`", body = String, content_type = "text/event-stream"),
        (status = 409, description = "The session has ended"),
    )
)]
pub(crate) async fn stream(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    query: Query,
    JsonBody(message): JsonBody<SendMessage, MAX_MESSAGE_MIB>,
) -> Result<Response, Problem> {
    let (raw, hold) = (query.raw_payloads()?, query.flag("hold")?);
    let session = app.session(&id).await?;
    let sent = app.runtime().send(&id, message.into()).await?;
    Ok(sse::stream_turn(&app, session.key, sent, raw, hold))
}
