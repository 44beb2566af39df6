//! Compares the formatting of event timestamps with the printer of `jiff`, on the same times in the same run.

use std::hint::black_box;
use std::time::{Duration, Instant};

use interlingua_schema::Timestamp;
use interlingua_schema::wire::WriteJson;
use jiff::fmt::temporal::DateTimePrinter;

/// Number of rounds. The candidates alternate, and the fastest round of each counts, so that other load on the machine
/// matters little.
const ROUNDS: usize = 40;
/// Timestamps per round.
const VALUES: i64 = 50_000;
/// The first timestamp: 2026-01-27T19:10:11.000Z.
const FIRST: i64 = 1_769_541_011_000;
/// Milliseconds between two timestamps. A timestamp that equals the previous one is not formatted again, so all differ.
const STEP: i64 = 7_919;

/// Appends a time, in milliseconds since 1970-01-01 UTC, as a JSON string.
type Write = fn(i64, &mut Vec<u8>);

fn main() {
    let candidates: [(&str, Write); 2] = [("Timestamp", write_ours), ("jiff", write_jiff)];
    for (name, write) in candidates {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        write_ours(FIRST, &mut ours);
        write(FIRST, &mut theirs);
        assert_eq!(ours, theirs, "{name} writes different bytes");
    }
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for ((_, write), fastest) in candidates.iter().zip(&mut fastest) {
            *fastest = measure(*write).min(*fastest);
        }
    }
    println!("{:<10} {:>8} {:>7}", "writer", "ns/time", "ratio");
    for ((name, _), time) in candidates.iter().zip(fastest) {
        let nanoseconds = time.as_secs_f64() * 1e9 / f64::from(i32::try_from(VALUES).unwrap_or(i32::MAX));
        println!("{name:<10} {nanoseconds:>8.1} {:>7.2}", time.as_secs_f64() / fastest[0].as_secs_f64());
    }
}

fn measure(write: Write) -> Duration {
    let mut out = Vec::with_capacity(64);
    let start = Instant::now();
    for number in 0..VALUES {
        out.clear();
        write(black_box(FIRST + number * STEP), &mut out);
        black_box(&out);
    }
    start.elapsed()
}

fn write_ours(millis: i64, out: &mut Vec<u8>) {
    Timestamp::from_millis(millis).write_json(out);
}

/// Uses the printer of `jiff`.
fn write_jiff(millis: i64, out: &mut Vec<u8>) {
    const PRINTER: DateTimePrinter = DateTimePrinter::new().precision(Some(3));
    let Ok(time) = jiff::Timestamp::from_millisecond(millis) else { return };
    out.push(b'"');
    let _ = PRINTER.print_timestamp(&time, &mut *out);
    out.push(b'"');
}
