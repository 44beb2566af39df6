//! The table of a benchmark.

use std::fmt::Write as _;
use std::time::Duration;

use crate::Corpus;

/// The table of one agent: a row for the measured task and one for each baseline, with the time and the instructions of the
/// baseline as a multiple of those of the task. `counts` is empty if instructions are not counted.
#[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
pub(crate) fn table(agent: &str, corpus: &Corpus, times: &[Duration], counts: &[u64]) -> String {
    let mut out = String::new();
    let title = format!("{agent}: {} lines, {} bytes", corpus.lines, corpus.bytes);
    // Writing to a string does not fail.
    let _ = writeln!(out, "\n{title:<48} {:>9} {:>7} {:>14} {:>7}", "MB/s", "ratio", "instr./line", "ratio");
    for (index, (task, time)) in corpus.tasks.iter().zip(times).enumerate() {
        let megabytes_per_second = corpus.bytes as f64 / 1e6 / time.as_secs_f64();
        let _ = write!(out, "  {:<46} {megabytes_per_second:>9.1}", task.name);
        let _ = write!(out, " {:>7}", ratio(index, time.as_secs_f64(), times[0].as_secs_f64()));
        if let Some(count) = counts.get(index) {
            let per_line = *count as f64 / corpus.lines.max(1) as f64;
            let _ = write!(out, " {per_line:>14.0} {:>7}", ratio(index, *count as f64, counts[0] as f64));
        }
        out.push('\n');
    }
    out
}

/// The cost of a baseline as a multiple of the cost of the measured task, which has no ratio itself.
fn ratio(index: usize, baseline: f64, measured: f64) -> String {
    if index == 0 { String::new() } else { format!("{:.2}", baseline / measured) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Task;

    #[test]
    fn a_baseline_is_shown_as_a_multiple_of_the_measured_task() {
        let tasks = vec![Task::new("decode", || {}), Task::new("Value", || {})];
        let corpus = Corpus { lines: 10, bytes: 1_000_000, tasks };
        let times = [Duration::from_millis(10), Duration::from_millis(25)];
        let table = table("codex", &corpus, &times, &[5000, 15_000]);
        let rows: Vec<Vec<&str>> = table.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows, [vec!["decode", "100.0", "500"], vec!["Value", "40.0", "2.50", "1500", "3.00"]]);
    }
}
