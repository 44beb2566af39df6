//! Seeing what happens: one log line and one count per request.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;

use crate::app::App;

/// Logs and counts a request. Headers, query and body are not logged: they may hold what is nobody's business.
pub(crate) async fn observe(State(app): State<App>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let path = request.uri().path().to_owned();
    let route = request.extensions().get::<MatchedPath>().map_or("none".to_owned(), |path| path.as_str().to_owned());
    let response = next.run(request).await;
    let (status, time) = (response.status(), began.elapsed());
    // Anybody can make up a method; the label must not grow with that.
    let label = if is_standard(method.as_str()) { method.as_str() } else { "other" };
    app.metrics().request(label, &route, status, time);
    tracing::debug!(%method, path, status = status.as_u16(), micros = time.as_micros(), "request");
    response
}

fn is_standard(method: &str) -> bool {
    ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"].contains(&method)
}
