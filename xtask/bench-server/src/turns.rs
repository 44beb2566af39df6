//! How fast turns go.

use std::time::Instant;

use anyhow::Result;
use tokio::task::JoinSet;

use crate::api::Api;
use crate::figures::Times;
use crate::follower::Follower;

/// What the mock agent answers with a message in several pieces.
pub(crate) const MESSAGE: &str = "markdown";

/// From sending a message to the first event that another connection gets of its turn.
pub(crate) async fn first_event(api: &Api, id: &str, messages: u32) -> Result<Times> {
    api.create(id).await?;
    let mut follower = api.follow(id, api.event_count(id).await?).await?;
    let mut times = Vec::new();
    for _ in 0..messages {
        let turns = follower.turns_ended();
        let began = Instant::now();
        let sending = tokio::spawn({
            let (api, id) = (api.clone(), id.to_owned());
            async move { api.send(&id, MESSAGE).await }
        });
        follower.something().await?;
        times.push(began.elapsed());
        follower.turns(turns + 1).await?;
        sending.await??;
    }
    Ok(Times::of(times))
}

/// Events a second that reach so many readers of a session, all of them together, while turns go as fast as they can.
pub(crate) async fn rate(api: &Api, id: &str, turns: u32, audience: u32) -> Result<f64> {
    api.create(id).await?;
    let start = api.event_count(id).await?;
    let mut readers = JoinSet::new();
    for _ in 0..audience {
        let mut follower: Follower = api.follow(id, start).await?;
        readers.spawn(async move {
            follower.turns(turns.into()).await?;
            anyhow::Ok(follower.events())
        });
    }
    let began = Instant::now();
    for _ in 0..turns {
        api.send(id, MESSAGE).await?;
    }
    let mut events = 0;
    while let Some(read) = readers.join_next().await {
        events += read??;
    }
    #[allow(clippy::cast_precision_loss, reason = "there are fewer than 2^52 events")]
    let events = events as f64;
    Ok(events / began.elapsed().as_secs_f64())
}
