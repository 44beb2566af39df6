//! `GET /v1/health`.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

/// The server is up.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// Always `ok`.
    status: &'static str,
    /// The server's version.
    version: &'static str,
}

/// Checks that the server is up. Needs no token.
#[utoipa::path(
    get,
    path = "/v1/health",
    tag = "server",
    operation_id = "getHealth",
    security(()),
    responses((status = 200, description = "The server is up", body = Health))
)]
pub(crate) async fn get_health() -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}
