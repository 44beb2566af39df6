//! A long run with random kills of the server, and then without kills, in which its memory must not grow. Run by hand:
//! `SOAK_SECONDS=600 cargo test --release -p interlingua --test it -- soak --ignored --nocapture`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use interlingua_client::{CreateSessionRequest, EventQuery, MessageRequest, SessionState};
use tokio::sync::{RwLock, Semaphore};
use tokio::time::sleep;

use crate::server_process::{ServerProcess, check_rules};

const SESSIONS: usize = 200;
/// Interval of sessions that have a secret, which is lost with each kill.
const SECRET_EVERY: usize = 4;
const REQUEST_LIMIT: usize = 32;
/// Interval of the samples of the server's memory while it is not killed.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(500);
/// What the memory may grow by in a third of the time without kills: a share of it, and a number of MiB.
const MAX_GROWTH_PERCENT: u64 = 10;
const MAX_GROWTH_MIB: u64 = 4;

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

struct Soak {
    server: RwLock<ServerProcess>,
    permits: Semaphore,
    deadline: Instant,
    events: AtomicU64,
    supplied: AtomicU64,
}

/// What a client of one session has seen: events by sequence, and messages that the server has acknowledged.
#[derive(Default)]
struct Seen {
    events: Vec<String>,
    acknowledged: Vec<String>,
}

impl Soak {
    /// Reads the events that follow, and checks that none changes or is missing. False if the server is down.
    async fn read(&self, id: &str, seen: &mut Seen) -> bool {
        let client = self.server.read().await.client.clone();
        let query = EventQuery::after(seen.events.len() as u64).limit(1000);
        let Ok(page) = client.events(id, query).await else { return false };
        for event in page.events {
            assert_eq!(event.sequence, seen.events.len() as u64 + 1, "{id}: an event is lost");
            seen.events.push(serde_json::to_string(&event).unwrap());
            self.events.fetch_add(1, Ordering::Relaxed);
        }
        true
    }

    async fn hand_in(&self, id: &str) {
        let client = self.server.read().await.client.clone();
        let Ok(info) = client.session(id).await else { return };
        if info.state == SessionState::NeedsSecrets {
            let server = self.server.read().await;
            let mut command =
                tokio::process::Command::from(server.sessions_command(&["secrets", id, "--env", "SOAK_SECRET"]));
            drop(server);
            let supplied = command.env("SOAK_SECRET", "value").output().await.unwrap();
            self.supplied.fetch_add(u64::from(supplied.status.success()), Ordering::Relaxed);
        }
    }

    /// One client: creates its session, sends messages, and reads until the deadline.
    async fn run_client(&self, number: usize) -> (String, Seen) {
        let (id, mut seen, mut random) = (format!("soak-{number}"), Seen::default(), Random(number as u64));
        let mut create = CreateSessionRequest::new("mock");
        if number.is_multiple_of(SECRET_EVERY) {
            create.env = BTreeMap::from([("SOAK_SECRET".to_owned(), "value".to_owned())]);
        }
        loop {
            let client = self.server.read().await.client.clone();
            match client.create_session(&id, &create).await {
                Ok(_) => break,
                // Created by a request whose answer was lost.
                Err(error) if error.problem().is_some_and(|problem| problem.status == 409) => break,
                Err(_) => sleep(Duration::from_millis(20)).await,
            }
        }
        while Instant::now() < self.deadline {
            let permit = self.permits.acquire().await.unwrap();
            let text = format!("{id} says {}", seen.acknowledged.len());
            let message = MessageRequest::new(format!("echo {text}"));
            let client = self.server.read().await.client.clone();
            if client.send_message(&id, &message).await.is_ok() {
                seen.acknowledged.push(text);
            }
            if number.is_multiple_of(SECRET_EVERY) {
                self.hand_in(&id).await;
            }
            self.read(&id, &mut seen).await;
            drop(permit);
            sleep(Duration::from_millis(random.below(1500))).await;
        }
        (id, seen)
    }
}

fn resident_mib(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? / 1024)
}

