//! Measuring time.

use std::time::{Duration, Instant};

use crate::Corpus;

/// Number of rounds. The tasks alternate, and the fastest round of each counts, so that other load on the machine matters
/// little.
const ROUNDS: usize = 15;
/// Minimum number of bytes per round, so that a round takes long enough to be timed.
const BYTES_PER_ROUND: usize = 8 << 20;

/// The time that each task takes for the corpus.
pub(crate) fn measure(corpus: &mut Corpus) -> Vec<Duration> {
    let repeat = u32::try_from(BYTES_PER_ROUND.div_ceil(corpus.bytes.max(1))).unwrap_or(u32::MAX);
    let mut fastest = vec![Duration::MAX; corpus.tasks.len()];
    for _ in 0..ROUNDS {
        for (task, fastest) in corpus.tasks.iter_mut().zip(&mut fastest) {
            let start = Instant::now();
            for _ in 0..repeat {
                (task.work)();
            }
            *fastest = (*fastest).min(start.elapsed() / repeat);
        }
    }
    fastest
}
