//! Counting of event ids, compared with writing each number with `itoa`. Both count the same numbers in the same run.

use std::hint::black_box;
use std::time::{Duration, Instant};

use interlingua_convert::{CountingIds, IdSource};

/// Number of rounds. The two alternate, and the fastest round of each counts, so that other load on the machine matters
/// little.
const ROUNDS: usize = 200;
/// Number of ids per round.
const IDS: u32 = 20_000;

fn main() {
    let (mut counting, mut itoa) = (CountingIds::default(), Itoa { text: "evt_".to_owned(), number: 0 });
    for _ in 0..=IDS {
        assert_eq!(counting.next_event_id(), itoa.next_id());
    }
    let (mut counted, mut written) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let mut ids = CountingIds::default();
        counted = counted.min(timed(|| ids.next_event_id().len()));
        let mut ids = Itoa { text: "evt_".to_owned(), number: 0 };
        written = written.min(timed(|| ids.next_id().len()));
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

/// Ids that are written with `itoa`.
struct Itoa {
    text: String,
    number: u64,
}

impl Itoa {
    fn next_id(&mut self) -> &str {
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