/// Samples the memory of the server until the deadline. The first third is not looked at: the sessions are loaded, and
/// caches are filled. The last third must not have more than the second one.
async fn check_memory_is_flat(soak: &Soak) {
    let mut samples = Vec::new();
    while Instant::now() < soak.deadline {
        samples.extend(resident_mib(soak.server.read().await.pid()));
        sleep(SAMPLE_INTERVAL).await;
    }
    println!("resident memory without kills in MiB, every {SAMPLE_INTERVAL:?}: {samples:?}");
    let third = samples.len() / 3;
    assert!(third > 0, "the run is too short");
    let median = |samples: &[u64]| {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    };
    let (before, after) = (median(&samples[third..2 * third]), median(&samples[2 * third..]));
    println!("median of the second third: {before} MiB, of the last one: {after} MiB");
    assert!(after <= before + before * MAX_GROWTH_PERCENT / 100 + MAX_GROWTH_MIB, "the server's memory grows");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes 1.5 times SOAK_SECONDS; run by hand"]
async fn nothing_is_lost_in_a_long_run_with_random_kills() {
    let seconds = std::env::var("SOAK_SECONDS").map_or(30, |seconds| seconds.parse().unwrap());
    let kills_end = Instant::now() + Duration::from_secs(seconds);
    let dir = tempfile::tempdir().unwrap();
    let soak = Arc::new(Soak {
        server: RwLock::new(ServerProcess::start(dir.path(), &["--log", "warn"])),
        permits: Semaphore::new(REQUEST_LIMIT),
        deadline: kills_end + Duration::from_secs(seconds / 2),
        events: AtomicU64::new(0),
        supplied: AtomicU64::new(0),
    });
    let clients: Vec<_> = (0..SESSIONS)
        .map(|number| {
            let soak = Arc::clone(&soak);
            tokio::spawn(async move { soak.run_client(number).await })
        })
        .collect();
    let (mut random, mut kills, mut memory) = (Random(7), 0, Vec::new());
    while Instant::now() < kills_end {
        sleep(Duration::from_millis(3000 + random.below(9000))).await;
        let mut server = soak.server.write().await;
        memory.push(resident_mib(server.pid()).unwrap_or_default());
        server.signal("KILL");
        server.wait();
        *server = ServerProcess::start(dir.path(), &["--log", "warn"]);
        kills += 1;
    }
    check_memory_is_flat(&soak).await;
    let mut sessions = Vec::new();
    for client in clients {
        sessions.push(client.await.unwrap());
    }
    let mut acknowledged = 0;
    for (id, mut seen) in sessions {
        // The queue goes on until every acknowledged message has had its turn.
        let last = seen.acknowledged.last().cloned().unwrap_or_default();
        let gives_up = Instant::now() + Duration::from_secs(120);
        let has_turn =
            |seen: &Seen| last.is_empty() || seen.events.iter().any(|event| event.contains(&format!("{last}\"")));
        while !has_turn(&seen) {
            assert!(Instant::now() < gives_up, "{id}: the message `{last}` has no turn");
            soak.hand_in(&id).await;
            soak.read(&id, &mut seen).await;
            sleep(Duration::from_millis(20)).await;
        }
        for text in &seen.acknowledged {
            let is_shown = seen.events.iter().any(|event| event.contains(&format!("{text}\"")));
            assert!(is_shown, "{id}: the message `{text}` is lost");
        }
        acknowledged += seen.acknowledged.len();
        check_rules(&seen.events);
        // What a client has seen is still there, unchanged.
        let known = std::mem::take(&mut seen.events);
        while seen.events.len() < known.len() {
            assert!(soak.read(&id, &mut seen).await, "{id}: cannot read the events again");
        }
        assert_eq!(seen.events[..known.len()], known[..], "{id}: events have changed");
    }
    let (events, supplied) = (soak.events.load(Ordering::Relaxed), soak.supplied.load(Ordering::Relaxed));
    println!("{seconds} s, {kills} kills, {acknowledged} messages, {events} events read, {supplied} secrets supplied");
    println!("resident memory before each kill in MiB: {memory:?}");
}
