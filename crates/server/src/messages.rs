//! Messages to an agent: sending them, and the queue.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use interlingua_runtime::{IncomingMessage, run_cpu_bound};
use interlingua_schema::{Attachment, Message};
use interlingua_store::{MessageId, QueuedMessage, SessionKey, Store, StoreError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::body::JsonBody;
use crate::json_answer::{AnswerState, AnswerWriter, Piece};
use crate::object::Object;
use crate::path::{RequestPath, SessionPath};
use crate::problem::Problem;
use crate::query::{NoQuery, Query};
use crate::sse;
use crate::trace_context::TraceParent;

/// Maximum size of a message in MiB.
const MAX_MESSAGE_MIB: usize = 32;
/// Size of the texts from which a part of the queue is sent. One message can be larger.
const PIECE_BYTES: usize = 256 * 1024;

/// A message for the agent.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SendMessage {
    /// Id of the message, unique in its session. A message with an id can be sent again after a broken connection: it is
    /// queued once.
    #[schema(min_length = 1, max_length = 128, example = "msg-1")]
    id: Option<String>,
    /// Text of the message.
    message: String,
    /// Attached files.
    #[schema(value_type = Option<Vec<FileToSend>>)]
    attachments: Option<Vec<Object<FileToSend>>>,
}

/// A file that is attached to a message.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct FileToSend {
    /// Path, absolute or relative to the session's directory.
    path: String,
    /// Media type; guessed from the path if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    mime: Option<String>,
    /// File name; the last part of the path if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<String>,
}

impl From<Attachment> for FileToSend {
    fn from(attachment: Attachment) -> Self {
        Self { path: attachment.path, mime: attachment.mime, filename: attachment.filename }
    }
}

impl From<SendMessage> for IncomingMessage {
    fn from(send: SendMessage) -> Self {
        let attachment =
            |Object(file): Object<FileToSend>| Attachment::new(file.path).mime(file.mime).filename(file.filename);
        let attachments = send.attachments.unwrap_or_default().into_iter().map(attachment).collect();
        Self::new(send.id, Message::new(send.message).attachments(attachments))
    }
}

/// A message that waits for its turn.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueuedMessageInfo {
    /// Id of the message: the client's, or a generated one.
    id: String,
    /// Text of the message.
    message: String,
    /// Attached files.
    attachments: Vec<FileToSend>,
    /// Time at which it was queued, in milliseconds since 1970.
    created_at: i64,
}

impl From<QueuedMessage> for QueuedMessageInfo {
    fn from(queued: QueuedMessage) -> Self {
        Self {
            id: queued.public_id,
            message: queued.message.text,
            attachments: queued.message.attachments.into_iter().map(FileToSend::from).collect(),
            created_at: queued.created_at.as_millis(),
        }
    }
}

/// The queue of a session.
#[derive(Serialize, ToSchema)]
#[allow(dead_code, reason = "describes what `QueueWriter` writes")]
pub(crate) struct MessageList {
    /// The messages whose turns have not begun, in the order of their turns.
    messages: Vec<QueuedMessageInfo>,
}

/// Lists the queue: the messages whose turns have not begun.
#[utoipa::path(
    get,
    path = "/v1/sessions/{id}/messages",
    tag = "messages",
    operation_id = "listMessages",
    params(("id" = String, Path, description = "Session id")),
    responses((status = 200, description = "The queue", body = MessageList))
)]
pub(crate) async fn list(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    _: NoQuery,
) -> Result<Response, Problem> {
    let session = app.session(&id).await?;
    let queue =
        QueueWriter { store: app.store().clone(), session: session.key, after: None, state: AnswerState::Start };
    queue.into_answer().await
}

/// Writes the queue of a session.
struct QueueWriter {
    store: Store,
    session: SessionKey,
    /// The message that was written last.
    after: Option<MessageId>,
    state: AnswerState,
}

