//! Measures servers that share a store in Postgres, beside one server with `SQLite`, in the same run.
//!
//! Appends: sessions on all servers stream text at the same time, as fast as they can. Fan-out: many readers on each
//! server follow one session. Latency: from the time of an event to its arrival at a reader of the server that appends
//! it, and at a reader of another server.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use interlingua_client::{CreateSessionRequest, EventQuery, Frame};
use interlingua_schema::Timestamp;
use interlingua_test_postgres::Cluster;
use serde::Deserialize;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::api::Api;
use crate::metrics::Latency;
use crate::process::Server;

/// Number of deltas of a turn: one event each.
const DELTAS_PER_TURN: usize = 500;
/// A delta, of the size of those of real agents.
const DELTA: &str = "a piece of text of some words, ";
/// Pause between two lines of the agent whose latency is measured.
const PACE_MS: u64 = 4;

/// Amount of work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Number of sessions that append at the same time, on all servers together.
    pub(crate) sessions: usize,
    /// Number of turns of each.
    pub(crate) turns: usize,
    /// Number of readers of each server.
    pub(crate) readers: usize,
    /// Number of turns that are followed by the readers.
    pub(crate) followed_turns: usize,
    /// Number of events whose latency is measured.
    pub(crate) timed_events: usize,
}

impl Scale {
    pub(crate) const fn full() -> Self {
        Self { sessions: 30, turns: 20, readers: 1000, followed_turns: 2, timed_events: 2000 }
    }

    pub(crate) const fn quick() -> Self {
        Self { sessions: 6, turns: 3, readers: 20, followed_turns: 1, timed_events: 200 }
    }
}

/// What was measured of one store.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FleetMetrics {
    /// Events per second that were appended, on all servers together.
    pub(crate) append_rate: f64,
    /// Events per second that reached all readers together.
    pub(crate) fan_out_rate: f64,
    /// From the time of an event to a reader of the server that appends it.
    pub(crate) same_server: Latency,
    /// From the time of an event to a reader of another server; `None` with one server.
    pub(crate) other_server: Option<Latency>,
}

/// Measures this number of servers that share a new store in Postgres.
pub(crate) async fn measure_postgres(program: &Path, servers: usize, scale: Scale) -> Result<FleetMetrics> {
    // As it would run in production: commits wait for the disk.
    let settings = [("fsync", "on"), ("full_page_writes", "on"), ("shared_buffers", "512MB"), ("max_wal_size", "4GB")];
    let cluster = Cluster::start(&settings).context("Postgres is not installed")?;
    let url = cluster.schema_url("bench");
    let folder = tempfile::tempdir()?;
    let mut fleet = Vec::new();
    for number in 0..servers {
        let name = format!("server-{number}");
        let arguments = ["--server-name", &name, "--store", &url];
        fleet.push(start(program, &folder, &name, &arguments).await?);
    }
    measure(fleet, scale).await
}

/// Measures one server with `SQLite`.
pub(crate) async fn measure_sqlite(program: &Path, scale: Scale) -> Result<FleetMetrics> {
    let folder = tempfile::tempdir()?;
    let server = start(program, &folder, "server", &[]).await?;
    measure(vec![server], scale).await
}

/// Starts a server whose mock agent streams text.
async fn start(program: &Path, folder: &TempDir, name: &str, arguments: &[&str]) -> Result<Server> {
    let data_dir = folder.path().join(name);
    std::fs::create_dir(&data_dir)?;
    let scenario = data_dir.join("scenario.toml");
    let deltas = vec![format!("{DELTA:?}"); DELTAS_PER_TURN].join(", ");
    std::fs::write(&scenario, format!("[[turn]]\non = \"stream\"\nstep = [{{ stream = [{deltas}] }}]\n"))?;
    let scenario = scenario.to_str().context("the path of the folder is not UTF-8")?;
    let arguments: Vec<&str> = arguments.iter().copied().chain(["--mock-scenario", scenario]).collect();
    Server::start_in_with(program, &data_dir, &arguments).await
}

async fn measure(servers: Vec<Server>, scale: Scale) -> Result<FleetMetrics> {
    let apis = servers.iter().map(|server| Api::new(&server.base, None)).collect::<Result<Vec<_>>>()?;
    let metrics = FleetMetrics {
        append_rate: measure_appends(&apis, scale).await?,
        fan_out_rate: measure_fan_out(&apis, scale).await?,
        same_server: measure_latency(&apis, 0, scale).await?,
        other_server: match apis.len() {
            1 => None,
            _ => Some(measure_latency(&apis, 1, scale).await?),
        },
    };
    for server in servers {
        server.stop().await?;
    }
    Ok(metrics)
}

/// Streams text in many sessions at the same time.
async fn measure_appends(apis: &[Api], scale: Scale) -> Result<f64> {
    eprintln!("  appends of {} sessions on {} servers", scale.sessions, apis.len());
    let mut sessions = Vec::new();
    for number in 0..scale.sessions {
        let (api, id) = (&apis[number % apis.len()], format!("append-{number}"));
        api.create_mock_session(&id).await?;
        sessions.push((api.clone(), id));
    }
    let start = Instant::now();
    let mut running = JoinSet::new();
    for (api, id) in sessions {
        running.spawn(async move {
            let before = api.event_count(&id).await?;
            for _ in 0..scale.turns {
                api.send_message(&id, "stream").await?;
            }
            api.wait_until_idle(&id).await?;
            anyhow::Ok(api.event_count(&id).await? - before)
        });
    }
    let mut events = 0;
    while let Some(appended) = running.join_next().await {
        events += appended??;
    }
    Ok(rate(events, start))
}

