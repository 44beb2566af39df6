//! `GET /v1/ready`.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use interlingua_store::{Store, StoreError, StoreProbe};
use serde::Serialize;
use serde_json::json;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use utoipa::ToSchema;

use crate::app::App;
use crate::problem::{Problem, ProblemKind};

/// How long the store may take to commit.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the answer of the store is used. Without a token, clients must not be able to keep the store busy.
const MAX_PROBE_AGE: Duration = Duration::from_secs(1);

/// Free space below which the server is not ready.
const MIN_FREE_BYTES: u64 = 16 * 1024 * 1024;

/// The last answer of the store.
#[derive(Debug, Default)]
pub(crate) struct CachedProbe(Mutex<Option<(Instant, StoreAnswer)>>);

/// The answer of the store; `None` if it did not come in time.
type StoreAnswer = Option<Result<StoreProbe, StoreError>>;

impl CachedProbe {
    /// Asks the store, unless its last answer is recent.
    async fn get(&self, store: &Store) -> StoreAnswer {
        // Requests that come together wait for the same answer.
        let mut cached = self.0.lock().await;
        if let Some((_, answer)) = cached.as_ref().filter(|(time, _)| time.elapsed() < MAX_PROBE_AGE) {
            return answer.clone();
        }
        let answer = timeout(STORE_TIMEOUT, store.probe()).await.ok();
        *cached = Some((Instant::now(), answer.clone()));
        answer
    }
}

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
/// token. The store is asked at most once per second.
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
    let probe = match app.store_probe().get(app.store()).await {
        Some(Ok(probe)) => Some(probe),
        Some(Err(error)) => {
            causes.push(Cause { cause: "store_failed", detail: format!("the store cannot commit: {error}") });
            None
        }
        None => {
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
