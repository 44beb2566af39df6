//! What the check for agents costs a connection: the time of one request on a new connection, without agents and with 20
//! that run, from a process that connected before and from one that was just started. Fails if the check takes longer than
//! half a millisecond (median) in either case.
//!
//! `cargo bench -p interlingua-server --bench peer_check [-- PROGRAM]`. `PROGRAM` is a shell command that stands for an
//! agent and runs until its standard input is closed, by default a shell with one child. `node -e
//! "process.stdin.resume()"` has as many threads as a real agent.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use interlingua_client::{Client, CreateSessionRequest, MessageRequest};
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{LaunchConfig, Runtime, RuntimeOptions, Supervisor, drivers, has_running_agents, supervise};
use interlingua_server::{Access, ServerConfig, serve};
use interlingua_store::{Store, StoreOptions};
use tokio::net::TcpListener;

const AGENTS: usize = 20;
const REQUESTS: usize = 1000;
const NEW_PROCESSES: usize = 200;
/// The most that the check may cost.
const MAX_CHECK: Duration = Duration::from_micros(500);
const SUPERVISE: &str = "supervise";
const CONNECT: &str = "connect";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    if arguments.first().is_some_and(|first| first == SUPERVISE) {
        return supervise().expect("the supervisor failed");
    }
    if let [command, address] = arguments.as_slice()
        && command == CONNECT
    {
        return println!("{}", request(address.parse().unwrap()).as_nanos());
    }
    let script = arguments.first().map_or("cat <&3 >/dev/null & wait", String::as_str);
    let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let checks = tokio.block_on(run(script));
    if checks.into_iter().any(|check| check > MAX_CHECK) {
        println!("FAILED: the check costs more than {:.1} µs", micros(MAX_CHECK));
        std::process::exit(1);
    }
    println!("passed: the check costs at most {:.1} µs", micros(MAX_CHECK));
}

/// Prints all times. Returns what the check costs either client.
async fn run(script: &str) -> Vec<Duration> {
    let folder = tempfile::tempdir().unwrap();
    let claude = folder.path().join("claude");
    std::fs::write(&claude, format!("#!/bin/sh\nexec 3<&0\n{script} <&3\n")).unwrap();
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
    let launch = LaunchConfig::new(Supervisor::current_exe([SUPERVISE]).unwrap(), folder.path()).path(folder.path());
    let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
    let runtime = Runtime::start(store.clone(), drivers(&launch, MockDriver::new()), RuntimeOptions::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = serve([listener], ServerConfig::new(Access::Loopback), runtime.clone(), store, std::future::pending());
    tokio::spawn(async move { server.await.expect("the server failed") });
    let measure = async || tokio::task::spawn_blocking(move || measure(address)).await.unwrap();

    measure().await;
    assert!(!has_running_agents());
    let before = measure().await;
    let new_before = measure_new_processes(address).await;
    let client = Client::builder(format!("http://{address}")).build().unwrap();
    for agent in 0..AGENTS {
        let id = format!("agent-{agent}");
        client.create_session(&id, &CreateSessionRequest::new("claude")).await.unwrap();
        client.send_message(&id, &MessageRequest::new("hi")).await.unwrap();
    }
    // Programs take a moment to start.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(has_running_agents());
    let with_agents = measure().await;
    let new_with_agents = measure_new_processes(address).await;
    println!("one request on a new connection, median and 99th percentile");
    let from_new = (new_before, new_with_agents);
    let mut checks = Vec::new();
    for (client, (before, with_agents)) in [("one process", (before, with_agents)), ("new processes", from_new)] {
        for (agents, (median, slow)) in [("no agents", before), ("20 agents", with_agents)] {
            println!("{client:>14}, {agents}: {:>8.1} µs {:>8.1} µs", micros(median), micros(slow));
        }
        let check = with_agents.0.saturating_sub(before.0);
        println!("{client:>14}, the check: {:>8.1} µs", micros(check));
        checks.push(check);
    }
    runtime.shutdown().await;
    checks
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// Sends requests, each on a new connection. Returns the median and the 99th percentile of their times.
fn measure(address: SocketAddr) -> (Duration, Duration) {
    percentiles((0..REQUESTS).map(|_| request(address)).collect())
}

/// The same, but each request comes from a process of its own, which measures it.
async fn measure_new_processes(address: SocketAddr) -> (Duration, Duration) {
    let mut times = Vec::new();
    for _ in 0..NEW_PROCESSES {
        let program = std::env::current_exe().unwrap();
        let output =
            tokio::process::Command::new(program).args([CONNECT, &address.to_string()]).output().await.unwrap();
        times.push(Duration::from_nanos(String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()));
    }
    percentiles(times)
}

fn percentiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() * 99 / 100])
}

fn request(address: SocketAddr) -> Duration {
    let started = Instant::now();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let elapsed = started.elapsed();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    elapsed
}
