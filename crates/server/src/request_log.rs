//! Request log and metrics.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;

/// Middleware: logs and counts a request. Headers, query and body are not logged, because they may contain secrets.
pub(crate) async fn log_request(State(app): State<App>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map_or("none".to_owned(), |path| path.as_str().to_owned());
    let response = next.run(request).await;
    let (status, elapsed) = (response.status(), started.elapsed());
    // A client can send any method, and each would become a new label.
    let label = if is_standard(method.as_str()) { method.as_str() } else { "other" };
    app.metrics().record_request(label, &route, status, elapsed);
    tracing::debug!(%method, path, status = status.as_u16(), elapsed_us = elapsed.as_micros(), "request");
    response
}

fn is_standard(method: &str) -> bool {
    ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"].contains(&method)
}
