//! Answers as sandbox-agent 0.1 gives them, for its clients (`--compat sandbox-agent`).
//!
//! Everything is stored as always and translated when it is sent. `docs/http-api.md` lists what differs.

use std::borrow::Cow;

use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use interlingua_runtime::{CreateSession, Model, Models, PermissionMode};
use serde_json::{Value, json};

use crate::files::NOT_EMPTY;
use crate::problem::{Problem, ProblemKind};

/// Start of the paths of the filesystem API.
const FILES: &str = "/v1/fs/";

/// Agents that know the permission mode `acceptEdits`. For the others it means the default.
const ACCEPT_EDITS_AGENTS: [&str; 2] = ["claude", "codex"];

/// The agent whose mode decides its model, and the name that stands for that.
const AMP: (&str, &str) = ("amp", "amp-default");

/// Another API whose clients work with this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compat {
    /// sandbox-agent 0.1.
    SandboxAgent,
}

/// Middleware: sends problems as sandbox-agent does.
pub(crate) async fn translate_problems(request: Request, next: Next) -> Response {
    let uses_files = request.uri().path().starts_with(FILES);
    let mut response = next.run(request).await;
    let Some(problem) = response.extensions_mut().remove::<Problem>() else { return response };
    let (status, document) = translate_problem(&problem, uses_files);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *response.body_mut() = Body::from(document.to_string());
    response
}

/// The status and the document of a problem.
fn translate_problem(problem: &Problem, uses_files: bool) -> (StatusCode, Value) {
    use ProblemKind::{
        AgentProcessExited, AlreadyResolved, ForbiddenAgent, ForbiddenOrigin, InstallFailed, InsufficientScope,
        InternalError, InvalidRequest, NotFound, PermissionNotFound, QuestionNotFound, SessionEnded, StreamError,
        TokenInvalid,
    };
    let reason = problem.details_value().and_then(|details| details["reason"].as_str());
    let is_not_empty = uses_files && reason == Some(NOT_EMPTY);
    let (kind, name, status) = match problem.kind() {
        InvalidRequest if is_not_empty => (StreamError, None, StatusCode::BAD_GATEWAY),
        InternalError if uses_files => (StreamError, None, StatusCode::BAD_GATEWAY),
        NotFound if uses_files => (InvalidRequest, None, StatusCode::BAD_REQUEST),
        SessionEnded | PermissionNotFound | QuestionNotFound | AlreadyResolved => {
            (InvalidRequest, None, StatusCode::BAD_REQUEST)
        }
        kind @ (InstallFailed | AgentProcessExited) => (kind, None, StatusCode::INTERNAL_SERVER_ERROR),
        kind @ (ForbiddenOrigin | ForbiddenAgent | InsufficientScope) => {
            (kind, Some("permission_denied"), StatusCode::FORBIDDEN)
        }
        kind => (kind, None, problem.status()),
    };
    let name = name.unwrap_or(kind.name());
    let mut document = json!({
        "type": format!("urn:sandbox-agent:error:{name}"),
        "title": to_title(name),
        "status": status.as_u16(),
        "detail": problem.detail(),
    });
    if let Some(agent) = problem.agent_id() {
        document["agent"] = agent.into();
    }
    if let Some(session) = problem.session_id() {
        document["sessionId"] = session.as_str().into();
    }
    let mut details = problem.details_value().cloned().unwrap_or(Value::Null);
    match kind {
        TokenInvalid => details["message"] = "missing or invalid token".into(),
        StreamError => details["message"] = problem.detail().into(),
        InstallFailed => details["stderr"] = problem.detail().into(),
        AgentProcessExited => {
            details["exitCode"] = Value::Null;
            details["stderr"] = problem.detail().into();
        }
        _ => {}
    }
    if !details.is_null() {
        document["details"] = details;
    }
    (status, document)
}

/// The name of a kind as a title: `session_not_found` as `Session Not Found`.
fn to_title(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect::<Vec<_>>().join(" ")
}

/// An event as sandbox-agent writes it.
pub(crate) fn translate_event(compat: Option<Compat>, json: &str) -> Cow<'_, str> {
    let is_different = |json: &str| {
        [r#""type":"session.started""#, r#""type":"permission.resolved""#].iter().any(|kind| json.contains(kind))
    };
    match compat {
        Some(Compat::SandboxAgent) if is_different(json) => {
            let Ok(mut event) = serde_json::from_str::<Value>(json) else { return Cow::Borrowed(json) };
            match event["type"].as_str() {
                Some("session.started") => translate_session_started(&mut event["data"]["metadata"]),
                Some("permission.resolved") => translate_permission(&mut event["data"]),
                _ => return Cow::Borrowed(json),
            }
            Cow::Owned(event.to_string())
        }
        _ => Cow::Borrowed(json),
    }
}

fn translate_session_started(metadata: &mut Value) {
    let given = |name: &str| metadata.get(name).cloned().unwrap_or_default();
    let or_default = |value: Value, default: &str| if value.is_null() { default.into() } else { value };
    let variant = metadata.pointer("/native/variant").cloned().unwrap_or_default();
    *metadata = json!({
        "agent": given("agent"),
        "agentMode": or_default(given("agent_mode"), "build"),
        "permissionMode": or_default(given("permission_mode"), PermissionMode::Default.name()),
        "model": given("model"),
        "variant": variant,
    });
}