impl AnswerWriter for QueueWriter {
    const NAME: &'static str = "the queue of a session";

    fn state(&self) -> AnswerState {
        self.state
    }

    async fn next_piece(&mut self) -> Piece {
        let messages = self.store.queued_messages(self.session, self.after, PIECE_BYTES).await?;
        let text_bytes: usize = messages.iter().map(|queued| queued.message.text.len()).sum();
        let last = messages.last().map(|queued| queued.id);
        run_cpu_bound(text_bytes, || self.write_piece(messages, text_bytes)).inspect(|_| {
            self.after = last.or(self.after);
            self.state = if last.is_some() { AnswerState::Middle } else { AnswerState::Done };
        })
    }
}

impl QueueWriter {
    fn write_piece(&self, messages: Vec<QueuedMessage>, text_bytes: usize) -> Piece {
        let mut piece = Vec::with_capacity(text_bytes + messages.len() * 128 + 32);
        let mut is_first = self.state == AnswerState::Start;
        if is_first {
            piece.extend_from_slice(br#"{"messages":["#);
        }
        if messages.is_empty() {
            piece.extend_from_slice(b"]}");
        }
        for queued in messages {
            if !std::mem::take(&mut is_first) {
                piece.push(b',');
            }
            let info = QueuedMessageInfo::from(queued);
            serde_json::to_writer(&mut piece, &info).map_err(|error| StoreError::Database(error.to_string()))?;
        }
        Ok(piece)
    }
}

/// Removes a message from the queue. Does nothing if it was removed before.
#[utoipa::path(
    delete,
    path = "/v1/sessions/{id}/messages/{message}",
    tag = "messages",
    operation_id = "cancelMessage",
    params(
        ("id" = String, Path, description = "Session id"),
        ("message" = String, Path, description = "Message id"),
    ),
    responses(
        (status = 204, description = "The message is not in the queue any more"),
        (status = 409, description = "The turn of the message has begun"),
    )
)]
pub(crate) async fn cancel(State(app): State<App>, path: RequestPath) -> Result<StatusCode, Problem> {
    app.runtime().cancel_message(&path.session, &path.request).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Queues a message for the agent. Answers when the message is durable. Each message gets its own turn, in order.
///
/// A message with an `id` can be sent again: the same id with the same body does nothing, whatever has become of the
/// message since.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/messages",
    tag = "messages",
    operation_id = "sendMessage",
    params(("id" = String, Path, description = "Session id")),
    request_body = SendMessage,
    responses(
        (status = 204, description = "The message is queued and durable"),
        (status = 409, description = "The session has ended, or has another message with the same id"),
    )
)]
pub(crate) async fn send(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    trace: TraceParent,
    JsonBody(message): JsonBody<SendMessage, MAX_MESSAGE_MIB>,
) -> Result<StatusCode, Problem> {
    app.runtime().send(&id, IncomingMessage::from(message).trace_parent(trace.into_inner())).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Queues a message for the agent and streams the events of its turn.
///
/// The stream closes after the turn's `turn.ended`, after `session.ended`, and when the turn waits for the user
/// (`permission.requested`, `question.requested`), unless `hold` is true. A message with the `id` and the body of an
/// earlier one is not queued again: the stream has the events of the earlier one's turn. The stream of a message that was
/// removed from the queue closes without an event.
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
        (status = 409, description = "The session has ended, or has another message with the same id"),
    )
)]
pub(crate) async fn stream(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    query: Query,
    trace: TraceParent,
    JsonBody(message): JsonBody<SendMessage, MAX_MESSAGE_MIB>,
) -> Result<Response, Problem> {
    let (raw, hold) = (query.raw_payloads()?, query.flag("hold")?);
    let session = app.session(&id).await?;
    let message = IncomingMessage::from(message).trace_parent(trace.into_inner());
    let sent = app.runtime().send(&id, message).await?;
    Ok(sse::stream_turn(&app, session.key, sent, raw, hold))
}
