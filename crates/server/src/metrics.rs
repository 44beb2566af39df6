//! What the server counts, in the text format of Prometheus.

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

/// What the server counts.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<Series, Observed>>,
    streams: AtomicI64,
}

/// Requests that are counted together.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    method: String,
    /// The route as it is written in the router: a session's name is no label.
    route: String,
    status: u16,
}

#[derive(Debug, Default)]
struct Observed {
    count: u64,
    time: Duration,
}

/// Counts as an open stream of events for as long as it lives.
#[derive(Debug)]
pub(crate) struct OpenStream(Arc<Metrics>);

impl Metrics {
    pub(crate) fn request(&self, method: &str, route: &str, status: StatusCode, time: Duration) {
        let series = Series { method: method.to_owned(), route: route.to_owned(), status: status.as_u16() };
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        let observed = requests.entry(series).or_default();
        observed.count += 1;
        observed.time += time;
    }

    pub(crate) fn stream_opened(self: &Arc<Self>) -> OpenStream {
        self.streams.fetch_add(1, Ordering::Relaxed);
        OpenStream(Arc::clone(self))
    }

    fn write(&self, totals: StoreStats) -> String {
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: &str| {
            // Writing to memory does not fail.
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{samples}");
        };
        let single = |name: &str, value: &dyn std::fmt::Display| format!("{name} {value}\n");

        let name = "interlingua_build_info";
        let sample = format!("{name}{{version=\"{}\"}} 1\n", env!("CARGO_PKG_VERSION"));
        family(name, "gauge", "The version that runs.", &sample);

        let (mut counts, mut times) = (String::new(), String::new());
        for (series, observed) in &*self.requests.lock().unwrap_or_else(PoisonError::into_inner) {
            let Series { method, route, status } = series;
            let labels = format!("{{method=\"{method}\",route=\"{route}\",status=\"{status}\"}}");
            let _ = writeln!(counts, "interlingua_http_requests_total{labels} {}", observed.count);
            let seconds = observed.time.as_secs_f64();
            let _ = writeln!(times, "interlingua_http_request_seconds_total{labels} {seconds}");
        }
        family("interlingua_http_requests_total", "counter", "Requests answered.", &counts);
        family("interlingua_http_request_seconds_total", "counter", "Time until the answers began, summed up.", &times);
        for (name, kind, help, value) in [
            ("interlingua_open_streams", "gauge", "Event streams that are open.", self.streams.load(Ordering::Relaxed)),
            ("interlingua_events_total", "counter", "Events stored since the start.", totals.events.cast_signed()),
            (
                "interlingua_store_commits_total",
                "counter",
                "Transactions since the start.",
                totals.commits.cast_signed(),
            ),
            (
                "interlingua_store_failures_total",
                "counter",
                "Writes that the disk or the database refused since the start.",
                totals.failures.cast_signed(),
            ),
        ] {
            family(name, kind, help, &single(name, &value));
        }
        if let Some(bytes) = resident_bytes() {
            let name = "process_resident_memory_bytes";
            family(name, "gauge", "Memory that the process has in use.", &single(name, &bytes));
        }
        text
    }
}

/// The process's resident memory, where the system has a `/proc` to say it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.streams.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counters in the text format of Prometheus.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "server",
    operation_id = "getMetrics",
    responses((status = 200, description = "Counters in Prometheus's text format", body = String, content_type = "text/plain"))
)]
pub(crate) async fn get_metrics(State(app): State<App>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics().write(app.store().stats()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_written_by_route_and_status() {
        let metrics = Arc::new(Metrics::default());
        let open = metrics.stream_opened();
        for _ in 0..2 {
            metrics.request("GET", "/v1/sessions/{id}", StatusCode::OK, Duration::from_millis(250));
        }
        let mut totals = StoreStats::default();
        totals.events = 7;
        let text = metrics.write(totals);
        for line in [
            r#"interlingua_http_requests_total{method="GET",route="/v1/sessions/{id}",status="200"} 2"#,
            r#"interlingua_http_request_seconds_total{method="GET",route="/v1/sessions/{id}",status="200"} 0.5"#,
            "interlingua_open_streams 1",
            "interlingua_events_total 7",
        ] {
            assert!(text.lines().any(|written| written == line), "{line} is not in\n{text}");
        }
        drop(open);
        assert!(metrics.write(StoreStats::default()).contains("\ninterlingua_open_streams 0\n"));
    }
}
