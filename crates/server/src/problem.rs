//! Problem documents (RFC 9457): the errors of the API.

use axum::Json;
use axum::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use interlingua_runtime::{InstallRemedy, RuntimeError};
use interlingua_schema::SessionId;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// Seconds after which a client may repeat a request that the server had no capacity for.
const RETRY_AFTER_SECONDS: &str = "1";

/// Declares the kinds of problems: name on the wire, status, title.
macro_rules! problem_kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal, $status:ident, $title:literal;)+) => {
        /// Kind of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum ProblemKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl ProblemKind {
            pub(crate) const ALL: &[Self] = &[$(Self::$kind,)+];

            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            pub(crate) const fn status(self) -> StatusCode {
                match self { $(Self::$kind => StatusCode::$status,)+ }
            }

            pub(crate) const fn title(self) -> &'static str {
                match self { $(Self::$kind => $title,)+ }
            }
        }
    };
}

problem_kinds! {
    /// The endpoint does not accept the request. 422 if the body is JSON of the wrong shape.
    InvalidRequest = "invalid_request", BAD_REQUEST, "Invalid request";
    /// No agent has this id.
    UnsupportedAgent = "unsupported_agent", BAD_REQUEST, "Unsupported agent";
    /// The agent does not have this mode.
    ModeNotSupported = "mode_not_supported", BAD_REQUEST, "Mode not supported";
    /// The token is missing or wrong.
    TokenInvalid = "token_invalid", UNAUTHORIZED, "Invalid token";
    /// The request comes from a foreign web page, or its Host is not a loopback name.
    ForbiddenOrigin = "forbidden_origin", FORBIDDEN, "Forbidden origin";
    /// The client is an agent of this server.
    ForbiddenAgent = "forbidden_agent", FORBIDDEN, "Forbidden agent";
    /// The token does not have the scope that the request needs.
    InsufficientScope = "insufficient_scope", FORBIDDEN, "Insufficient scope";
    /// The path does not exist.
    NotFound = "not_found", NOT_FOUND, "Not found";
    /// The agent's program is not installed.
    AgentNotInstalled = "agent_not_installed", NOT_FOUND, "Agent not installed";
    /// The session does not exist.
    SessionNotFound = "session_not_found", NOT_FOUND, "Session not found";
    /// The permission request does not exist.
    PermissionNotFound = "permission_not_found", NOT_FOUND, "Permission not found";
    /// The question does not exist.
    QuestionNotFound = "question_not_found", NOT_FOUND, "Question not found";
    /// The path does not support the method.
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "Method not allowed";
    /// A session with this id exists.
    SessionAlreadyExists = "session_already_exists", CONFLICT, "Session already exists";
    /// The session has ended.
    SessionEnded = "session_ended", CONFLICT, "Session ended";
    /// The permission request or question was answered already.
    AlreadyResolved = "already_resolved", CONFLICT, "Already resolved";
    /// The session has another message with this id, or the message's turn has begun.
    MessageConflict = "message_conflict", CONFLICT, "Message conflict";
    /// The agent cannot change this now, or at all.
    ChangeRefused = "change_refused", CONFLICT, "Change refused";
    /// The offset or cursor is beyond the last event.
    CursorGone = "cursor_gone", GONE, "Cursor gone";
    /// The body is too large.
    PayloadTooLarge = "payload_too_large", PAYLOAD_TOO_LARGE, "Payload too large";
    /// The content type of the body is not JSON.
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "Unsupported media type";
    /// The agent's process exited or cannot be reached.
    AgentProcessExited = "agent_process_exited", BAD_GATEWAY, "Agent process exited";
    /// The agent could not be installed.
    InstallFailed = "install_failed", BAD_GATEWAY, "Installation failed";
    /// The body of the request was cut off.
    StreamError = "stream_error", BAD_GATEWAY, "Stream error";
    /// The agent did not answer in time. 408 if the client did not send the body in time.
    Timeout = "timeout", GATEWAY_TIMEOUT, "Timeout";
    /// The server is shutting down or overloaded, or the shared database cannot be reached. The answer has a `Retry-After`.
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "Unavailable";
    /// The disk is full, or the session or the store has reached its limit.
    StorageFull = "storage_full", INSUFFICIENT_STORAGE, "Storage full";
    /// An error in the server.
    InternalError = "internal_error", INTERNAL_SERVER_ERROR, "Internal error";
}

/// An error that is sent to the client as a problem document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    kind: ProblemKind,
    status: StatusCode,
    detail: String,
    agent: Option<String>,
    session_id: Option<SessionId>,
    details: Option<Value>,
}

