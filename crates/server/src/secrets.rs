//! Supplying the values of a session that are kept in memory only.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use interlingua_runtime::{Environment, McpSecrets};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::JsonBody;
use crate::object::Object;
use crate::path::SessionPath;
use crate::problem::Problem;

/// Values that a session was created with. Names that are left out keep their values, or stay missing.
#[derive(Deserialize, ToSchema)]
pub(crate) struct SessionSecrets {
    /// Environment variables of the agent's process.
    env: Option<BTreeMap<String, String>>,
    /// Values of MCP servers, by name: `{"env": {…}}` or `{"headers": {…}}`. The other fields that the server was created
    /// with may be given too and do not matter.
    #[schema(value_type = Option<BTreeMap<String, McpSecretsSchema>>)]
    mcp: Option<BTreeMap<String, Object<McpSecrets>>>,
}

/// Values of an MCP server that may be secret.
#[derive(ToSchema)]
#[schema(as = McpSecrets)]
#[allow(dead_code, reason = "describes `McpSecrets` of the runtime")]
struct McpSecretsSchema {
    /// Environment variables of a program.
    #[schema(nullable = false)]
    env: Option<BTreeMap<String, String>>,
    /// Headers of the requests to a URL.
    #[schema(nullable = false)]
    headers: Option<BTreeMap<String, String>>,
}

impl From<SessionSecrets> for interlingua_runtime::SessionSecrets {
    fn from(secrets: SessionSecrets) -> Self {
        Self::default().env(secrets.env.unwrap_or_default().into_iter().collect::<Environment>()).mcp(
            secrets
                .mcp
                .unwrap_or_default()
                .into_iter()
                .map(|(name, secrets)| (name, secrets.0))
                .collect::<BTreeMap<_, _>>(),
        )
    }
}

/// Supplies values that a session was created with (`env`, and the environment and headers of MCP servers).
///
/// They are kept in memory only, so a session in the state `needs_secrets` waits for them after a restart of the server;
/// `secretsMissing` has their names. When the last one is there, the queued messages get their turns. Values that are not
/// missing are replaced: the next turn uses the new ones.
#[utoipa::path(
    put,
    path = "/v1/sessions/{id}/secrets",
    tag = "sessions",
    operation_id = "setSecrets",
    params(("id" = String, Path, description = "Session id")),
    request_body = SessionSecrets,
    responses((status = 204, description = "The values are known"), (status = 409, description = "The session has ended"))
)]
pub(crate) async fn set_secrets(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    JsonBody(secrets): JsonBody<SessionSecrets>,
) -> Result<StatusCode, Problem> {
    app.runtime().set_secrets(&id, secrets.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}
