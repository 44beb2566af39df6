//! Histograms of durations.

use std::time::Duration;

/// Upper bounds of the buckets in seconds, from a request that is answered from memory to a turn of an hour.
const BOUNDS: [f64; 16] =
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0, 600.0, 1800.0, 3600.0];

/// How often durations of each size occurred.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    counts: [u64; BOUNDS.len()],
    /// Number of all durations, also of those beyond the last bound.
    count: u64,
    sum: Duration,
}

impl Histogram {
    /// Adds a duration.
    pub fn observe(&mut self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.counts[bucket] += 1;
        }
        self.count += 1;
        self.sum = self.sum.saturating_add(duration);
    }

    /// The upper bound of each bucket in seconds, and how many durations are not longer.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        let cumulative = self.counts.iter().scan(0, |total, count| {
            *total += count;
            Some(*total)
        });
        BOUNDS.into_iter().zip(cumulative)
    }

    /// Number of durations.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// All durations together.
    #[must_use]
    pub const fn sum(&self) -> Duration {
        self.sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_every_bucket_that_is_large_enough() {
        let mut histogram = Histogram::default();
        for millis in [1, 40, 40, 90_000, 10_000_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        let counts: Vec<u64> = histogram.buckets().map(|(_, count)| count).collect();
        assert_eq!(counts, [1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4]);
        assert_eq!((histogram.count(), histogram.sum()), (5, Duration::from_millis(10_090_081)));
    }
}
