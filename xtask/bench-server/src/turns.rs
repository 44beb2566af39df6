//! Measures how fast turns are.

use std::time::Instant;

use anyhow::Result;
use tokio::task::JoinSet;

use crate::api::Api;
use crate::follower::Follower;
use crate::metrics::Latency;

/// A message that the mock agent answers with several deltas.
pub(crate) const MESSAGE: &str = "markdown";

/// Measures the time from sending a message to the first event of its turn on another connection.
pub(crate) async fn measure_first_event(api: &Api, id: &str, messages: u32) -> Result<Latency> {
    api.create_mock_session(id).await?;
    let mut follower = api.follow(id, api.event_count(id).await?).await?;
    let mut samples = Vec::new();
    for _ in 0..messages {
        let turns = follower.ended_turns();
        let start = Instant::now();
        let sending = tokio::spawn({
            let (api, id) = (api.clone(), id.to_owned());
            async move { api.send_message(&id, MESSAGE).await }
        });
        follower.read_chunk().await?;
        samples.push(start.elapsed());
        follower.wait_for_turns(turns + 1).await?;
        sending.await??;
    }
    Ok(Latency::new(samples))
}

/// Measures the events per second that reach the readers of a session, summed over the readers. All messages are sent
/// without waiting for their turns.
pub(crate) async fn measure_rate(api: &Api, id: &str, turns: u32, reader_count: u32) -> Result<f64> {
    api.create_mock_session(id).await?;
    let offset = api.event_count(id).await?;
    let mut readers = JoinSet::new();
    for _ in 0..reader_count {
        let mut follower: Follower = api.follow(id, offset).await?;
        readers.spawn(async move {
            follower.wait_for_turns(turns.into()).await?;
            anyhow::Ok(follower.events())
        });
    }
    let start = Instant::now();
    for _ in 0..turns {
        api.send_message(id, MESSAGE).await?;
    }
    let mut events = 0;
    while let Some(read) = readers.join_next().await {
        events += read??;
    }
    #[allow(clippy::cast_precision_loss, reason = "there are fewer than 2^52 events")]
    let events = events as f64;
    Ok(events / start.elapsed().as_secs_f64())
}
