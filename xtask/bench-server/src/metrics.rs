//! The measured values.

use std::time::Duration;

/// The values of one round.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Metrics {
    /// Time from the start of the process to its first answer; `None` if the server was running before.
    pub(crate) start: Option<Duration>,
    /// Memory of an idle server in KiB.
    pub(crate) idle_memory: f64,
    /// Memory of an idle session in KiB.
    pub(crate) session_memory: f64,
    /// Memory of an SSE reader in KiB.
    pub(crate) reader_memory: f64,
    /// Time from sending a message to the first event of its turn.
    pub(crate) first_event: Latency,
    /// Events per second that were stored and reached one reader.
    pub(crate) append_rate: f64,
    /// Events per second that reached many readers, summed over the readers.
    pub(crate) fan_out_rate: f64,
    /// Time to read 100 events at the start of a long session.
    pub(crate) read_start: Latency,
    /// Time to read 100 events in the middle of a long session.
    pub(crate) read_middle: Latency,
    /// Time to read 100 events at the end of a long session.
    pub(crate) read_end: Latency,
}

/// Percentiles of a duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Latency {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl Latency {
    pub(crate) fn new(mut samples: Vec<Duration>) -> Self {
        samples.sort_unstable();
        let percentile =
            |percent: usize| samples.get((samples.len() * percent / 100).min(samples.len().saturating_sub(1)));
        Self { p50: percentile(50).copied().unwrap_or_default(), p99: percentile(99).copied().unwrap_or_default() }
    }
}

impl Metrics {
    /// The median of each value.
    pub(crate) fn medians(rounds: &[Self]) -> Self {
        let number = |get: fn(&Self) -> f64| median(rounds.iter().map(get).collect(), f64::total_cmp);
        let latency = |get: fn(&Self) -> Latency| Latency {
            p50: median(rounds.iter().map(|round| get(round).p50).collect(), Ord::cmp),
            p99: median(rounds.iter().map(|round| get(round).p99).collect(), Ord::cmp),
        };
        let starts: Vec<Duration> = rounds.iter().filter_map(|round| round.start).collect();
        Self {
            start: (!starts.is_empty()).then(|| median(starts, Ord::cmp)),
            idle_memory: number(|round| round.idle_memory),
            session_memory: number(|round| round.session_memory),
            reader_memory: number(|round| round.reader_memory),
            first_event: latency(|round| round.first_event),
            append_rate: number(|round| round.append_rate),
            fan_out_rate: number(|round| round.fan_out_rate),
            read_start: latency(|round| round.read_start),
            read_middle: latency(|round| round.read_middle),
            read_end: latency(|round| round.read_end),
        }
    }
}

fn median<T: Copy + Default>(mut values: Vec<T>, compare: impl FnMut(&T, &T) -> std::cmp::Ordering) -> T {
    values.sort_by(compare);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_taken_from_the_sorted_samples() {
        let latency = Latency::new((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!((latency.p50, latency.p99), (Duration::from_millis(51), Duration::from_millis(100)));
        assert_eq!(Latency::new(Vec::new()), Latency::default());
    }

    #[test]
    fn each_value_has_its_own_median() {
        let round = |start: u64, idle_memory: f64| Metrics {
            start: Some(Duration::from_millis(start)),
            idle_memory,
            ..Metrics::default()
        };
        let medians = Metrics::medians(&[round(30, 3.0), round(10, 1.0), round(20, 9.0)]);
        assert_eq!((medians.start, medians.idle_memory), (Some(Duration::from_millis(20)), 3.0));
    }
}
