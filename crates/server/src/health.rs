//! Whether the server is there.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

/// The server is there.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// Always `ok`.
    status: &'static str,
    /// The server's version.
    version: &'static str,
}

/// Whether the server is there. Needs no token.
#[utoipa::path(
    get,
    path = "/v1/health",
    tag = "server",
    operation_id = "getHealth",
    security(()),
    responses((status = 200, description = "It is", body = Health))
)]
pub(crate) async fn get_health() -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}
