//! Three servers, fifty sessions, and random crashes: whatever happens, the log has no gap, no duplicate, and no event
//! that was seen and then gone.
//!
//! `FLEET_CHECK_SECONDS` sets how long the run takes; the default is short.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use interlingua_client::{Client, EventQuery, Frame, MessageRequest};
use interlingua_test_postgres::Cluster;
use tokio::sync::Mutex;

use super::history::History;
use super::node::{Node, NodeOptions};

const SERVERS: usize = 3;
const SESSIONS: usize = 50;
const DEFAULT_SECONDS: u64 = 12;
/// Duration of the leases.
const LEASE: Duration = Duration::from_millis(1500);
/// How long all sessions may take to be idle after the last fault.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);

/// A number that looks random, from 0 to `limit - 1`.
fn random(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*state >> 33).unwrap() % limit
}

/// The run: its servers, which come and go, and what its clients saw.
struct Run {
    clients: Mutex<Vec<Client>>,
    history: History,
    is_over: AtomicBool,
}

impl Run {
    async fn client(&self, state: &mut u64) -> Client {
        let clients = self.clients.lock().await;
        clients[random(state, clients.len())].clone()
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }

    /// Sends messages to a session at any server, each until it is acknowledged.
    async fn write(&self, session: String, mut state: u64) {
        for number in 0.. {
            if self.is_over() {
                return;
            }
            let text = format!("echo {session} {number}{}", " word".repeat(random(&mut state, 30)));
            let request = MessageRequest::new(&text).id(format!("m{number}"));
            loop {
                let client = self.client(&mut state).await;
                let sent = tokio::time::timeout(Duration::from_secs(10), client.send_message(&session, &request)).await;
                if matches!(sent, Ok(Ok(()))) {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            self.history.acknowledge(&session, &text);
            tokio::time::sleep(Duration::from_millis(20 + random(&mut state, 400) as u64)).await;
        }
    }

    /// Follows a session at any server, and goes on at another one when the connection is lost.
    async fn read(&self, session: String, mut state: u64) {
        let mut last = 0;
        while !self.is_over() {
            let client = self.client(&mut state).await;
            let Ok(mut frames) = client.event_frames(&session, EventQuery::after(last)).await else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            // Also changes the server while all is well.
            let until = Instant::now() + Duration::from_millis(500 + random(&mut state, 4000) as u64);
            loop {
                let left = until.saturating_duration_since(Instant::now());
                match tokio::time::timeout(left, frames.next()).await {
                    Ok(Ok(Some(Frame::Event(event)))) => {
                        let json = String::from_utf8(event.data).unwrap();
                        self.history.observe(&session, last + 1, &json);
                        last += 1;
                    }
                    Ok(Ok(Some(_))) => {}
                    Ok(Ok(None) | Err(_)) | Err(_) => break,
                }
            }
        }
    }
}

/// What goes wrong.
#[derive(Clone, Copy)]
enum Fault {
    /// A server is killed, and started again.
    Kill,
    /// A server is stopped for longer than its lease, and goes on.
    Pause,
    /// All processes of the database are killed, and it is started again.
    Crash,
}

/// The faults in the order in which they are made, again and again, at random times and on random servers.
const FAULTS: [Fault; 7] =
    [Fault::Kill, Fault::Pause, Fault::Crash, Fault::Kill, Fault::Pause, Fault::Kill, Fault::Kill];

/// Makes faults until the time is over. Returns how many of each kind.
async fn make_faults(run: &Run, nodes: &mut [Option<Node>], cluster: &mut Cluster, time: Duration) -> [usize; 3] {
    let (mut state, mut count) = (7, [0; 3]);
    let end = Instant::now() + time;
    for fault in FAULTS.iter().cycle() {
        if Instant::now() >= end {
            break;
        }
        count[*fault as usize] += 1;
        tokio::time::sleep(Duration::from_millis(300 + random(&mut state, 1200) as u64)).await;
        let victim = random(&mut state, SERVERS);
        match fault {
            Fault::Kill => {
                let killed = nodes[victim].take().unwrap();
                let node = tokio::task::block_in_place(|| killed.restart());
                run.clients.lock().await[victim] = node.client.clone();
                nodes[victim] = Some(node);
            }
            Fault::Pause => {
                let node = nodes[victim].as_ref().unwrap();
                node.signal("STOP");
                tokio::time::sleep(LEASE + Duration::from_millis(random(&mut state, 2000) as u64)).await;
                node.signal("CONT");
            }
            Fault::Crash => tokio::task::block_in_place(|| {
                cluster.kill();
                std::thread::sleep(Duration::from_millis(200));
                cluster.restart();
            }),
        }
    }
    count
}

/// Waits until no session has anything to do.
async fn settle(client: &Client) {
    let deadline = Instant::now() + SETTLE_TIMEOUT;
    loop {
        let path = "/v1/sessions?state=running";
        let busy = async {
            let response = client.request(reqwest::Method::GET, path).send().await.ok()?;
            response.json::<serde_json::Value>().await.ok()?["total"].as_u64()
        };
        match busy.await {
            Some(0) => return,
            busy => assert!(Instant::now() < deadline, "{busy:?} sessions still run"),
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_fault_leaves_a_gap_a_duplicate_or_a_lost_event() {
    let Some(mut cluster) = Cluster::start(&[]) else { return };
    let seconds = std::env::var("FLEET_CHECK_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(DEFAULT_SECONDS));
    let url = cluster.schema_url("checker");
    let lease_ms = u64::try_from(LEASE.as_millis()).unwrap();
    let options = |index: usize| {
        let name = format!("server-{index}");
        NodeOptions { lease_ms, pace_ms: 2, ..NodeOptions::new(&url, &name) }
    };
    let mut nodes: Vec<Option<Node>> = (0..SERVERS).map(|index| Some(Node::start(&options(index)))).collect();
    let clients: Vec<Client> = nodes.iter().flatten().map(|node| node.client.clone()).collect();
    let sessions: Vec<String> = (0..SESSIONS).map(|index| format!("s{index}")).collect();
    for (index, session) in sessions.iter().enumerate() {
        nodes[index % SERVERS].as_ref().unwrap().create(session).await;
    }
    let run =
        Arc::new(Run { clients: Mutex::new(clients), history: History::default(), is_over: AtomicBool::new(false) });
    let mut tasks = tokio::task::JoinSet::new();
    for (index, session) in sessions.iter().enumerate() {
        let (writing, reading) = (Arc::clone(&run), Arc::clone(&run));
        let (for_writer, for_reader, seed) = (session.clone(), session.clone(), index as u64);
        tasks.spawn(async move { writing.write(for_writer, seed).await });
        tasks.spawn(async move { reading.read(for_reader, seed + 1000).await });
    }
    let faults = make_faults(&run, &mut nodes, &mut cluster, time).await;
    run.is_over.store(true, Ordering::SeqCst);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap();
    }
    let clients = run.clients.lock().await.clone();
    settle(&clients[0]).await;
    let run = Arc::into_inner(run).unwrap();
    let (messages, reads) = (run.history.acknowledged(), run.history.reads());
    let violations = run.history.check(&sessions, &clients).await;
    let [kills, pauses, crashes] = faults;
    println!(
        "{kills} kills, {pauses} pauses, {crashes} crashes of the database; {messages} messages acknowledged, {reads} \
         events read; {} violations",
        violations.len()
    );
    assert_eq!(violations, Vec::<String>::new());
    assert!(messages > SESSIONS && reads > 100, "the run was too short to show anything");
}