/// A problem document (RFC 9457), `application/problem+json`.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Problem)]
pub(crate) struct ProblemDocument {
    /// Kind of the problem as a URN: `urn:interlingua:error:<kind>`.
    #[serde(rename = "type")]
    #[schema(schema_with = kind_schema)]
    kind: String,
    /// Title of the kind, for people.
    title: &'static str,
    /// The HTTP status.
    #[schema(example = 404)]
    status: u16,
    /// What was expected, what was found and what to do.
    detail: String,
    /// The agent concerned; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    agent: Option<String>,
    /// The session concerned; omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<String>)]
    session_id: Option<SessionId>,
    /// Machine-readable details such as `field`; omitted if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    details: Option<Value>,
}

/// Schema of a problem's `type`, with all kinds.
fn kind_schema() -> utoipa::openapi::Object {
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(utoipa::openapi::Type::String)
        .description(Some("Kind of the problem as a URN. Later versions may add kinds."))
        .enum_values(Some(ProblemKind::ALL.iter().map(|kind| kind.urn())))
        .build()
}

impl ProblemKind {
    pub(crate) fn urn(self) -> String {
        format!("urn:interlingua:error:{}", self.name())
    }
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, status: kind.status(), detail: detail.into(), agent: None, session_id: None, details: None }
    }

    /// The endpoint does not accept the request (400).
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(ProblemKind::InvalidRequest, detail)
    }

    /// The body is JSON, but not of the shape that the endpoint expects (422).
    pub(crate) fn unprocessable(detail: impl Into<String>) -> Self {
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, ..Self::invalid(detail) }
    }

    /// Whether the body is JSON, but not of the shape that the endpoint expects.
    pub(crate) fn is_unprocessable(&self) -> bool {
        self.status == StatusCode::UNPROCESSABLE_ENTITY
    }

    /// The client did not send the body in time (408).
    pub(crate) fn request_timeout(detail: impl Into<String>) -> Self {
        Self { status: StatusCode::REQUEST_TIMEOUT, ..Self::new(ProblemKind::Timeout, detail) }
    }

    pub(crate) fn session_not_found(id: &SessionId) -> Self {
        RuntimeError::SessionNotFound(id.clone()).into()
    }

    /// Adds the name of the invalid field.
    pub(crate) fn field(mut self, field: &str) -> Self {
        self.details = Some(json!({ "field": field }));
        self
    }

    fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    pub(crate) fn session(mut self, id: &SessionId) -> Self {
        self.session_id = Some(id.clone());
        self
    }

    pub(crate) const fn kind(&self) -> ProblemKind {
        self.kind
    }

    pub(crate) const fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn detail(&self) -> &str {
        &self.detail
    }

    pub(crate) fn agent_id(&self) -> Option<&str> {
        self.agent.as_deref()
    }

    pub(crate) const fn session_id(&self) -> Option<&SessionId> {
        self.session_id.as_ref()
    }

    pub(crate) const fn details_value(&self) -> Option<&Value> {
        self.details.as_ref()
    }

    pub(crate) fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        if self.status.is_server_error() {
            tracing::warn!(kind = self.kind.name(), detail = self.detail, "request failed");
        }
        let problem = self.clone();
        let document = ProblemDocument {
            kind: self.kind.urn(),
            title: self.kind.title(),
            status: self.status.as_u16(),
            detail: self.detail,
            agent: self.agent,
            session_id: self.session_id,
            details: self.details,
        };
        let mut response = (self.status, Json(document)).into_response();
        // For middleware that writes it in another form.
        response.extensions_mut().insert(problem);
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.kind == ProblemKind::TokenInvalid {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.kind == ProblemKind::Unavailable {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS));
        }
        response
    }
}

