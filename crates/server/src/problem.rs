//! Errors as clients see them: problem documents (RFC 9457).

use axum::Json;
use axum::http::header::{CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use interlingua_runtime::RuntimeError;
use interlingua_schema::SessionId;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// Declares the kinds of problems: the name on the wire, the status, the title.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal, $status:ident, $title:literal;)+) => {
        /// What went wrong, in one word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Kind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl Kind {
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$kind,)+];

            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)+ }
            }

            pub(crate) const fn status(self) -> StatusCode {
                match self { $(Self::$kind => StatusCode::$status,)+ }
            }

            const fn title(self) -> &'static str {
                match self { $(Self::$kind => $title,)+ }
            }
        }
    };
}

kinds! {
    /// Not what the endpoint takes. 422 where it is JSON of the wrong shape.
    InvalidRequest = "invalid_request", BAD_REQUEST, "Invalid request";
    /// There is no agent of that name.
    UnsupportedAgent = "unsupported_agent", BAD_REQUEST, "Unsupported agent";
    /// The agent has no such mode.
    ModeNotSupported = "mode_not_supported", BAD_REQUEST, "Mode not supported";
    /// The token is missing or wrong.
    TokenInvalid = "token_invalid", UNAUTHORIZED, "Token invalid";
    /// A web page that is not allowed to, or a name that is not this machine's.
    ForbiddenOrigin = "forbidden_origin", FORBIDDEN, "Forbidden origin";
    /// No such path.
    NotFound = "not_found", NOT_FOUND, "Not found";
    /// The agent's program is not there.
    AgentNotInstalled = "agent_not_installed", NOT_FOUND, "Agent not installed";
    /// No such session.
    SessionNotFound = "session_not_found", NOT_FOUND, "Session not found";
    /// No such permission request.
    PermissionNotFound = "permission_not_found", NOT_FOUND, "Permission not found";
    /// No such question.
    QuestionNotFound = "question_not_found", NOT_FOUND, "Question not found";
    /// The path has other methods.
    MethodNotAllowed = "method_not_allowed", METHOD_NOT_ALLOWED, "Method not allowed";
    /// The session's name is taken.
    SessionAlreadyExists = "session_already_exists", CONFLICT, "Session already exists";
    /// The session is over.
    SessionEnded = "session_ended", CONFLICT, "Session ended";
    /// The request was answered before.
    AlreadyResolved = "already_resolved", CONFLICT, "Already resolved";
    /// The body is too long.
    PayloadTooLarge = "payload_too_large", PAYLOAD_TOO_LARGE, "Payload too large";
    /// The body is not said to be JSON.
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "Unsupported media type";
    /// The agent cannot be reached.
    AgentProcessExited = "agent_process_exited", BAD_GATEWAY, "Agent process exited";
    /// The agent could not be installed.
    InstallFailed = "install_failed", BAD_GATEWAY, "Install failed";
    /// The body broke off.
    StreamError = "stream_error", BAD_GATEWAY, "Stream error";
    /// It took too long.
    Timeout = "timeout", GATEWAY_TIMEOUT, "Timeout";
    /// The server is being stopped.
    Unavailable = "unavailable", SERVICE_UNAVAILABLE, "Unavailable";
    /// There is no room on the disk.
    StorageFull = "storage_full", INSUFFICIENT_STORAGE, "Storage full";
    /// The server's own fault.
    InternalError = "internal_error", INTERNAL_SERVER_ERROR, "Internal error";
}

/// An error as a client gets it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Problem {
    kind: Kind,
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
pub(crate) struct Document {
    /// What kind of problem it is: `urn:interlingua:error:<kind>`.
    #[serde(rename = "type")]
    #[schema(example = "urn:interlingua:error:session_not_found")]
    kind: String,
    /// The kind in words.
    title: &'static str,
    /// The HTTP status.
    #[schema(example = 404)]
    status: u16,
    /// What was expected, what was found and what to do.
    detail: String,
    /// The agent it is about; left out when it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The session it is about; left out when it is about none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    session_id: Option<SessionId>,
    /// More about it for a program to read, such as `field`; left out when there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    details: Option<Value>,
}