fn translate_permission(data: &mut Value) {
    let is_for_session = matches!(data.pointer("/metadata/scope").and_then(Value::as_str), Some("session" | "always"));
    let status = match data["status"].as_str() {
        Some("approved") if is_for_session => "accept_for_session",
        Some("approved") => "accept",
        Some("denied") => "reject",
        _ => return,
    };
    data["status"] = status.into();
}

/// A session to create, with what sandbox-agent accepts in addition.
pub(crate) fn translate_create(mut create: CreateSession) -> CreateSession {
    let accepts_edits = create.permission_mode.as_deref() == Some(PermissionMode::AcceptEdits.name());
    if accepts_edits && !ACCEPT_EDITS_AGENTS.contains(&create.agent.as_str()) {
        create.permission_mode = None;
    }
    if create.agent == AMP.0 && create.model.as_deref() == Some(AMP.1) {
        create.model = None;
    }
    create
}

/// The models of an agent. sandbox-agent never has an empty list, and knows models of agents that it cannot ask.
pub(crate) fn translate_models(agent: &str, models: Models) -> Models {
    if agent != AMP.0 || !models.models.is_empty() {
        return models;
    }
    let mut model = Model::default();
    (model.id, model.name) = (AMP.1.to_owned(), Some("Amp Default".to_owned()));
    let mut translated = Models::default();
    (translated.models, translated.default_model) = (vec![model], Some(AMP.1.to_owned()));
    translated
}

#[cfg(test)]
mod tests {
    use interlingua_schema::SessionId;

    use super::*;

    fn translate(json: &str) -> Value {
        serde_json::from_str(&translate_event(Some(Compat::SandboxAgent), json)).unwrap()
    }

    #[test]
    fn a_started_session_has_the_keys_of_sandbox_agent() {
        let event = r#"{"type":"session.started","data":{"metadata":{"agent":"claude","agent_mode":"plan","cwd":"/w","native":{"variant":"high"}}}}"#;
        let expected = json!({
            "agent": "claude", "agentMode": "plan", "permissionMode": "default", "model": null, "variant": "high",
        });
        assert_eq!(translate(event)["data"]["metadata"], expected);
        let event = r#"{"type":"session.started","data":{}}"#;
        assert_eq!(translate(event)["data"]["metadata"]["agentMode"], "build");
    }

    #[test]
    fn resolved_permissions_have_the_words_of_sandbox_agent() {
        for (status, scope, expected) in [
            ("approved", "once", "accept"),
            ("approved", "session", "accept_for_session"),
            ("approved", "always", "accept_for_session"),
            ("denied", "once", "reject"),
        ] {
            let event = json!({
                "type": "permission.resolved", "data": { "status": status, "metadata": { "scope": scope } },
            });
            assert_eq!(translate(&event.to_string())["data"]["status"], expected);
        }
    }

    #[test]
    fn other_events_are_not_touched() {
        for event in [
            r#"{"type":"item.delta","data":{"delta":"\"type\":\"session.started\""}}"#,
            r#"{"type":"agent.unparsed","data":{},"raw":{"type":"session.started"}}"#,
        ] {
            assert!(
                matches!(translate_event(Some(Compat::SandboxAgent), event), Cow::Borrowed(found) if found == event)
            );
        }
        let started = r#"{"type":"session.started","data":{"metadata":{}}}"#;
        assert!(matches!(translate_event(None, started), Cow::Borrowed(_)));
    }

    #[test]
    fn problems_have_the_names_and_statuses_of_sandbox_agent() {
        for (kind, uses_files, name, title, status) in [
            (ProblemKind::TokenInvalid, false, "token_invalid", "Token Invalid", 401),
            (ProblemKind::UnsupportedAgent, false, "unsupported_agent", "Unsupported Agent", 400),
            (ProblemKind::SessionEnded, false, "invalid_request", "Invalid Request", 400),
            (ProblemKind::QuestionNotFound, false, "invalid_request", "Invalid Request", 400),
            (ProblemKind::InstallFailed, false, "install_failed", "Install Failed", 500),
            (ProblemKind::AgentProcessExited, false, "agent_process_exited", "Agent Process Exited", 500),
            (ProblemKind::NotFound, true, "invalid_request", "Invalid Request", 400),
            (ProblemKind::NotFound, false, "not_found", "Not Found", 404),
            (ProblemKind::InsufficientScope, false, "permission_denied", "Permission Denied", 403),
        ] {
            let problem = Problem::new(kind, "why").session(&SessionId::from("s"));
            let (found, document) = translate_problem(&problem, uses_files);
            assert_eq!(found.as_u16(), status, "{document}");
            assert_eq!(document["type"], format!("urn:sandbox-agent:error:{name}"));
            assert_eq!((&document["title"], &document["status"]), (&json!(title), &json!(status)));
            assert_eq!((&document["detail"], &document["sessionId"]), (&json!("why"), &json!("s")));
        }
        let token = translate_problem(&Problem::new(ProblemKind::TokenInvalid, "why"), false).1;
        assert_eq!(token["details"], json!({ "message": "missing or invalid token" }));
    }
}
