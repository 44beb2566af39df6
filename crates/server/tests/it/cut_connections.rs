//! A client that repeats every request once: each message runs exactly once, wherever the first connection was cut.
//!
//! `INTERLINGUA_CUTS=500 cargo test -p interlingua-server --test it cut_connections` runs more cuts, and
//! `INTERLINGUA_SEED` other ones.

use std::collections::BTreeMap;
use std::time::Duration;

use interlingua_client::{Client, MessageRequest, TurnQuery};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::messages::message_ids;
use crate::test_server::{TOKEN, TestServer, start_server};

const DEFAULT_CUTS: usize = 30;
const SESSIONS: usize = 5;
const DEFAULT_SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// No request takes this long unless it hangs.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A xorshift generator, so that a failing run can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn setting<T: std::str::FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().map_or(default, |value| value.parse().unwrap_or_else(|_| panic!("{name}={value}")))
}

/// Forwards at most `limit` bytes.
async fn forward(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin, mut limit: u64) {
    let mut buffer = [0; 256];
    while limit > 0 {
        let room = usize::try_from(limit).unwrap_or(usize::MAX).min(buffer.len());
        match from.read(&mut buffer[..room]).await {
            Ok(0) | Err(_) => return,
            Ok(count) => {
                if to.write_all(&buffer[..count]).await.is_err() {
                    return;
                }
                limit -= count as u64;
            }
        }
    }
}

/// Accepts one connection, forwards it, and cuts it after some bytes of the request or of the answer.
async fn forward_and_cut(listener: TcpListener, target: String, request_bytes: u64, answer_bytes: u64) {
    let (mut client, _) = listener.accept().await.unwrap();
    let mut server = TcpStream::connect(target).await.unwrap();
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    tokio::select! {
        () = forward(from_client, to_server, request_bytes) => {}
        () = forward(from_server, to_client, answer_bytes) => {}
    }
    // Both connections are closed here.
}

/// Sends a message over a connection that is cut. Returns whether the client got a complete answer all the same.
async fn send_and_cut(server: &TestServer, session: &str, message: &MessageRequest, random: &mut Random) -> bool {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let target = server.base.strip_prefix("http://").unwrap().to_owned();
    let (request_bytes, answer_bytes) =
        if random.below(2) == 0 { (random.below(500), u64::MAX) } else { (u64::MAX, random.below(900)) };
    let proxy = tokio::spawn(forward_and_cut(listener, target, request_bytes, answer_bytes));
    let http = reqwest::Client::builder().pool_max_idle_per_host(0).timeout(REQUEST_TIMEOUT).build().unwrap();
    let client = Client::builder(&address).token(TOKEN).http_client(http).build().unwrap();
    let is_stream = random.below(2) == 0;
    let sent = async {
        if !is_stream {
            return client.send_message(session, message).await.is_ok();
        }
        let Ok(mut turn) = client.stream_turn(session, message, TurnQuery::held()).await else { return false };
        while let Ok(event) = turn.next().await {
            if event.is_none_or(|event| event.data.kind() == "turn.ended") {
                return true;
            }
        }
        false
    };
    let is_answered = timeout(REQUEST_TIMEOUT, sent).await.expect("the request hangs");
    proxy.abort();
    is_answered
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_that_is_sent_twice_runs_once() {
    let (cuts, seed) = (setting("INTERLINGUA_CUTS", DEFAULT_CUTS), setting("INTERLINGUA_SEED", DEFAULT_SEED));
    let mut random = Random(seed.max(1));
    let server = start_server().await;
    for session in 0..SESSIONS {
        server.create(&format!("s{session}")).await;
    }
    let mut expected: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut answered = 0;
    for number in 0..cuts {
        let session = format!("s{}", number % SESSIONS);
        let id = format!("m{number}");
        let message = MessageRequest::new(format!("echo {id}")).id(&id);
        answered += usize::from(send_and_cut(&server, &session, &message, &mut random).await);
        if random.below(2) == 0 {
            server.client.send_message(&session, &message).await.unwrap();
        } else {
            let mut turn = server.client.stream_turn(&session, &message, TurnQuery::held()).await.unwrap();
            let mut kinds = Vec::new();
            while let Some(event) = turn.next().await.unwrap() {
                kinds.push(event.data.kind().to_owned());
            }
            assert_eq!(kinds.first().map(String::as_str), Some("turn.started"), "{id}, seed {seed}");
            assert_eq!(kinds.last().map(String::as_str), Some("turn.ended"), "{id}, seed {seed}");
        }
        expected.entry(session).or_default().push(id);
    }
    for (session, ids) in expected {
        // A last message, whose turn is after all others.
        let last = MessageRequest::new("echo last").id("last");
        let mut turn = server.client.stream_turn(&session, &last, TurnQuery::held()).await.unwrap();
        while turn.next().await.unwrap().is_some() {}
        // `events` checks the rules of the stream.
        let events = server.events(&session).await;
        assert_eq!(message_ids(&events), [ids.as_slice(), &["last".to_owned()]].concat(), "seed {seed}");
        let turns = events.iter().filter(|event| event["type"] == "turn.started").count();
        assert_eq!(turns, ids.len() + 1, "seed {seed}");
    }
    println!("{cuts} cuts, of which {answered} left the answer whole; seed {seed}");
    assert!(answered < cuts, "no connection was cut");
}
