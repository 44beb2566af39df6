//! What a path names.

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use interlingua_runtime::check_session_id;
use interlingua_schema::SessionId;
use serde::Deserialize;

use crate::problem::Problem;

/// The session that a path names.
pub(crate) struct SessionPath(pub(crate) SessionId);

/// The session that a path names, and one of its permissions or questions.
pub(crate) struct RequestPath {
    pub(crate) session: SessionId,
    pub(crate) request: String,
}

#[derive(Deserialize)]
struct Named {
    id: String,
    #[serde(default)]
    request: String,
}

async fn named<S: Send + Sync>(parts: &mut Parts, state: &S) -> Result<(SessionId, String), Problem> {
    let Path(Named { id, request }) =
        Path::from_request_parts(parts, state).await.map_err(|error| undecodable(&error))?;
    let id = SessionId::from(id);
    check_session_id(&id)?;
    Ok((id, request))
}

fn undecodable(error: &PathRejection) -> Problem {
    Problem::invalid(format!("the path cannot be read: {}", error.body_text()))
}

impl<S: Send + Sync> FromRequestParts<S> for SessionPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        named(parts, state).await.map(|(id, _)| Self(id))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for RequestPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        named(parts, state).await.map(|(session, request)| Self { session, request })
    }
}

/// The agent that a path names.
pub(crate) struct AgentPath(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for AgentPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(agent) = Path::from_request_parts(parts, state).await.map_err(|error| undecodable(&error))?;
        Ok(Self(agent))
    }
}
