//! Extractors of path parameters.

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use interlingua_runtime::check_session_id;
use interlingua_schema::SessionId;
use serde::Deserialize;

use crate::problem::Problem;

/// The session id of a path.
pub(crate) struct SessionPath(pub(crate) SessionId);

/// The session id of a path, and the id of a permission request, question or message.
pub(crate) struct RequestPath {
    pub(crate) session: SessionId,
    pub(crate) request: String,
}

#[derive(Deserialize)]
struct PathParams {
    id: String,
    #[serde(default, alias = "message")]
    request: String,
}

async fn parse_params<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<(SessionId, String), Problem> {
    let Path(PathParams { id, request }) =
        Path::from_request_parts(parts, state).await.map_err(|error| invalid_path(&error))?;
    let id = SessionId::from(id);
    check_session_id(&id)?;
    Ok((id, request))
}

fn invalid_path(error: &PathRejection) -> Problem {
    Problem::invalid(format!("the path is invalid: {}", error.body_text()))
}

impl<S: Send + Sync> FromRequestParts<S> for SessionPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        parse_params(parts, state).await.map(|(id, _)| Self(id))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        parse_params(parts, state).await.map(|(session, request)| Self { session, request })
    }
}

/// The agent id of a path.
pub(crate) struct AgentPath(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for AgentPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(agent) = Path::from_request_parts(parts, state).await.map_err(|error| invalid_path(&error))?;
        Ok(Self(agent))
    }
}
