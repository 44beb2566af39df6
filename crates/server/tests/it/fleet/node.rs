//! A server as a process of its own, which can be killed and stopped. It is this test program, started once more.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use interlingua_client::{Client, CreateSessionRequest, MessageRequest};
use interlingua_runtime::mock::MockDriver;
use interlingua_runtime::{Runtime, RuntimeOptions};
use interlingua_server::{Access, ServerConfig, serve};
use interlingua_store::Store;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::test_server::stores::postgres_options;

/// Variable with the [`NodeOptions`] of the process.
const OPTIONS_VARIABLE: &str = "FLEET_NODE";

/// What a node is started with.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NodeOptions {
    pub(crate) url: String,
    pub(crate) name: String,
    /// Duration of its leases in milliseconds.
    pub(crate) lease_ms: u64,
    /// Pause between two lines of the mock agent.
    pub(crate) pace_ms: u64,
    /// Whether appends show their lease and sequence. Without it, the checker has to find what goes wrong.
    pub(crate) is_fenced: bool,
    /// Whether it receives the signals of other servers.
    pub(crate) receives_signals: bool,
}

impl NodeOptions {
    pub(crate) fn new(url: &str, name: &str) -> Self {
        Self {
            url: url.to_owned(),
            name: name.to_owned(),
            lease_ms: 2000,
            pace_ms: 0,
            is_fenced: true,
            receives_signals: true,
        }
    }
}

/// A server that runs until it is killed or dropped.
pub(crate) struct Node {
    child: Child,
    pub(crate) client: Client,
    pub(crate) options: NodeOptions,
    /// Taken only when the server is started again.
    dir: Option<TempDir>,
}

impl Node {
    pub(crate) fn start(options: &NodeOptions) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), options, Command::new(std::env::current_exe().unwrap()))
    }

    /// Starts it with a program that runs the test program with the arguments that it gets.
    pub(crate) fn start_with(options: &NodeOptions, program: Command) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), options, program)
    }

    fn start_in(dir: TempDir, options: &NodeOptions, mut program: Command) -> Self {
        program.args(["--exact", "fleet::node::serve_until_killed", "--ignored", "--nocapture", "--test-threads=1"]);
        program.env(OPTIONS_VARIABLE, serde_json::to_string(options).unwrap());
        program.env("FLEET_NODE_DIR", dir.path()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = program.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let base = loop {
            let line = lines.next().expect("the node ended before it listened").unwrap();
            // The test harness prints text around the address.
            if let Some((_, address)) = line.split_once("listens on ") {
                break address.to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        let http = reqwest::Client::builder().timeout(Duration::from_secs(60)).build().unwrap();
        let client = Client::builder(base).http_client(http).build().unwrap();
        Self { child, client, options: options.clone(), dir: Some(dir) }
    }

    /// Kills the server, and starts it again with the same data directory.
    pub(crate) fn restart(mut self) -> Self {
        self.signal("KILL");
        self.child.wait().unwrap();
        let dir = self.dir.take().unwrap();
        Self::start_in(dir, &self.options, Command::new(std::env::current_exe().unwrap()))
    }

    pub(crate) fn signal(&self, signal: &str) {
        let sent = Command::new("kill").args([format!("-{signal}"), self.child.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    pub(crate) async fn create(&self, id: &str) {
        self.client.create_session(id, &CreateSessionRequest::new("mock")).await.unwrap();
    }

    pub(crate) async fn send(&self, id: &str, message: &str) {
        self.client.send_message(id, &MessageRequest::new(message)).await.unwrap();
    }

    /// Number of sessions that the server owns.
    pub(crate) async fn leases(&self) -> u64 {
        self.client.health().await.unwrap().store["leases"].as_u64().unwrap()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // A stopped process is killed too.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Not a test: the process of a node.
#[test]
#[ignore = "started by the tests of a fleet"]
fn serve_until_killed() {
    let Ok(options) = std::env::var(OPTIONS_VARIABLE) else { return };
    let options: NodeOptions = serde_json::from_str(&options).unwrap();
    let dir = std::env::var_os("FLEET_NODE_DIR").unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut store = postgres_options(&options.url, Path::new(&dir), &options.name)
            .lease(Duration::from_millis(options.lease_ms));
        if !options.is_fenced {
            store = store.without_fencing();
        }
        if !options.receives_signals {
            store = store.without_signals();
        }
        let store = connect(store).await;
        let mock = MockDriver::new().pace(Duration::from_millis(options.pace_ms));
        let runtime = Runtime::start(store.clone(), vec![std::sync::Arc::new(mock)], RuntimeOptions::default());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listens on http://{}", listener.local_addr().unwrap());
        let config = ServerConfig::new(Access::Loopback);
        serve([listener], config, runtime, store, std::future::pending()).await.unwrap();
    });
}

/// Connects to the store. The database may be starting.
async fn connect(options: interlingua_store::PostgresOptions) -> Store {
    let mut attempts = 0;
    loop {
        match Store::connect(options.clone()).await {
            Ok(store) => return store,
            Err(error) if attempts == 100 => panic!("cannot connect: {error}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
        }
        attempts += 1;
    }
}