impl From<RuntimeError> for Problem {
    fn from(error: RuntimeError) -> Self {
        let detail = error.to_string();
        match error {
            RuntimeError::InvalidRequest(invalid) => {
                let problem = Self::invalid(detail);
                invalid.field.map_or(problem.clone(), |field| problem.field(field))
            }
            RuntimeError::UnsupportedAgent { agent, known } => {
                Self::new(ProblemKind::UnsupportedAgent, detail).agent(agent).details(json!({ "known": known }))
            }
            RuntimeError::ModeNotSupported { agent, field, known, mode, .. } => {
                Self::new(ProblemKind::ModeNotSupported, detail)
                    .agent(agent)
                    .details(json!({ "field": field, "mode": mode, "known": known }))
            }
            RuntimeError::AgentNotInstalled { agent, remedy } => {
                let problem = Self::new(ProblemKind::AgentNotInstalled, detail).agent(agent);
                match remedy {
                    InstallRemedy::Command(command) => problem.details(json!({ "command": command })),
                    _ => problem,
                }
            }
            RuntimeError::SessionNotFound(id) => Self::new(ProblemKind::SessionNotFound, detail).session(&id),
            RuntimeError::PermissionNotFound { session, id } => Self::new(ProblemKind::PermissionNotFound, detail)
                .session(&session)
                .details(json!({ "permissionId": id })),
            RuntimeError::QuestionNotFound { session, id } => {
                Self::new(ProblemKind::QuestionNotFound, detail).session(&session).details(json!({ "questionId": id }))
            }
            RuntimeError::SessionAlreadyExists(id) => Self::new(ProblemKind::SessionAlreadyExists, detail).session(&id),
            RuntimeError::SessionEnded(id) => Self::new(ProblemKind::SessionEnded, detail).session(&id),
            RuntimeError::AlreadyResolved { session, .. } => {
                Self::new(ProblemKind::AlreadyResolved, detail).session(&session)
            }
            RuntimeError::MessageConflict { session, .. } => {
                Self::new(ProblemKind::MessageConflict, detail).session(&session)
            }
            RuntimeError::MessageNotFound { session, id } => {
                Self::new(ProblemKind::NotFound, detail).session(&session).details(json!({ "messageId": id }))
            }
            RuntimeError::ChangeRefused { session, .. } => {
                Self::new(ProblemKind::ChangeRefused, detail).session(&session)
            }
            RuntimeError::AgentProcessExited { agent, .. } => {
                Self::new(ProblemKind::AgentProcessExited, detail).agent(agent)
            }
            RuntimeError::InstallFailed { agent, .. } => Self::new(ProblemKind::InstallFailed, detail).agent(agent),
            RuntimeError::Timeout(_) => Self::new(ProblemKind::Timeout, detail),
            RuntimeError::ShuttingDown | RuntimeError::OwnedByOther(_) => Self::new(ProblemKind::Unavailable, detail),
            RuntimeError::Store(error) => error.into(),
            // `RuntimeError` is non-exhaustive.
            _ => Self::new(ProblemKind::InternalError, detail),
        }
    }
}

impl From<interlingua_store::StoreError> for Problem {
    fn from(error: interlingua_store::StoreError) -> Self {
        use interlingua_store::StoreError;

        match &error {
            StoreError::TooManyLabels { .. } => return Self::invalid(error.to_string()).field("labels"),
            StoreError::TooManyWords { .. } => return Self::invalid(error.to_string()).field("q"),
            _ => {}
        }
        let kind = match &error {
            error if error.is_storage_full() => ProblemKind::StorageFull,
            StoreError::Closed | StoreError::Unavailable(_) | StoreError::LeaseLost => ProblemKind::Unavailable,
            StoreError::SessionNotFound => ProblemKind::SessionNotFound,
            StoreError::SessionEnded => ProblemKind::SessionEnded,
            StoreError::CursorGone => ProblemKind::CursorGone,
            StoreError::SessionAlreadyExists(_) => ProblemKind::SessionAlreadyExists,
            // Failures of the database, and variants that are added later: `StoreError` is non-exhaustive.
            _ => ProblemKind::InternalError,
        };
        Self::new(kind, error.to_string())
    }
}

/// Handler for paths that do not exist.
pub(crate) async fn not_found(uri: Uri) -> Problem {
    // An empty session id matches no route, but it is an invalid id rather than an unknown path.
    let session_path = uri.path().strip_prefix("/v1/sessions/");
    if session_path.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
        return match interlingua_runtime::check_session_id(&"".into()) {
            Err(error) => error.into(),
            Ok(()) => Problem::new(ProblemKind::NotFound, "the session id is empty"),
        };
    }
    let detail = format!("the path {} does not exist; GET /v1/openapi.json lists all paths", uri.path());
    Problem::new(ProblemKind::NotFound, detail)
}

/// Handler for methods that a path does not support. The `Allow` header lists those that it does.
pub(crate) async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    let detail = format!("{} does not support {method}; the Allow header lists the supported methods", uri.path());
    Problem::new(ProblemKind::MethodNotAllowed, detail)
}

/// The answer when a handler panicked.
pub(crate) fn handler_panicked() -> Problem {
    Problem::new(ProblemKind::InternalError, "internal error while handling the request; see the log of the server")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_unique_name_and_an_error_status() {
        let names: std::collections::BTreeSet<_> = ProblemKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), ProblemKind::ALL.len());
        for kind in ProblemKind::ALL {
            assert!(kind.status().is_client_error() || kind.status().is_server_error(), "{kind:?}");
        }
    }
}