impl Problem {
    pub(crate) fn new(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, status: kind.status(), detail: detail.into(), agent: None, session_id: None, details: None }
    }

    /// The request is not what the endpoint takes.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(Kind::InvalidRequest, detail)
    }

    /// The request is JSON, but not of the shape the endpoint takes.
    pub(crate) fn misshapen(detail: impl Into<String>) -> Self {
        Self { status: StatusCode::UNPROCESSABLE_ENTITY, ..Self::invalid(detail) }
    }

    pub(crate) fn session_not_found(id: &SessionId) -> Self {
        RuntimeError::SessionNotFound(id.clone()).into()
    }

    /// Names the field it is about.
    pub(crate) fn field(mut self, field: &str) -> Self {
        self.details = Some(json!({ "field": field }));
        self
    }

    fn agent(mut self, agent: impl Into<String>) -> Self {
        self.agent = Some(agent.into());
        self
    }

    fn session(mut self, id: &SessionId) -> Self {
        self.session_id = Some(id.clone());
        self
    }

    fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        if self.status.is_server_error() {
            tracing::warn!(kind = self.kind.name(), detail = self.detail, "a request failed");
        }
        let document = Document {
            kind: format!("urn:interlingua:error:{}", self.kind.name()),
            title: self.kind.title(),
            status: self.status.as_u16(),
            detail: self.detail,
            agent: self.agent,
            session_id: self.session_id,
            details: self.details,
        };
        let mut response = (self.status, Json(document)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.kind == Kind::TokenInvalid {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
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
                Self::new(Kind::UnsupportedAgent, detail).agent(agent).details(json!({ "known": known }))
            }
            RuntimeError::ModeNotSupported { agent, field, known, .. } => Self::new(Kind::ModeNotSupported, detail)
                .agent(agent)
                .details(json!({ "field": field, "known": known })),
            RuntimeError::AgentNotInstalled { agent, command } => {
                Self::new(Kind::AgentNotInstalled, detail).agent(agent).details(json!({ "command": command }))
            }
            RuntimeError::SessionNotFound(id) => Self::new(Kind::SessionNotFound, detail).session(&id),
            RuntimeError::PermissionNotFound { session, id } => {
                Self::new(Kind::PermissionNotFound, detail).session(&session).details(json!({ "permissionId": id }))
            }
            RuntimeError::QuestionNotFound { session, id } => {
                Self::new(Kind::QuestionNotFound, detail).session(&session).details(json!({ "questionId": id }))
            }
            RuntimeError::SessionAlreadyExists(id) => Self::new(Kind::SessionAlreadyExists, detail).session(&id),
            RuntimeError::SessionEnded(id) => Self::new(Kind::SessionEnded, detail).session(&id),
            RuntimeError::AlreadyResolved { session, .. } => Self::new(Kind::AlreadyResolved, detail).session(&session),
            RuntimeError::AgentProcessExited { agent, .. } => Self::new(Kind::AgentProcessExited, detail).agent(agent),
            RuntimeError::InstallFailed { agent, .. } => Self::new(Kind::InstallFailed, detail).agent(agent),
            RuntimeError::Timeout(_) => Self::new(Kind::Timeout, detail),
            RuntimeError::ShuttingDown => Self::new(Kind::Unavailable, detail),
            RuntimeError::Store(error) => error.into(),
            // An error that the runtime learned to report after this was written.
            _ => Self::new(Kind::InternalError, detail),
        }
    }
}

impl From<interlingua_store::StoreError> for Problem {
    fn from(error: interlingua_store::StoreError) -> Self {
        use interlingua_store::StoreError;

        let kind = match &error {
            StoreError::DiskFull(_) => Kind::StorageFull,
            StoreError::Closed => Kind::Unavailable,
            StoreError::SessionNotFound => Kind::SessionNotFound,
            StoreError::SessionEnded => Kind::SessionEnded,
            StoreError::SessionAlreadyExists(_) => Kind::SessionAlreadyExists,
            // The store's own faults, and whatever it learns to report.
            _ => Kind::InternalError,
        };
        Self::new(kind, error.to_string())
    }
}

/// There is nothing at this path.
pub(crate) async fn not_found(uri: Uri) -> Problem {
    // An empty session id matches no route, and is still a session id that is not one.
    let after = uri.path().strip_prefix("/v1/sessions/");
    if after.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
        return match interlingua_runtime::check_session_id(&"".into()) {
            Err(error) => error.into(),
            Ok(()) => Problem::new(Kind::NotFound, "there is no session without a name"),
        };
    }
    let detail = format!("there is nothing at {}; GET /v1/openapi.json lists what there is", uri.path());
    Problem::new(Kind::NotFound, detail)
}

/// There is something at this path, but not for this method; `Allow` says for which.
pub(crate) async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    Problem::new(Kind::MethodNotAllowed, format!("{} cannot be used with {method}; see the Allow header", uri.path()))
}

/// A handler panicked.
pub(crate) fn panicked() -> Problem {
    Problem::new(Kind::InternalError, "the server failed while answering; its log says more")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_name_of_its_own_and_a_status_of_an_error() {
        let names: std::collections::BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), Kind::ALL.len());
        for kind in Kind::ALL {
            assert!(kind.status().is_client_error() || kind.status().is_server_error(), "{kind:?}");
        }
    }
}
