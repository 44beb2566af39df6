//! Metrics in the Prometheus text format.

mod text;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use interlingua_runtime::{Histogram, MetricsSnapshot};
use interlingua_store::{StoreProbe, StoreStats, StoreUsage};
use tokio::time::timeout;

use crate::app::App;
use crate::fleet_metrics;
use text::{Kind, Text};

/// How long the store may take to tell what it contains.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Counters of the server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<Requests>,
    open_streams: AtomicI64,
    /// Requests that were refused because of their token, by reason.
    auth_failures: Mutex<BTreeMap<&'static str, u64>>,
    /// Sessions that were deleted because they had not changed for a long time.
    expired_sessions: AtomicU64,
}

#[derive(Debug, Default)]
struct Requests {
    /// Number of answers by method, route and status.
    counts: BTreeMap<(String, String, u16), u64>,
    /// Time from a request to the start of its answer, by method and route.
    durations: BTreeMap<(String, String), Histogram>,
}

/// Counts as an open event stream until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream(Arc<Metrics>);

/// What the metrics are about, besides the server's own counters.
#[derive(Default)]
struct Observed {
    store: StoreStats,
    /// `None` if the store did not answer.
    usage: Option<StoreUsage>,
    probe: Option<StoreProbe>,
    runtime: MetricsSnapshot,
    is_draining: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Metrics {
    /// Counts an answered request. `route` is the path as in the router: a session id must not become a label.
    pub(crate) fn record_request(&self, method: &str, route: &str, status: StatusCode, elapsed: Duration) {
        let (method, route) = (method.to_owned(), route.to_owned());
        let mut requests = lock(&self.requests);
        *requests.counts.entry((method.clone(), route.clone(), status.as_u16())).or_default() += 1;
        requests.durations.entry((method, route)).or_default().observe(elapsed);
    }

    pub(crate) fn count_auth_failure(&self, reason: &'static str) {
        *lock(&self.auth_failures).entry(reason).or_default() += 1;
    }

    pub(crate) fn count_expired_sessions(&self, count: u64) {
        self.expired_sessions.fetch_add(count, Ordering::Relaxed);
    }

    pub(crate) fn open_stream(self: &Arc<Self>) -> OpenStream {
        self.open_streams.fetch_add(1, Ordering::Relaxed);
        OpenStream(Arc::clone(self))
    }

    fn render(&self, observed: &Observed) -> String {
        let mut text = Text::default();
        self.render_server(&mut text, observed.is_draining);
        render_store(&mut text, observed);
        render_runtime(&mut text, &observed.runtime);
        text.into_string()
    }

    fn render_server(&self, text: &mut Text, is_draining: bool) {
        let build = text.family("interlingua_build_info", Kind::Gauge, "Version of the server.");
        build.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
        text.family("interlingua_draining", Kind::Gauge, "1 while the server starts no further turns.")
            .sample(&[], u8::from(is_draining));
        let requests = lock(&self.requests);
        let counts = text.family("interlingua_http_requests_total", Kind::Counter, "Number of answered requests.");
        for ((method, route, status), count) in &requests.counts {
            counts.sample(&[("method", method), ("route", route), ("status", &status.to_string())], count);
        }
        let durations = text.family(
            "interlingua_http_request_duration_seconds",
            Kind::Histogram,
            "Time from request to start of the answer.",
        );
        for ((method, route), histogram) in &requests.durations {
            durations.histogram(&[("method", method), ("route", route)], histogram);
        }
        let failures = text.family(
            "interlingua_auth_failures_total",
            Kind::Counter,
            "Number of requests that were refused because of their token.",
        );
        for (reason, count) in &*lock(&self.auth_failures) {
            failures.sample(&[("reason", reason)], count);
        }
        text.family("interlingua_open_streams", Kind::Gauge, "Number of open event streams.")
            .sample(&[], self.open_streams.load(Ordering::Relaxed));
        let help = "Sessions deleted because they had not changed for the time of --retain, since the start.";
        text.family("interlingua_expired_sessions_total", Kind::Counter, help)
            .sample(&[], self.expired_sessions.load(Ordering::Relaxed));
        if let Some(bytes) = resident_bytes() {
            text.family("process_resident_memory_bytes", Kind::Gauge, "Resident memory of the process.")
                .sample(&[], bytes);
        }
    }
}

fn render_store(text: &mut Text, observed: &Observed) {
    let StoreStats { events, commits, failures, .. } = observed.store;
    for (name, help, value) in [
        ("interlingua_events_total", "Events stored since the start.", events),
        ("interlingua_store_commits_total", "Committed transactions since the start.", commits),
        (
            "interlingua_store_failures_total",
            "Writes that failed because of the disk or the database since the start.",
            failures,
        ),
    ] {
        text.family(name, Kind::Counter, help).sample(&[], value);
    }
    if let Some(usage) = &observed.usage {
        let sessions = text.family("interlingua_sessions", Kind::Gauge, "Number of sessions by agent and state.");
        for (agent, state, count) in &usage.sessions {
            sessions.sample(&[("agent", agent), ("state", state.name())], count);
        }
        text.family("interlingua_queued_messages", Kind::Gauge, "Number of messages whose turns have not begun.")
            .sample(&[], usage.queued_messages);
        text.family("interlingua_store_bytes", Kind::Gauge, "Size of the database and the search index on the disk.")
            .sample(&[], usage.bytes);
    }
    if let Some(probe) = &observed.probe {
        text.family("interlingua_store_lag_seconds", Kind::Gauge, "Time that a commit takes now.")
            .sample(&[], probe.lag.as_secs_f64());
        text.family("interlingua_disk_free_bytes", Kind::Gauge, "Free space on the disk of the data directory.")
            .sample(&[], probe.free_bytes);
    }
}

fn render_runtime(text: &mut Text, runtime: &MetricsSnapshot) {
    text.family("interlingua_working_sessions", Kind::Gauge, "Number of sessions that work.")
        .sample(&[], runtime.working_sessions);
    let turns = text.family("interlingua_turns_total", Kind::Counter, "Turns that ended since the start.");
    for ((agent, status), count) in &runtime.turns {
        turns.sample(&[("agent", agent), ("status", status)], count);
    }
    let durations = text.family("interlingua_turn_duration_seconds", Kind::Histogram, "Duration of turns.");
    for (agent, histogram) in &runtime.turn_durations {
        durations.histogram(&[("agent", agent)], histogram);
    }
    let help = "Time from queueing a message to passing it to its agent.";
    text.family("interlingua_message_wait_seconds", Kind::Histogram, help).histogram(&[], &runtime.message_waits);
    let help = "How often an agent was started again after its process had died, since the start.";
    let restarts = text.family("interlingua_agent_restarts_total", Kind::Counter, help);
    for (agent, count) in &runtime.agent_restarts {
        restarts.sample(&[("agent", agent)], count);
    }
}

/// Resident memory of the process; `None` on systems without `/proc`.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.open_streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Metrics in the Prometheus text format.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "server",
    operation_id = "getMetrics",
    responses((status = 200, description = "Metrics in the Prometheus text format", body = String, content_type = "text/plain"))
)]
pub(crate) async fn get_metrics(State(app): State<App>) -> impl IntoResponse {
    // A store that hangs must not hide the other metrics.
    let store =
        timeout(STORE_TIMEOUT, async { (app.runtime().store_usage().await.ok(), app.store().probe().await.ok()) });
    let (usage, probe) = store.await.unwrap_or_default();
    let runtime = app.runtime();
    let observed = Observed {
        store: app.store().stats(),
        usage,
        probe,
        runtime: runtime.metrics(),
        is_draining: runtime.is_draining(),
    };
    let text = app.metrics().render(&observed) + &fleet_metrics::render(app.store());
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expect_lines(text: &str, lines: &[&str]) {
        for line in lines {
            assert!(text.lines().any(|found| found == *line), "expected {line} in:\n{text}");
        }
    }

    #[test]
    fn requests_are_counted_by_route_and_status() {
        let metrics = Arc::new(Metrics::default());
        let open = metrics.open_stream();
        for millis in [250, 20] {
            metrics.record_request("GET", "/v1/sessions/{id}", StatusCode::OK, Duration::from_millis(millis));
        }
        metrics.count_auth_failure("token_invalid");
        let mut observed = Observed::default();
        observed.store.events = 7;
        expect_lines(
            &metrics.render(&observed),
            &[
                r#"interlingua_http_requests_total{method="GET",route="/v1/sessions/{id}",status="200"} 2"#,
                "# TYPE interlingua_http_request_duration_seconds histogram",
                r#"interlingua_http_request_duration_seconds_bucket{method="GET",route="/v1/sessions/{id}",le="0.025"} 1"#,
                r#"interlingua_http_request_duration_seconds_bucket{method="GET",route="/v1/sessions/{id}",le="+Inf"} 2"#,
                r#"interlingua_http_request_duration_seconds_sum{method="GET",route="/v1/sessions/{id}"} 0.27"#,
                r#"interlingua_http_request_duration_seconds_count{method="GET",route="/v1/sessions/{id}"} 2"#,
                "interlingua_open_streams 1",
                r#"interlingua_auth_failures_total{reason="token_invalid"} 1"#,
                "interlingua_events_total 7",
            ],
        );
        drop(open);
        assert!(metrics.render(&Observed::default()).contains("\ninterlingua_open_streams 0\n"));
    }

    #[test]
    fn a_store_that_does_not_answer_leaves_out_what_only_it_knows() {
        let text = Metrics::default().render(&Observed::default());
        assert!(
            !text.contains("interlingua_store_bytes") && text.contains("interlingua_store_commits_total 0"),
            "{text}"
        );
    }
}