/// Follows one session with many readers on every server.
async fn measure_fan_out(apis: &[Api], scale: Scale) -> Result<f64> {
    eprintln!("  {} readers on each of {} servers", scale.readers, apis.len());
    apis[0].create_mock_session("fan-out").await?;
    let mut readers = JoinSet::new();
    for api in apis {
        for _ in 0..scale.readers {
            let mut follower = api.follow("fan-out", 0).await?;
            readers.spawn(async move {
                follower.wait_for_turns(scale.followed_turns as u64).await?;
                anyhow::Ok(follower.events())
            });
        }
    }
    let start = Instant::now();
    for _ in 0..scale.followed_turns {
        apis[0].send_message("fan-out", "stream").await?;
    }
    let mut events = 0;
    while let Some(read) = readers.join_next().await {
        events += read??;
    }
    Ok(rate(events, start))
}

/// Times the events of a session that streams slowly, as they arrive at a reader of a server. The first server appends.
async fn measure_latency(apis: &[Api], reader: usize, scale: Scale) -> Result<Latency> {
    eprintln!("  latency at server {reader} of {}", apis.len());
    let id = format!("latency-{reader}");
    let mut create = CreateSessionRequest::new("mock");
    create.env.insert("INTERLINGUA_MOCK_PACE_MS".to_owned(), PACE_MS.to_string());
    apis[0].create_session(&id, &create).await?;
    let mut frames = apis[reader].client().event_frames(&id, EventQuery::default()).await?;
    for _ in 0..scale.timed_events.div_ceil(DELTAS_PER_TURN) {
        apis[0].send_message(&id, "stream").await?;
    }
    let mut latencies = Vec::with_capacity(scale.timed_events);
    while latencies.len() < scale.timed_events {
        let Some(frame) = frames.next().await? else { bail!("the event stream ended") };
        let Frame::Event(event) = frame else { continue };
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let event: TimedEvent = serde_json::from_slice(&event.data)?;
        if event.kind == "item.delta" {
            let made = Duration::from_millis(u64::try_from(event.time.as_millis())?);
            latencies.push(now.saturating_sub(made));
        }
    }
    Ok(Latency::new(latencies))
}

/// The fields of an event that are needed to time it.
#[derive(Deserialize)]
struct TimedEvent {
    #[serde(rename = "type")]
    kind: String,
    time: Timestamp,
}

#[allow(clippy::cast_precision_loss, reason = "there are fewer than 2^52 events")]
fn rate(events: u64, start: Instant) -> f64 {
    events as f64 / start.elapsed().as_secs_f64()
}

/// A row of the table: its name, the value, how that is written, and the target.
type Row<'a> = (String, &'a dyn Fn(&FleetMetrics) -> f64, &'a dyn Fn(f64) -> String, &'a str);

/// Prints what was measured of both stores, with the targets of servers that share one.
pub(crate) fn print(sqlite: &[FleetMetrics], postgres: &[FleetMetrics], servers: usize, scale: Scale) {
    let median = |metrics: &[FleetMetrics], value: &dyn Fn(&FleetMetrics) -> f64| {
        let mut values: Vec<f64> = metrics.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let millis = |duration: Duration| duration.as_secs_f64() * 1000.0;
    let number = |value: f64, unit: &str| format!("{value:.0} {unit}");
    let latency = |value: f64| format!("{value:.1} ms");
    let readers = scale.readers;
    println!("{:<44}{:>20}{:>22}  target", "metric", "SQLite, 1 server", format!("Postgres, {servers} servers"));
    let rows: [Row<'_>; 6] = [
        ("appended".to_owned(), &|m| m.append_rate, &|value| number(value, "events/s"), "20,000 events/s"),
        (
            format!("fan-out, {readers} readers on each server"),
            &|m| m.fan_out_rate,
            &|value| number(value, "events/s"),
            "1,000 readers",
        ),
        ("event to reader, same server, p50".to_owned(), &|m| millis(m.same_server.p50), &latency, ""),
        ("event to reader, same server, p99".to_owned(), &|m| millis(m.same_server.p99), &latency, ""),
        (
            "event to reader, other server, p50".to_owned(),
            &|m| m.other_server.map_or(f64::NAN, |l| millis(l.p50)),
            &latency,
            "< 15 ms",
        ),
        (
            "event to reader, other server, p99".to_owned(),
            &|m| m.other_server.map_or(f64::NAN, |l| millis(l.p99)),
            &latency,
            "",
        ),
    ];
    for (name, value, format, target) in rows {
        let show = |metrics: &[FleetMetrics]| {
            let value = median(metrics, value);
            if value.is_nan() { "-".to_owned() } else { format(value) }
        };
        println!("{}", format!("{name:<44}{:>20}{:>22}  {target}", show(sqlite), show(postgres)).trim_end());
    }
    println!("median of {} rounds; {} sessions append at the same time", postgres.len(), scale.sessions);
}
