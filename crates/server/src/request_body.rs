//! Request bodies: room for the large ones, and what happens to those that no handler reads to the end.
//!
//! A request may be refused before its body is read: wrong token, unknown path, too large. If the connection were closed
//! while the client still sends, the client would see a broken pipe instead of the answer. So the rest of the body is
//! read and discarded, up to a limit, before the answer is sent.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::timeout;

use crate::app::App;
use crate::body_room::BodyRoom;

/// Maximum number of bytes that are discarded. The connection is closed if the client sends more.
const MAX_DISCARDED_BYTES: usize = 128 * 1024 * 1024;

/// How long the rest of a body is awaited.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(10);

/// Middleware: lets the extractors of bodies take room, and keeps it until the request is handled. A body that is written
/// to a file piece by piece takes none.
pub(crate) async fn limit_large_bodies(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let room = BodyRoom::new(app.body_memory().clone());
    request.extensions_mut().insert(room.clone());
    let response = next.run(request).await;
    drop(room);
    response
}

/// Middleware: discards what is left of the request's body before the answer is sent.
pub(crate) async fn discard_unread_body(request: Request, next: Next) -> Response {
    if request.body().is_end_stream() {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    // A client with `Expect: 100-continue` does not send the body before the server reads it.
    let waits_for_continue = parts.headers.contains_key(EXPECT);
    let shared = Arc::new(Mutex::new(SharedBody { body, was_read: false }));
    let handed_out = Body::new(BodyHandle(Arc::clone(&shared)));
    let response = next.run(Request::from_parts(parts, handed_out)).await;
    let SharedBody { body, was_read } = {
        let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
        SharedBody { body: std::mem::take(&mut shared.body), was_read: shared.was_read }
    };
    let is_stalled = response.status() == StatusCode::REQUEST_TIMEOUT;
    if !is_stalled && (was_read || !waits_for_continue) {
        // A client that does not finish in time may not see the answer.
        let _ = timeout(DISCARD_TIMEOUT, discard(body)).await;
    }
    response
}

async fn discard(mut body: Body) {
    let mut discarded = 0;
    while let Some(Ok(frame)) = body.frame().await {
        discarded += frame.data_ref().map_or(0, Bytes::len);
        if discarded > MAX_DISCARDED_BYTES {
            return;
        }
    }
}

/// The body of a request, shared by its handler and the middleware.
struct SharedBody {
    body: Body,
    /// Whether the handler has started to read.
    was_read: bool,
}

/// The handler's handle to a shared body. It is empty after the handler has answered.
struct BodyHandle(Arc<Mutex<SharedBody>>);

impl HttpBody for BodyHandle {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut shared = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shared.was_read = true;
        Pin::new(&mut shared.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).body.size_hint()
    }
}
