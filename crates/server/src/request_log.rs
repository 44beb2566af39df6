//! Request log and metrics.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;
use crate::identity::Identity;
use crate::trace_context::TraceParent;

/// Header with the id of a request, in the request, in its answer and in the log.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Maximum length of an id that a client chose.
const MAX_REQUEST_ID_BYTES: usize = 128;

/// Middleware: logs and counts a request. Its query, its body and other headers are not logged, because they may contain
/// secrets.
pub(crate) async fn log_request(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map_or("none".to_owned(), |path| path.as_str().to_owned());
    let id = request.headers().get(&REQUEST_ID).filter(|id| is_request_id(id)).cloned().unwrap_or_else(new_request_id);
    let trace = TraceParent::from_headers(request.headers());
    let mut response = next.run(request).await;
    let (status, elapsed) = (response.status(), started.elapsed());
    // A client can send any method, and each would become a new label.
    let label = if is_standard(method.as_str()) { method.as_str() } else { "other" };
    app.metrics().record_request(label, &route, status, elapsed);
    let token = response.extensions().get::<Identity>().and_then(|identity| identity.token.as_deref());
    let (request_id, status) = (id.to_str().unwrap_or_default(), status.as_u16());
    // A number of 128 bits would be text in the JSON log.
    let elapsed_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    let trace_id = trace.trace_id();
    // Probes come every few seconds.
    if ["/v1/health", "/v1/ready", "/metrics"].contains(&route.as_str()) {
        tracing::debug!(request_id, trace_id, token, %method, path, status, elapsed_us, "request");
    } else {
        tracing::info!(request_id, trace_id, token, %method, path, status, elapsed_us, "request");
    }
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// Whether an id that a client chose can be written to a log.
fn is_request_id(id: &HeaderValue) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte);
    (1..=MAX_REQUEST_ID_BYTES).contains(&id.len()) && id.as_bytes().iter().all(is_allowed)
}

/// An id that no other request to this server has.
fn new_request_id() -> HeaderValue {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static START: LazyLock<u64> = LazyLock::new(|| {
        let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since_epoch.as_millis()).unwrap_or_default()
    });
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    HeaderValue::from_str(&format!("{:x}-{number}", *START)).unwrap_or(HeaderValue::from_static("unknown"))
}

fn is_standard(method: &str) -> bool {
    ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"].contains(&method)
}
