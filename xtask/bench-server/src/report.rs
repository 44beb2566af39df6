//! Prints the measured values.

use std::time::Duration;

use crate::many_sessions::{FanOut, Scale};
use crate::metrics::{Latency, Metrics};
use crate::overhead::Overhead;
use crate::search::SearchMetrics;

/// Prints the metrics, with their targets.
pub(crate) fn print_metrics(metrics: &Metrics, rounds: usize) {
    let kib = |kib: f64| format!("{kib:.1} KiB");
    let rate = |rate: f64| format!("{rate:.0} events/s");
    let percentiles = |latency: Latency| format!("{} (p99 {})", millis(latency.p50), millis(latency.p99));
    let rows = [
        ("start to healthy", metrics.start.map_or("was running".to_owned(), millis), "< 30 ms"),
        ("idle memory", format!("{:.1} MiB", metrics.idle_memory / 1024.0), "< 20 MiB"),
        ("memory per idle session", kib(metrics.session_memory), "< 5 KiB"),
        ("memory per SSE reader", kib(metrics.reader_memory), "< 40 KiB"),
        ("message to first event, p50", percentiles(metrics.first_event), "< 1.5 ms"),
        ("append, one reader", rate(metrics.append_rate), ""),
        ("fan-out, all readers together", rate(metrics.fan_out_rate), ""),
        ("100 events at the start, p50", percentiles(metrics.read_start), "< 2 ms"),
        ("100 events in the middle, p50", percentiles(metrics.read_middle), "< 2 ms"),
        ("100 events at the end, p50", percentiles(metrics.read_end), "< 2 ms"),
    ];
    println!("{:<32}{:<30}target", "metric", format!("median of {rounds}"));
    for (metric, value, target) in rows {
        println!("{}", format!("{metric:<32}{value:<30}{target}").trim_end());
    }
}

/// Prints the overhead of the server, with its target.
pub(crate) fn print_overhead(comparisons: &[Overhead], rounds: usize) {
    println!();
    println!(
        "server and SSE compared with `interlingua convert`: median of {rounds}; target: a ratio of at least 0.50"
    );
    println!(
        "{:<10} {:>8} {:>16} {:>16} {:>7}  recording with a repeated section",
        "agent", "events", "convert", "server", "ratio"
    );
    for comparison in comparisons {
        let (convert, server) =
            (format!("{:.0}/s", comparison.convert_rate), format!("{:.0}/s", comparison.server_rate));
        let (agent, recording) = (comparison.section.agent, comparison.section.recording);
        let (events, ratio) = (comparison.events, comparison.ratio());
        println!("{agent:<10} {events:>8} {convert:>16} {server:>16} {ratio:>7.2}  {recording}");
    }
}

/// Prints the speed of the stream of many sessions beside that of one.
pub(crate) fn print_fan_out(fan_out: FanOut, scale: Scale, rounds: usize) {
    let Scale { sessions, readers } = scale;
    println!("events per second that reach {readers} readers together; median of {rounds}");
    println!("{:<44}{:.0}/s", format!("{sessions} turns of one session"), fan_out.one_session);
    println!("{:<44}{:.0}/s", format!("{sessions} sessions with one turn each"), fan_out.many_sessions);
    println!("{:<44}{:.2}", "ratio", fan_out.many_sessions / fan_out.one_session);
    println!("{:<44}{:.0}/s", "one reader, all stored events", fan_out.stored);
}

/// Prints the speed of searching, with its target.
pub(crate) fn print_search(metrics: &SearchMetrics) {
    let megabytes = |bytes: u64| bytes / 1_000_000;
    let percentiles = |latency: Latency| format!("{} (p99 {})", millis(latency.p50), millis(latency.p99));
    println!(
        "search over {} MB in {} sessions; index of {} MB, made in {:.0} s",
        megabytes(metrics.store_bytes),
        metrics.sessions,
        megabytes(metrics.index_bytes),
        metrics.indexing.as_secs_f64()
    );
    for (kind, latency) in &metrics.searches {
        println!("{kind:<32}{}", percentiles(*latency));
    }
    println!("{:<32}{:<30}< 30 ms", "all searches, p50", percentiles(metrics.all));
    println!("{:<32}{}", "delete a session, p50", percentiles(metrics.delete));
}

/// Prints the load of the machine during the measurement.
pub(crate) fn print_load(load: &str, is_quick: bool) {
    println!("load average: {load}");
    if is_quick {
        println!("quick run with a tenth of the work: these values are not a measurement");
    }
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}
