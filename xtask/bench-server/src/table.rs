//! The table that is printed.

use std::time::Duration;

use crate::figures::{Figures, Times};
use crate::overhead::Overhead;

/// Prints the figures, with what was wished for where something was.
pub(crate) fn print(figures: &Figures, rounds: usize) {
    let kib = |kib: f64| format!("{kib:.1} KiB");
    let rate = |rate: f64| format!("{rate:.0} events/s");
    let both = |times: Times| format!("{} (p99 {})", millis(times.p50), millis(times.p99));
    let rows = [
        ("start to healthy", figures.start.map_or("was running".to_owned(), millis), "< 30 ms"),
        ("idle memory", format!("{:.1} MiB", figures.idle / 1024.0), "< 20 MiB"),
        ("memory per idle session", kib(figures.per_session), "< 5 KiB"),
        ("memory per SSE reader", kib(figures.per_reader), "< 40 KiB"),
        ("message to first event, p50", both(figures.first_event), "< 1.5 ms"),
        ("append, one reader", rate(figures.append_rate), ""),
        ("fan-out, all readers together", rate(figures.fan_out_rate), ""),
        ("100 events at the start, p50", both(figures.read_start), "< 2 ms"),
        ("100 events in the middle, p50", both(figures.read_middle), "< 2 ms"),
        ("100 events at the end, p50", both(figures.read_end), "< 2 ms"),
    ];
    println!("{:<32}{:<30}wished for", "measured", format!("median of {rounds}"));
    for (what, found, wished) in rows {
        println!("{}", format!("{what:<32}{found:<30}{wished}").trim_end());
    }
}

/// Prints what the server costs, with what was wished for.
pub(crate) fn print_overhead(compared: &[Overhead], rounds: usize) {
    println!();
    println!("through the server and SSE, beside `interlingua convert`: median of {rounds}; wished for: at least 0.50");
    println!(
        "{:<10} {:>8} {:>16} {:>16} {:>7}  a passage repeated of",
        "agent", "events", "convert", "server", "ratio"
    );
    for found in compared {
        let (convert, served) = (format!("{:.0}/s", found.convert), format!("{:.0}/s", found.served));
        let (agent, recording) = (found.passage.agent, found.passage.recording);
        println!("{agent:<10} {:>8} {convert:>16} {served:>16} {:>7.2}  {recording}", found.events, found.ratio());
    }
}

/// Prints under which circumstances it was measured.
pub(crate) fn print_load(load: &str, quick: bool) {
    println!("load average: {load}");
    if quick {
        println!("a tenth of everything was done: these figures say that it works, not how fast");
    }
}

fn millis(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1000.0)
}
