//! Measures how fast events of a long session are read.

use std::time::Instant;

use anyhow::{Result, ensure};

use crate::api::Api;
use crate::metrics::Latency;
use crate::turns::MESSAGE;

/// Number of events in a page.
pub(crate) const PAGE_LEN: usize = 100;

/// Messages that are sent before the number of events is checked. Few, so that the session is not much longer than
/// required.
const MESSAGE_BATCH: usize = 20;

/// Creates a session with at least this number of events.
pub(crate) async fn create_long_session(api: &Api, id: &str, events: u64) -> Result<()> {
    api.create_mock_session(id).await?;
    let mut follower = api.follow(id, 0).await?;
    let mut sent = 0;
    while follower.events() < events {
        for _ in 0..MESSAGE_BATCH {
            api.send_message(id, MESSAGE).await?;
            sent += 1;
        }
        follower.wait_for_turns(sent).await?;
    }
    Ok(())
}

/// Measures how long it takes to read the page after an event, this number of times.
pub(crate) async fn measure_page(api: &Api, id: &str, after: u64, repetitions: u32) -> Result<Latency> {
    let found = api.count_page(id, after, PAGE_LEN).await?;
    ensure!(found == PAGE_LEN, "expected a page of {PAGE_LEN} events, found {found}");
    let mut samples = Vec::new();
    for _ in 0..repetitions {
        let start = Instant::now();
        api.fetch_page(id, after, PAGE_LEN).await?;
        samples.push(start.elapsed());
    }
    Ok(Latency::new(samples))
}
