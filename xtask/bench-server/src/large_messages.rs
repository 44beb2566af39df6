//! Large messages, all at once: how long health requests wait meanwhile, and how much memory the server needs.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use tokio::time::timeout;

use crate::api::Api;
use crate::memory::peak_memory;
use crate::metrics::Latency;
use crate::process::Server;

const MESSAGES: usize = 8;
const MESSAGE_BYTES: usize = 31 << 20;
/// The longest that a health request may take meanwhile.
const MAX_HEALTH: Duration = Duration::from_millis(50);
/// The most memory that the server may use, in KiB.
const MAX_PEAK: u64 = 400 << 10;
/// How long all turns may take.
const TURN_TIMEOUT: Duration = Duration::from_secs(300);
/// Interval between two health requests.
const HEALTH_INTERVAL: Duration = Duration::from_millis(2);

/// The values of one round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LargeMessages {
    health: Latency,
    health_max: Duration,
    /// Highest memory in KiB.
    peak: u64,
    /// Time until all turns had ended.
    total: Duration,
}

/// Sends the messages to a new server, each to a session of its own, and waits for their turns.
pub(crate) async fn measure(program: &Path) -> Result<LargeMessages> {
    let server = Server::start(program).await?;
    let api = Api::new(&server.base, None)?;
    let started = Instant::now();
    let mut turns = Vec::new();
    for index in 0..MESSAGES {
        turns.push(tokio::spawn(run_turn(api.clone(), format!("large-{index}"))));
    }
    let address = server.base.trim_start_matches("http://").to_owned();
    let done = Arc::new(AtomicBool::new(false));
    let poller = std::thread::spawn({
        let done = Arc::clone(&done);
        move || poll_health(&address, &done)
    });
    for turn in turns {
        turn.await??;
    }
    let total = started.elapsed();
    done.store(true, Ordering::Relaxed);
    let times = poller.join().map_err(|_| anyhow!("the thread that polls the server's health panicked"))??;
    let health_max = times.iter().max().copied().unwrap_or_default();
    let result = LargeMessages { health: Latency::new(times), health_max, peak: peak_memory(server.pid())?, total };
    server.stop().await?;
    Ok(result)
}

/// Measures health requests until the turns are done. Has its own thread, because sending the messages keeps those of
/// the async runtime busy.
fn poll_health(address: &str, done: &AtomicBool) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let asked = Instant::now();
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        stream.read_to_end(&mut Vec::new())?;
        times.push(asked.elapsed());
        std::thread::sleep(HEALTH_INTERVAL);
    }
    Ok(times)
}

async fn run_turn(api: Api, id: String) -> Result<()> {
    api.create_mock_session(&id).await?;
    let after = api.event_count(&id).await?;
    let mut follower = api.follow(&id, after).await?;
    api.send_message(&id, &format!("status {}", "large message ".repeat(MESSAGE_BYTES / 14))).await?;
    timeout(TURN_TIMEOUT, follower.wait_for_turns(1)).await.context("a turn with a large message did not end")?
}

/// Prints the values of all rounds, and whether they are within the bounds. Returns whether all of them are.
pub(crate) fn print(rounds: &[LargeMessages]) -> bool {
    println!("{MESSAGES} messages of {} MiB at once", MESSAGE_BYTES >> 20);
    println!("| health p50 | health p99 | health max | peak memory | all turns |");
    println!("|---|---|---|---|---|");
    for round in rounds {
        println!(
            "| {:.1?} | {:.1?} | {:.1?} | {} MiB | {:.1?} |",
            round.health.p50,
            round.health.p99,
            round.health_max,
            round.peak / 1024,
            round.total
        );
    }
    let health = rounds.iter().map(|round| round.health_max).max().unwrap_or_default();
    let peak = rounds.iter().map(|round| round.peak).max().unwrap_or_default();
    let (is_fast, is_small) = (health < MAX_HEALTH, peak < MAX_PEAK);
    let verdict = |passed| if passed { "passed" } else { "FAILED" };
    println!("{}: health requests take at most {health:.1?}, bound {MAX_HEALTH:?}", verdict(is_fast));
    println!("{}: memory is at most {} MiB, bound {} MiB", verdict(is_small), peak / 1024, MAX_PEAK / 1024);
    is_fast && is_small
}
