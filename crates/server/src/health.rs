//! `GET /v1/health`.

use axum::Json;
use axum::extract::State;
use interlingua_store::Store;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;

/// The server is up.
#[derive(Serialize, ToSchema)]
pub(crate) struct Health {
    /// Always `ok`.
    status: &'static str,
    /// The server's version.
    version: &'static str,
    store: StoreHealth,
}

/// The store of the server. Fields about a shared store are omitted for one of a single server.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoreHealth {
    /// The database: `sqlite`, or `postgres`, which servers share.
    kind: &'static str,
    /// Name of this server.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    server: Option<String>,
    /// Number of sessions that it owns now.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    leases: Option<usize>,
    /// Milliseconds since it renewed its leases. Beyond `leaseMs`, other servers take its sessions over.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    heartbeat_age_ms: Option<u64>,
    /// How long its leases last after a renewal, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    lease_ms: Option<u64>,
    /// Whether it learns at once what other servers append. Otherwise it looks every second.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    receives_signals: Option<bool>,
    /// How long the last signal took from server to server, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    signal_lag_ms: Option<u64>,
}

impl StoreHealth {
    fn new(store: &Store) -> Self {
        let millis = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let status = store.fleet().map(|fleet| fleet.status());
        let status = status.as_ref();
        Self {
            kind: store.kind(),
            server: status.map(|status| status.server.clone()),
            leases: status.map(|status| status.leases),
            heartbeat_age_ms: status.map(|status| millis(status.heartbeat_age)),
            lease_ms: status.map(|status| millis(status.lease)),
            receives_signals: status.map(|status| status.receives_signals),
            signal_lag_ms: status.map(|status| millis(status.signal_lag)),
        }
    }
}

/// Checks that the server is up, and says which store it has. Needs no token, and asks no database.
#[utoipa::path(
    get,
    path = "/v1/health",
    tag = "server",
    operation_id = "getHealth",
    security(()),
    responses((status = 200, description = "The server is up", body = Health))
)]
pub(crate) async fn get_health(State(app): State<App>) -> Json<Health> {
    let store = StoreHealth::new(app.store());
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION"), store })
}
