//! How fast a long session is read.

use std::time::Instant;

use anyhow::{Result, ensure};

use crate::api::Api;
use crate::figures::Times;
use crate::turns::MESSAGE;

/// So many events are read at once.
pub(crate) const PAGE: usize = 100;

/// Has a session grow to so many events.
pub(crate) async fn grow(api: &Api, id: &str, events: u64) -> Result<()> {
    api.create(id).await?;
    let mut follower = api.follow(id, 0).await?;
    let mut sent = 0;
    while follower.events() < events {
        // A few at a time, so that it stops soon after it has enough.
        for _ in 0..20 {
            api.send(id, MESSAGE).await?;
            sent += 1;
        }
        follower.turns(sent).await?;
    }
    Ok(())
}

/// Reads the page after an event so many times.
pub(crate) async fn pages(api: &Api, id: &str, after: u64, times: u32) -> Result<Times> {
    let found = api.events(id, after, PAGE).await?;
    ensure!(found == PAGE, "a page of {PAGE} events has {found}");
    let mut taken = Vec::new();
    for _ in 0..times {
        let began = Instant::now();
        api.fetch_events(id, after, PAGE).await?;
        taken.push(began.elapsed());
    }
    Ok(Times::of(taken))
}
