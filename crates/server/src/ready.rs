//! `GET /v1/ready`.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use serde_json::json;
use tokio::time::timeout;
use utoipa::ToSchema;

use crate::app::App;
use crate::problem::{Problem, ProblemKind};

/// How long the store may take to commit.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Free space below which the server is not ready.
const MIN_FREE_BYTES: u64 = 16 * 1024 * 1024;

/// The server can take work.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Ready {
    /// Always `ready`.
    status: &'static str,
    /// Time that a commit takes now, in milliseconds, including the writes before it.
    store_lag_ms: u64,
    /// Free space on the disk of the data directory, in bytes.
    free_bytes: u64,
}

/// Why the server is not ready.
#[derive(Serialize)]
struct Cause {
    cause: &'static str,
    detail: String,
}

/// Checks that the server can take work: it is not draining, its store commits, and there is space on the disk. Needs no
/// token.
#[utoipa::path(
    get,
    path = "/v1/ready",
    tag = "server",
    operation_id = "getReady",
    security(()),
    responses(
        (status = 200, description = "The server can take work", body = Ready),
        (status = 503, description = "The server should get no new work; `details.causes` says why"),
    )
)]
pub(crate) async fn get_ready(State(app): State<App>) -> Result<Json<Ready>, Problem> {
    let mut causes = Vec::new();
    if app.runtime().is_draining() {
        let detail = "the server is stopping; it finishes the turns that run and starts no others".to_owned();
        causes.push(Cause { cause: "draining", detail });
    }
    let probe = match timeout(STORE_TIMEOUT, app.store().probe()).await {
        Ok(Ok(probe)) => Some(probe),
        Ok(Err(error)) => {
            causes.push(Cause { cause: "store_failed", detail: format!("the store cannot commit: {error}") });
            None
        }
        Err(_) => {
            let detail = format!("the store did not commit within {} s", STORE_TIMEOUT.as_secs());
            causes.push(Cause { cause: "store_lag", detail });
            None
        }
    };
    if let Some(probe) = probe.as_ref().filter(|probe| probe.free_bytes < MIN_FREE_BYTES) {
        let free_mib = probe.free_bytes >> 20;
        let detail = format!("the disk of the data directory has only {free_mib} MiB left; free some space");
        causes.push(Cause { cause: "disk_full", detail });
    }
    match probe {
        Some(probe) if causes.is_empty() => {
            let store_lag_ms = u64::try_from(probe.lag.as_millis()).unwrap_or(u64::MAX);
            Ok(Json(Ready { status: "ready", store_lag_ms, free_bytes: probe.free_bytes }))
        }
        _ => {
            let detail = causes.iter().map(|cause| cause.detail.as_str()).collect::<Vec<_>>().join("; ");
            Err(Problem::new(ProblemKind::Unavailable, detail).details(json!({ "causes": causes })))
        }
    }
}
