//! Measures the stream of many sessions beside the stream of one.
//!
//! Both have the same number of readers and of turns. In one measurement all turns belong to one session, in the other each
//! belongs to a session of its own, and every reader gets the events of all of them.

use std::time::Instant;

use anyhow::Result;
use tokio::task::JoinSet;

use crate::api::Api;
use crate::follower::Follower;
use crate::turns::{MESSAGE, measure_rate};

/// Number of clients that send messages to sessions at the same time.
const SENDERS: usize = 8;

/// Amount of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) sessions: usize,
    pub(crate) readers: u32,
}

impl Scale {
    pub(crate) const fn full() -> Self {
        Self { sessions: 1000, readers: 100 }
    }

    pub(crate) const fn quick() -> Self {
        Self { sessions: 100, readers: 10 }
    }
}

/// Events per second that reached all readers together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FanOut {
    pub(crate) one_session: f64,
    pub(crate) many_sessions: f64,
    /// Events per second of a reader that reads everything from the disk afterwards.
    pub(crate) stored: f64,
}

impl FanOut {
    /// The round with the median rate of many sessions.
    pub(crate) fn median(rounds: &mut [Self]) -> Self {
        rounds.sort_by(|a, b| a.many_sessions.total_cmp(&b.many_sessions));
        rounds.get(rounds.len() / 2).copied().unwrap_or_default()
    }
}

/// Measures one round. The sessions are not deleted.
pub(crate) async fn measure(api: &Api, scale: Scale) -> Result<FanOut> {
    eprintln!("  one session, {} readers", scale.readers);
    let turns = u32::try_from(scale.sessions)?;
    let one_session = measure_rate(api, "one-session", turns, scale.readers).await?;
    eprintln!("  {} sessions, {} readers", scale.sessions, scale.readers);
    let ids: Vec<String> = (0..scale.sessions).map(|number| format!("many-{number}")).collect();
    for id in &ids {
        api.create_mock_session(id).await?;
    }
    let mut readers = JoinSet::new();
    for _ in 0..scale.readers {
        let mut follower: Follower = api.follow_all("latest").await?;
        readers.spawn(async move {
            follower.wait_for_turns(turns.into()).await?;
            anyhow::Ok(follower.events())
        });
    }
    let start = Instant::now();
    let mut senders = JoinSet::new();
    for share in ids.chunks(ids.len().div_ceil(SENDERS)) {
        let (api, share) = (api.clone(), share.to_vec());
        senders.spawn(async move {
            for id in share {
                api.send_message(&id, MESSAGE).await?;
            }
            anyhow::Ok(())
        });
    }
    let mut events = 0;
    while let Some(read) = readers.join_next().await {
        events += read??;
    }
    let many_sessions = rate(events, start);
    while let Some(sent) = senders.join_next().await {
        sent??;
    }
    let start = Instant::now();
    let mut follower = api.follow_all("").await?;
    follower.wait_for_turns(2 * u64::from(turns)).await?;
    Ok(FanOut { one_session, many_sessions, stored: rate(follower.events(), start) })
}

#[allow(clippy::cast_precision_loss, reason = "there are fewer than 2^52 events")]
fn rate(events: u64, start: Instant) -> f64 {
    events as f64 / start.elapsed().as_secs_f64()
}
