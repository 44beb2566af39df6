//! Metrics in the Prometheus text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use interlingua_store::StoreStats;

use crate::app::App;

/// Counters of the server.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<Series, RequestStats>>,
    open_streams: AtomicI64,
    /// Requests that were refused because of their token, by reason.
    auth_failures: Mutex<BTreeMap<&'static str, u64>>,
}

/// Labels of requests that are counted together.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    method: String,
    /// The route as in the router: a session id must not become a label.
    route: String,
    status: u16,
}

#[derive(Debug, Default)]
struct RequestStats {
    count: u64,
    total_time: Duration,
}

/// Counts as an open event stream until it is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream(Arc<Metrics>);

impl Metrics {
    pub(crate) fn record_request(&self, method: &str, route: &str, status: StatusCode, elapsed: Duration) {
        let series = Series { method: method.to_owned(), route: route.to_owned(), status: status.as_u16() };
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = requests.entry(series).or_default();
        counted.count += 1;
        counted.total_time += elapsed;
    }

    pub(crate) fn count_auth_failure(&self, reason: &'static str) {
        *self.auth_failures.lock().unwrap_or_else(PoisonError::into_inner).entry(reason).or_default() += 1;
    }

    pub(crate) fn open_stream(self: &Arc<Self>) -> OpenStream {
        self.open_streams.fetch_add(1, Ordering::Relaxed);
        OpenStream(Arc::clone(self))
    }

    fn render(&self, store: StoreStats) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: &str| {
            // Writing to a string does not fail.
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{samples}");
        };
        let single = |name: &str, value: &dyn std::fmt::Display| format!("{name} {value}\n");

        let name = "interlingua_build_info";
        let sample = format!("{name}{{version=\"{}\"}} 1\n", env!("CARGO_PKG_VERSION"));
        family(name, "gauge", "Version of the server.", &sample);

        let (mut counts, mut times) = (String::new(), String::new());
        for (series, stats) in &*self.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let Series { method, route, status } = series;
            let labels = format!("{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}}");
            let _ = writeln!(counts, "interlingua_http_requests_total{labels} {}", stats.count);
            let seconds = stats.total_time.as_secs_f64();
            let _ = writeln!(times, "interlingua_http_request_seconds_total{labels} {seconds}");
        }
        family("interlingua_http_requests_total", "counter", "Number of answered requests.", &counts);
        family(
            "interlingua_http_request_seconds_total",
            "counter",
            "Total time from request to start of the answer.",
            &times,
        );
        let mut failures = String::new();
        for (reason, count) in &*self.auth_failures.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = writeln!(failures, "interlingua_auth_failures_total{{reason=\"{reason}\"}} {count}");
        }
        family(
            "interlingua_auth_failures_total",
            "counter",
            "Number of requests that were refused because of their token.",
            &failures,
        );
        for (name, kind, help, value) in [
            (
                "interlingua_open_streams",
                "gauge",
                "Number of open event streams.",
                self.open_streams.load(Ordering::Relaxed),
            ),
            ("interlingua_events_total", "counter", "Events stored since the start.", store.events.cast_signed()),
            (
                "interlingua_store_commits_total",
                "counter",
                "Committed transactions since the start.",
                store.commits.cast_signed(),
            ),
            (
                "interlingua_store_failures_total",
                "counter",
                "Writes that failed because of the disk or the database since the start.",
                store.failures.cast_signed(),
            ),
        ] {
            family(name, kind, help, &single(name, &value));
        }
        if let Some(bytes) = resident_bytes() {
            let name = "process_resident_memory_bytes";
            family(name, "gauge", "Resident memory of the process.", &single(name, &bytes));
        }
        text
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
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics().render(app.store().stats()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_route_and_status() {
        let metrics = Arc::new(Metrics::default());
        let open = metrics.open_stream();
        for _ in 0..2 {
            metrics.record_request("GET", "/v1/sessions/{id}", StatusCode::OK, Duration::from_millis(250));
        }
        metrics.count_auth_failure("token_invalid");
        let mut store = StoreStats::default();
        store.events = 7;
        let text = metrics.render(store);
        for line in [
            r#"interlingua_http_requests_total{method="GET",route="/v1/sessions/{id}",status="200"} 2"#,
            r#"interlingua_http_request_seconds_total{method="GET",route="/v1/sessions/{id}",status="200"} 0.5"#,
            "interlingua_open_streams 1",
            r#"interlingua_auth_failures_total{reason="token_invalid"} 1"#,
            "interlingua_events_total 7",
        ] {
            assert!(text.lines().any(|found| found == line), "expected {line} in:\n{text}");
        }
        drop(open);
        assert!(metrics.render(StoreStats::default()).contains("\ninterlingua_open_streams 0\n"));
    }
}
