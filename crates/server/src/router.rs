//! Routes and middleware.

use std::time::Duration;

use axum::Router;
use axum::http::header::{AUTHORIZATION, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderName, RETRY_AFTER};
use axum::http::{HeaderValue, Method};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::{delete, get, post, put};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::cors::CorsLayer;

use crate::access::require_token;
use crate::app::App;
use crate::compat::{Compat, translate_problems};
use crate::config::ServerConfig;
use crate::origin::reject_foreign_pages;
use crate::problem::{handler_panicked, method_not_allowed, not_found};
use crate::request_body::{discard_unread_body, limit_large_bodies};
use crate::request_log::{REQUEST_ID, log_request};
use crate::{
    agents, all_events, attachments, check, documents, events, export, files, health, history, inspector, messages,
    metrics, ready, requests, search, secrets, session_list, sessions,
};

/// Router of the whole API. The layer that is added last handles a request first.
pub(crate) fn router(app: App) -> Router {
    let router = Router::new()
        .route("/v1/health", get(health::get_health))
        .route("/v1/ready", get(ready::get_ready))
        .route("/v1/agents", get(agents::list))
        .route("/v1/agents/{agent}/install", get(agents::install_status).post(agents::install))
        .route("/v1/agents/{agent}/modes", get(agents::modes))
        .route("/v1/agents/{agent}/models", get(agents::models))
        .route("/v1/history", get(history::list))
        .route("/v1/history/import", get(history::import_status).post(history::import))
        .route("/v1/events/sse", get(all_events::follow))
        .route("/v1/search", get(search::search))
        .route("/v1/sessions", get(session_list::list))
        .route(
            "/v1/sessions/{id}",
            get(sessions::get).post(sessions::create).patch(sessions::update).delete(sessions::delete),
        )
        .route("/v1/sessions/{id}/attachments", post(attachments::upload))
        .route("/v1/sessions/{id}/messages", get(messages::list).post(messages::send))
        .route("/v1/sessions/{id}/messages/{message}", delete(messages::cancel))
        .route("/v1/sessions/{id}/messages/stream", post(messages::stream))
        .route("/v1/sessions/{id}/secrets", put(secrets::set_secrets))
        .route("/v1/sessions/{id}/interrupt", post(sessions::interrupt))
        .route("/v1/sessions/{id}/terminate", post(sessions::terminate))
        .route("/v1/sessions/{id}/events", get(events::list))
        .route("/v1/sessions/{id}/events/sse", get(events::follow))
        .route("/v1/sessions/{id}/export", get(export::export))
        .route("/v1/sessions/{id}/check", get(check::check))
        .route("/v1/sessions/{id}/questions/{request}/reply", post(requests::reply_question))
        .route("/v1/sessions/{id}/questions/{request}/reject", post(requests::reject_question))
        .route("/v1/sessions/{id}/permissions/{request}/reply", post(requests::reply_permission))
        .route("/v1/fs/entries", get(files::entries))
        .route("/v1/fs/file", get(files::read).put(files::write))
        .route("/v1/fs/stat", get(files::stat))
        .route("/v1/fs/mkdir", post(files::create_directory))
        .route("/v1/fs/move", post(files::rename))
        .route("/v1/fs/entry", delete(files::delete))
        .route("/v1/fs/upload-batch", post(files::upload_batch))
        .route("/v1/openapi.json", get(documents::openapi))
        .route("/v1/schema.json", get(documents::schema))
        .route("/metrics", get(metrics::get_metrics))
        .route("/ui", get(inspector::redirect))
        .route("/ui/", get(inspector::index))
        .route("/ui/{*path}", get(inspector::file))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(from_fn_with_state(app.clone(), limit_large_bodies))
        .layer(from_fn_with_state(app.clone(), require_token));
    let router = match cors(&app.config()) {
        Some(cors) => router.layer(cors),
        None => router,
    };
    let router = router
        .layer(from_fn_with_state(app.clone(), reject_foreign_pages))
        .layer(CatchPanicLayer::custom(|_| handler_panicked().into_response()))
        .with_state(app.clone());
    with_request_layers(app, router)
}

/// Adds what happens to every request, also to those on connections that are refused.
pub(crate) fn with_request_layers(app: App, router: Router) -> Router {
    let router = router.layer(from_fn(discard_unread_body));
    let router = match app.config().compat {
        Some(Compat::SandboxAgent) => router.layer(from_fn(translate_problems)),
        None => router,
    };
    router.layer(from_fn_with_state(app, log_request))
}

/// Request headers that web pages of other origins may send, besides those that they may always send.
const CORS_REQUEST_HEADERS: [HeaderName; 6] = [
    AUTHORIZATION,
    CONTENT_TYPE,
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("prefer"),
    HeaderName::from_static("traceparent"),
    REQUEST_ID,
];
/// Headers of answers that web pages of other origins may read, besides those that they may always read.
const CORS_RESPONSE_HEADERS: [HeaderName; 4] =
    [CONTENT_DISPOSITION, RETRY_AFTER, HeaderName::from_static("preference-applied"), REQUEST_ID];

/// CORS for web pages of the allowed origins, which may send their token.
fn cors(config: &ServerConfig) -> Option<CorsLayer> {
    let origins: Vec<HeaderValue> =
        config.allowed_origins.iter().filter_map(|origin| origin.as_str().parse().ok()).collect();
    if origins.is_empty() {
        return None;
    }
    Some(
        CorsLayer::new()
            .allow_origin(origins)
            .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
            .allow_headers(CORS_REQUEST_HEADERS)
            .expose_headers(CORS_RESPONSE_HEADERS)
            .max_age(Duration::from_secs(600)),
    )
}
