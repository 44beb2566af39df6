//! Measuring time.

use std::time::{Duration, Instant};

use crate::Corpus;

/// Minimum number of passes over the corpus. The tasks alternate, and the fastest pass of each counts.
const MIN_PASSES: usize = 25;
/// Minimum number of bytes that each task reads. A pass over a small corpus takes less than a time slice of the scheduler, so
/// with many passes some are not interrupted.
const MIN_BYTES: usize = 64 << 20;

/// The time that each task takes for the corpus.
pub(crate) fn measure(corpus: &mut Corpus) -> Vec<Duration> {
    let mut fastest = vec![Duration::MAX; corpus.tasks.len()];
    for _ in 0..(MIN_BYTES / corpus.bytes.max(1)).max(MIN_PASSES) {
        for (task, fastest) in corpus.tasks.iter_mut().zip(&mut fastest) {
            let start = Instant::now();
            (task.work)();
            *fastest = (*fastest).min(start.elapsed());
        }
    }
    fastest
}
