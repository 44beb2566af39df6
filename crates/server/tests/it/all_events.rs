//! The stream of many sessions: filters, cursors, and no event missing or doubled across reconnects.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use interlingua_client::{AllEventsQuery, Client, CreateSessionRequest, Frame, UpdateSessionRequest};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::Proxy;
use crate::test_server::{TOKEN, TestServer, check_rules, expect_problem, start_server};

async fn open(server: &TestServer, query: AllEventsQuery) -> interlingua_client::AllEventStream {
    server.client.follow_all_events(query).await.unwrap()
}

/// Reads events until this number of turns has ended.
async fn read_turns(events: &mut interlingua_client::AllEventStream, turns: usize) -> Vec<Value> {
    let (mut read, mut ended) = (Vec::new(), 0);
    while ended < turns {
        let event = serde_json::to_value(events.next().await.unwrap().unwrap()).unwrap();
        ended += usize::from(event["type"] == "turn.ended");
        read.push(event);
    }
    read
}

fn by_session(events: Vec<Value>) -> BTreeMap<String, Vec<Value>> {
    let mut sessions: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in events {
        sessions.entry(event["session_id"].as_str().unwrap().to_owned()).or_default().push(event);
    }
    sessions
}

#[tokio::test]
async fn a_stream_has_stored_events_and_those_to_come_of_all_sessions() {
    let server = start_server().await;
    for id in ["a", "b"] {
        server.create(id).await;
        server.run_turn(id, "echo stored").await;
    }
    let mut events = open(&server, AllEventsQuery::default()).await;
    let mut read = read_turns(&mut events, 2).await;
    server.run_turn("a", "tool").await;
    server.create("c").await;
    server.run_turn("c", "echo new").await;
    read.extend(read_turns(&mut events, 2).await);
    let sessions = by_session(read);
    assert_eq!(sessions.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    for (id, events) in sessions {
        check_rules(&events);
        assert_eq!(events, server.events(&id).await);
    }
}

#[tokio::test]
async fn filters_choose_sessions() {
    let server = start_server().await;
    for (id, team) in [("core", Some("core")), ("other", None), ("both", Some("core"))] {
        let mut create = CreateSessionRequest::new("mock");
        create.labels.extend(team.map(|team| ("team".to_owned(), team.to_owned())));
        server.client.create_session(id, &create).await.unwrap();
        server.run_turn(id, "echo hi").await;
    }
    let label = AllEventsQuery::default().labels(vec!["team=core".to_owned()]);
    let session = AllEventsQuery::default().sessions(vec!["other".to_owned(), "later".to_owned()]);
    let mut labelled = open(&server, label.clone().agent("mock".to_owned())).await;
    assert!(by_session(read_turns(&mut labelled, 2).await).keys().eq(["both", "core"]));
    let mut chosen = open(&server, session).await;
    assert!(by_session(read_turns(&mut chosen, 1).await).keys().eq(["other"]));
    // A session that is created, and one whose labels change, join the stream.
    server.create("later").await;
    server.run_turn("later", "echo hi").await;
    assert!(by_session(read_turns(&mut chosen, 1).await).keys().eq(["later"]));
    let mut update = UpdateSessionRequest::default();
    update.labels.insert("team".to_owned(), Some("core".to_owned()));
    server.client.update_session("other", &update).await.unwrap();
    server.run_turn("other", "echo hi").await;
    assert!(by_session(read_turns(&mut labelled, 1).await).keys().eq(["other"]));
    // An empty filter is none, and an agent that the server does not know has no sessions.
    let request = server.request(Method::GET, "/v1/events/sse?label=&agent=");
    let mut unfiltered = server.client.execute_stream(request).await.unwrap();
    let first: Value = serde_json::from_slice(&unfiltered.next_event().await.unwrap().unwrap().data).unwrap();
    assert_eq!(first["type"], "session.started");
    expect_problem(server.get("/v1/events/sse?session=").await, 400, "invalid_request").await;
    let unknown = AllEventsQuery::default().agent("no-such-agent".to_owned()).cursor("latest".to_owned());
    let mut unknown = server.client.all_event_frames(&unknown).await.unwrap();
    assert!(matches!(unknown.next().await.unwrap(), Some(Frame::Id(_))));
    let none = server.client.all_event_frames(&label.agent("codex".to_owned()).cursor("latest".to_owned())).await;
    assert!(matches!(none.unwrap().next().await.unwrap(), Some(Frame::Id(_))));
}

#[tokio::test]
async fn the_id_of_an_event_resumes_after_it() {
    let server = start_server().await;
    for id in ["a", "b"] {
        server.create(id).await;
        server.run_turn(id, "markdown").await;
    }
    let count = server.events("a").await.len() + server.events("b").await.len();
    let mut frames = server.client.all_event_frames(&AllEventsQuery::default()).await.unwrap();
    let mut all = Vec::new();
    while all.len() < count {
        let event = frames.next_event().await.unwrap().unwrap();
        all.push((event.id.unwrap(), event.data));
    }
    for (index, (cursor, _)) in all.iter().enumerate().take(count - 1) {
        let path = format!("/v1/events/sse?cursor={}", all[0].0);
        let request = server.request(Method::GET, &path).header("Last-Event-ID", cursor);
        let next = server.client.execute_stream(request).await.unwrap().next_event().await.unwrap().unwrap();
        assert_eq!((next.id.unwrap(), next.data), all[index + 1].clone());
    }
}

#[tokio::test]
async fn native_payloads_are_included_on_request() {
    let server = start_server().await;
    server.create("s").await;
    let mut events = open(&server, AllEventsQuery::default().include_raw(true)).await;
    server.run_turn("s", "tool").await;
    let live = read_turns(&mut events, 1).await;
    let page = server.get_json("/v1/sessions/s/events?include_raw=true").await;
    assert_eq!(live.as_slice(), page["events"].as_array().unwrap());
    let stored = read_turns(&mut open(&server, AllEventsQuery::default().include_raw(true)).await, 1).await;
    assert_eq!(stored, live);
}

#[tokio::test]
async fn a_deleted_session_leaves_the_stream() {
    let server = start_server().await;
    for id in ["a", "b"] {
        server.create(id).await;
        server.run_turn(id, "echo hi").await;
    }
    let mut before = open(&server, AllEventsQuery::default()).await;
    before.next().await.unwrap();
    server.delete("/v1/sessions/a").await;
    let mut events = open(&server, AllEventsQuery::default()).await;
    assert!(by_session(read_turns(&mut events, 1).await).keys().eq(["b"]));
    // The same id again is another session, with the events from 1.
    server.create("a").await;
    server.run_turn("a", "echo again").await;
    let again = read_turns(&mut events, 1).await;
    assert_eq!(again, server.events("a").await);
}

#[tokio::test]
async fn invalid_parameters_and_foreign_cursors_are_refused() {
    let (server, other) = (start_server().await, start_server().await);
    for server in [&server, &other] {
        server.create("s").await;
    }
    let mut frames = other.client.all_event_frames(&AllEventsQuery::default()).await.unwrap();
    let foreign = frames.next_event().await.unwrap().unwrap().id.unwrap();
    let get = async |query: String| server.get(&format!("/v1/events/sse?{query}")).await;
    let gone = expect_problem(get(format!("cursor={foreign}")).await, 410, "cursor_gone").await;
    assert!(gone["detail"].as_str().unwrap().contains("read from the start"), "{gone}");
    for query in ["cursor=7", "cursor=a.b", "cursor=0000beef.1.2", "session=", "include_raw=perhaps", "agent=a&agent=b"]
    {
        expect_problem(get(query.to_owned()).await, 400, "invalid_request").await;
    }
    let unknown = expect_problem(get("sessions=s".to_owned()).await, 422, "invalid_request").await;
    assert_eq!(unknown["details"]["nearest"], "session");
    let header = server.request(Method::GET, "/v1/events/sse").header("Last-Event-ID", "7").send().await.unwrap();
    expect_problem(header, 400, "invalid_request").await;
    let without_token = server.http.get(format!("{}/v1/events/sse", server.base)).send().await.unwrap();
    expect_problem(without_token, 401, "token_invalid").await;
}

#[tokio::test]
async fn an_idle_stream_sends_its_position() {
    let server = start_server().await;
    server.create("s").await;
    let mut frames = server.client.all_event_frames(&AllEventsQuery::latest()).await.unwrap();
    let Some(Frame::Id(start)) = frames.next().await.unwrap() else { panic!("expected the position") };
    // From here on only time passes, so the clock can be paused: it advances by itself.
    tokio::time::pause();
    assert!(matches!(frames.next().await.unwrap(), Some(Frame::Comment(_))));
    assert!(matches!(frames.next().await.unwrap(), Some(Frame::Id(id)) if id == start));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_over_broken_connections_miss_and_repeat_nothing() {
    check_readers_over_broken_connections(120, 10).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes"]
async fn a_hundred_readers_of_a_thousand_sessions_miss_and_repeat_nothing() {
    check_readers_over_broken_connections(1000, 100).await;
}

/// The events of each session as one number, so that many readers fit into memory.
#[derive(Debug, Default, PartialEq)]
struct Digests(BTreeMap<String, (usize, u64)>);

impl Digests {
    /// Adds the next event of its session, without its native payload.
    fn push(&mut self, event: &mut Value) {
        event["raw"] = Value::Null;
        let (count, digest) = self.0.entry(event["session_id"].as_str().unwrap().to_owned()).or_default();
        let mut hasher = DefaultHasher::new();
        (*digest, event.to_string()).hash(&mut hasher);
        (*count, *digest) = (*count + 1, hasher.finish());
    }
}

/// Runs turns in many sessions, while the connections of the readers are cut again and again.
async fn check_readers_over_broken_connections(sessions: usize, readers: u32) {
    const TURNS: usize = 3;
    let server = start_server().await;
    let mut proxies = Vec::new();
    let mut streams = Vec::new();
    for number in 0..readers {
        let proxy = Proxy::start(&server).await;
        let client = Client::builder(&proxy.address).token(TOKEN).build().unwrap();
        let query = AllEventsQuery::default().include_raw(number == 0);
        proxies.push(proxy);
        streams.push(tokio::spawn(async move {
            // The connection may be cut before the first answer.
            let mut events = loop {
                if let Ok(events) = client.follow_all_events(query.clone()).await {
                    break events;
                }
            };
            let (mut digests, mut ended) = (Digests::default(), 0);
            while ended < sessions * TURNS {
                let mut event = serde_json::to_value(events.next().await.unwrap().unwrap()).unwrap();
                ended += usize::from(event["type"] == "turn.ended");
                digests.push(&mut event);
            }
            digests
        }));
    }
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let cutting = tokio::spawn(async move {
        // Every connection is cut about five times in a second.
        let interval = std::time::Duration::from_millis(200) / readers;
        let mut cuts = 0;
        loop {
            tokio::select! {
                _ = &mut stopped => return cuts,
                () = tokio::time::sleep(interval) => {}
            }
            let index = cuts * 7 % proxies.len();
            proxies[index].cut_connections();
            cuts += 1;
        }
    });
    let run_session = async |number: usize| {
        let id = format!("s{number}");
        server.create(&id).await;
        for message in ["markdown", "tool", "echo hi"].iter().take(TURNS) {
            server.post_ok(&format!("/v1/sessions/{id}/messages"), json!({ "message": message })).await;
        }
    };
    for first in (0..sessions).step_by(100) {
        futures_util::future::join_all((first..sessions.min(first + 100)).map(run_session)).await;
    }
    let streams = futures_util::future::join_all(streams).await;
    stop.send(()).unwrap();
    assert!(cutting.await.unwrap() > 20);
    let mut expected = Digests::default();
    for number in 0..sessions {
        for event in &mut server.events(&format!("s{number}")).await {
            expected.push(event);
        }
    }
    for stream in streams {
        assert_eq!(stream.unwrap(), expected);
    }
}
