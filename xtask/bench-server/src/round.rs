//! One round of measurements.

use anyhow::Result;

use crate::api::Api;
use crate::memory::settled_memory;
use crate::metrics::Metrics;
use crate::{reading, turns};

/// Amount of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Sessions for the memory of an idle session.
    pub(crate) idle_sessions: u32,
    /// Readers for the memory of a reader.
    pub(crate) readers: u32,
    /// Messages for the latency of the first event.
    pub(crate) messages: u32,
    /// Turns for the append rate.
    pub(crate) turns: u32,
    /// Readers of one session for the fan-out rate.
    pub(crate) fan_out_readers: u32,
    /// Events of the long session.
    pub(crate) long_session: u64,
    /// Pages that are read at each position of the long session.
    pub(crate) pages: u32,
    /// Lines of the recordings for the overhead.
    pub(crate) lines: usize,
}

impl Scale {
    pub(crate) const fn full() -> Self {
        Self {
            idle_sessions: 1000,
            readers: 1000,
            messages: 500,
            turns: 500,
            fan_out_readers: 50,
            long_session: 30_000,
            pages: 200,
            lines: 40_000,
        }
    }

    /// A tenth of the full scale.
    pub(crate) const fn quick() -> Self {
        Self {
            idle_sessions: 100,
            readers: 100,
            messages: 50,
            turns: 50,
            fan_out_readers: 5,
            long_session: 3000,
            pages: 20,
            lines: 4000,
        }
    }
}

/// Measures a running server. Session ids contain the number of the round, and the sessions are deleted at the end.
pub(crate) async fn measure(api: &Api, pid: u32, number: usize, scale: Scale) -> Result<Metrics> {
    let session_id = |name: &str| format!("bench-{}-{number}-{name}", std::process::id());
    let mut metrics = Metrics { idle_memory: kib(settled_memory(pid).await?), ..Metrics::default() };

    eprintln!("  idle sessions");
    warm_up(api, &session_id("warm-up")).await?;
    let before = settled_memory(pid).await?;
    for index in 0..scale.idle_sessions {
        api.create_mock_session(&session_id(&format!("idle-{index}"))).await?;
    }
    let after = settled_memory(pid).await?;
    metrics.session_memory = kib(after.saturating_sub(before)) / f64::from(scale.idle_sessions);

    eprintln!("  readers");
    let followed = session_id("followed");
    api.create_mock_session(&followed).await?;
    let end = api.event_count(&followed).await?;
    let before = settled_memory(pid).await?;
    let mut readers = Vec::new();
    for _ in 0..scale.readers {
        readers.push(api.follow(&followed, end).await?);
    }
    let after = settled_memory(pid).await?;
    metrics.reader_memory = kib(after.saturating_sub(before)) / f64::from(scale.readers);
    drop(readers);

    eprintln!("  messages");
    metrics.first_event = turns::measure_first_event(api, &session_id("first"), scale.messages).await?;
    metrics.append_rate = turns::measure_rate(api, &session_id("append"), scale.turns, 1).await?;
    metrics.fan_out_rate =
        turns::measure_rate(api, &session_id("fan-out"), scale.turns / 5, scale.fan_out_readers).await?;

    eprintln!("  a long session");
    let long = session_id("long");
    reading::create_long_session(api, &long, scale.long_session).await?;
    let last = api.event_count(&long).await?;
    metrics.read_start = reading::measure_page(api, &long, 0, scale.pages).await?;
    metrics.read_middle = reading::measure_page(api, &long, last / 2, scale.pages).await?;
    metrics.read_end = reading::measure_page(api, &long, last - reading::PAGE_LEN as u64, scale.pages).await?;

    for name in ["warm-up", "followed", "first", "append", "fan-out", "long"] {
        api.delete_session(&session_id(name)).await?;
    }
    for index in 0..scale.idle_sessions {
        api.delete_session(&session_id(&format!("idle-{index}"))).await?;
    }
    Ok(metrics)
}

/// Uses all parts of the server once, so that one-time allocations are not counted as memory of a session.
async fn warm_up(api: &Api, id: &str) -> Result<()> {
    api.create_mock_session(id).await?;
    let mut follower = api.follow(id, 0).await?;
    for turn in 1..=20 {
        api.send_message(id, turns::MESSAGE).await?;
        follower.wait_for_turns(turn).await?;
    }
    api.count_page(id, 0, 1000).await.map(drop)
}

#[allow(clippy::cast_precision_loss, reason = "a process has fewer than 2^52 KiB")]
fn kib(kib: u64) -> f64 {
    kib as f64
}
