//! How the ids of events are counted, beside writing each number with `itoa`, on the same numbers in the same run.

use std::hint::black_box;
use std::time::{Duration, Instant};

use interlingua_convert::{CountingIds, IdSource};

/// Rounds; the two take turns, and the fastest of each counts, so that a busy machine matters little.
const ROUNDS: usize = 200;
/// Ids per round.
const IDS: u32 = 20_000;

fn main() {
    let (mut counting, mut itoa) = (CountingIds::default(), Itoa { text: "evt_".to_owned(), number: 0 });
    for _ in 0..=IDS {
        assert_eq!(counting.next_event_id(), itoa.event());
    }
    let (mut counted, mut written) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let mut ids = CountingIds::default();
        counted = counted.min(timed(|| ids.next_event_id().len()));
        let mut ids = Itoa { text: "evt_".to_owned(), number: 0 };
        written = written.min(timed(|| ids.event().len()));
    }
    println!("{:<12} {:>7} {:>7}", "ids", "ns/id", "ratio");
    for (name, time) in [("CountingIds", counted), ("itoa", written)] {
        let nanoseconds = time.as_secs_f64() * 1e9 / f64::from(IDS);
        println!("{name:<12} {nanoseconds:>7.1} {:>7.2}", time.as_secs_f64() / counted.as_secs_f64());
    }
}

fn timed(mut next: impl FnMut() -> usize) -> Duration {
    let start = Instant::now();
    for _ in 0..IDS {
        black_box(next());
    }
    start.elapsed()
}

struct Itoa {
    text: String,
    number: u64,
}

impl Itoa {
    fn event(&mut self) -> &str {
        const ZEROS: &str = "000000";
        self.number += 1;
        let mut buffer = itoa::Buffer::new();
        let digits = buffer.format(self.number);
        self.text.truncate("evt_".len());
        self.text.push_str(ZEROS.get(digits.len()..).unwrap_or_default());
        self.text.push_str(digits);
        &self.text
    }
}
