//! One round of measurements.

use anyhow::Result;

use crate::api::Api;
use crate::figures::Figures;
use crate::{memory, reading, turns};

/// How much is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub(crate) idle_sessions: u32,
    pub(crate) readers: u32,
    /// Messages whose first event is waited for.
    pub(crate) messages: u32,
    /// Turns that are streamed as fast as they go.
    pub(crate) turns: u32,
    /// Readers that share a session.
    pub(crate) audience: u32,
    /// Events of the long session.
    pub(crate) long_session: u64,
    /// Pages that are read at each place of it.
    pub(crate) pages: u32,
    /// Lines of a recording that is played through an agent's stand-in.
    pub(crate) lines: usize,
}

impl Scale {
    pub(crate) const fn whole() -> Self {
        Self {
            idle_sessions: 1000,
            readers: 1000,
            messages: 500,
            turns: 500,
            audience: 50,
            long_session: 30_000,
            pages: 200,
            lines: 40_000,
        }
    }

    pub(crate) const fn tenth() -> Self {
        Self {
            idle_sessions: 100,
            readers: 100,
            messages: 50,
            turns: 50,
            audience: 5,
            long_session: 3000,
            pages: 20,
            lines: 4000,
        }
    }
}

/// Measures a server that runs. Sessions are named after the round and removed afterwards.
pub(crate) async fn measure(api: &Api, pid: u32, number: usize, scale: Scale) -> Result<Figures> {
    let name = |what: &str| format!("bench-{}-{number}-{what}", std::process::id());
    let mut figures = Figures { idle: kib(memory::settled(pid).await?), ..Figures::default() };

    eprintln!("  idle sessions");
    warm_up(api, &name("warm-up")).await?;
    let before = memory::settled(pid).await?;
    for index in 0..scale.idle_sessions {
        api.create(&name(&format!("idle-{index}"))).await?;
    }
    let after = memory::settled(pid).await?;
    figures.per_session = kib(after.saturating_sub(before)) / f64::from(scale.idle_sessions);

    eprintln!("  readers");
    let watched = name("watched");
    api.create(&watched).await?;
    let end = api.event_count(&watched).await?;
    let before = memory::settled(pid).await?;
    let mut readers = Vec::new();
    for _ in 0..scale.readers {
        readers.push(api.follow(&watched, end).await?);
    }
    let after = memory::settled(pid).await?;
    figures.per_reader = kib(after.saturating_sub(before)) / f64::from(scale.readers);
    drop(readers);

    eprintln!("  messages");
    figures.first_event = turns::first_event(api, &name("first"), scale.messages).await?;
    figures.append_rate = turns::rate(api, &name("append"), scale.turns, 1).await?;
    figures.fan_out_rate = turns::rate(api, &name("fan-out"), scale.turns / 5, scale.audience).await?;

    eprintln!("  a long session");
    let long = name("long");
    reading::grow(api, &long, scale.long_session).await?;
    let last = api.event_count(&long).await?;
    figures.read_start = reading::pages(api, &long, 0, scale.pages).await?;
    figures.read_middle = reading::pages(api, &long, last / 2, scale.pages).await?;
    figures.read_end = reading::pages(api, &long, last - reading::PAGE as u64, scale.pages).await?;

    for what in ["warm-up", "watched", "first", "append", "fan-out", "long"] {
        api.delete(&name(what)).await?;
    }
    for index in 0..scale.idle_sessions {
        api.delete(&name(&format!("idle-{index}"))).await?;
    }
    Ok(figures)
}

/// Has the server do everything once, so that what it allocates once is not taken for what a session costs.
async fn warm_up(api: &Api, id: &str) -> Result<()> {
    api.create(id).await?;
    let mut follower = api.follow(id, 0).await?;
    for turn in 1..=20 {
        api.send(id, turns::MESSAGE).await?;
        follower.turns(turn).await?;
    }
    api.events(id, 0, 1000).await.map(drop)
}

#[allow(clippy::cast_precision_loss, reason = "a process has fewer than 2^52 KiB")]
fn kib(kib: u64) -> f64 {
    kib as f64
}
