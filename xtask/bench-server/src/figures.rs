//! What is measured.

use std::time::Duration;

/// What a round measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    /// From the start of the process to its first answer; `None` if it was running before.
    pub(crate) start: Option<Duration>,
    /// KiB of an idle server.
    pub(crate) idle: f64,
    /// KiB that an idle session adds.
    pub(crate) per_session: f64,
    /// KiB that a client which follows a session adds.
    pub(crate) per_reader: f64,
    /// From sending a message to the first event of its turn.
    pub(crate) first_event: Times,
    /// Events that were stored and reached one reader, a second.
    pub(crate) append_rate: f64,
    /// Events that reached all of many readers, a second.
    pub(crate) fan_out_rate: f64,
    /// Reading 100 events at the start, in the middle and at the end of a long session.
    pub(crate) read_start: Times,
    pub(crate) read_middle: Times,
    pub(crate) read_end: Times,
}

/// How long something took, when it was done many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl Times {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |percent: usize| times.get((times.len() * percent / 100).min(times.len().saturating_sub(1)));
        Self { p50: at(50).copied().unwrap_or_default(), p99: at(99).copied().unwrap_or_default() }
    }
}

impl Figures {
    /// The median of each figure.
    pub(crate) fn medians(rounds: &[Self]) -> Self {
        let number = |of: fn(&Self) -> f64| median(rounds.iter().map(of).collect(), f64::total_cmp);
        let times = |of: fn(&Self) -> Times| Times {
            p50: median(rounds.iter().map(|round| of(round).p50).collect(), Ord::cmp),
            p99: median(rounds.iter().map(|round| of(round).p99).collect(), Ord::cmp),
        };
        let starts: Vec<Duration> = rounds.iter().filter_map(|round| round.start).collect();
        Self {
            start: (!starts.is_empty()).then(|| median(starts, Ord::cmp)),
            idle: number(|round| round.idle),
            per_session: number(|round| round.per_session),
            per_reader: number(|round| round.per_reader),
            first_event: times(|round| round.first_event),
            append_rate: number(|round| round.append_rate),
            fan_out_rate: number(|round| round.fan_out_rate),
            read_start: times(|round| round.read_start),
            read_middle: times(|round| round.read_middle),
            read_end: times(|round| round.read_end),
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
    fn percentiles_are_taken_from_the_sorted_times() {
        let times = Times::of((1..=100).rev().map(Duration::from_millis).collect());
        assert_eq!((times.p50, times.p99), (Duration::from_millis(51), Duration::from_millis(100)));
        assert_eq!(Times::of(Vec::new()), Times::default());
    }

    #[test]
    fn a_median_is_the_middle_one() {
        let round =
            |start: u64, idle: f64| Figures { start: Some(Duration::from_millis(start)), idle, ..Figures::default() };
        let medians = Figures::medians(&[round(30, 3.0), round(10, 1.0), round(20, 9.0)]);
        assert_eq!((medians.start, medians.idle), (Some(Duration::from_millis(20)), 3.0));
    }
}
