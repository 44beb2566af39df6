//! OpenCode's stand-in, over HTTP.

use std::path::Path;

use interlingua_replay::ReplayOptions;
use interlingua_sse::{Decoder, Frame};
use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::stand_in::{StandIn, command, find_recording, write_recording};

/// A running server and a client for it.
struct Server {
    stand_in: StandIn,
    address: String,
    client: Client,
}

impl Server {
    fn start(path: &Path, options: &ReplayOptions, password: Option<&str>) -> Self {
        let mut command = command("opencode", &["serve", "--port", "0", "--hostname", "127.0.0.1"]);
        command.envs(interlingua_replay::stand_in_environment(path, options));
        if let Some(password) = password {
            command.env("OPENCODE_SERVER_PASSWORD", password);
        }
        let mut stand_in = StandIn::spawn(command);
        let address = loop {
            if let Some(address) = stand_in.read_line().strip_prefix("opencode server listening on ") {
                break address.to_owned();
            }
        };
        Self { stand_in, address, client: Client::builder().no_proxy().build().unwrap() }
    }

    async fn get(&self, path: &str) -> Response {
        self.client.get(format!("{}{path}", self.address)).send().await.unwrap()
    }

    async fn post(&self, path: &str, body: &Value) -> Response {
        self.client.post(format!("{}{path}", self.address)).json(body).send().await.unwrap()
    }

    async fn events(&self, path: &str) -> Events {
        Events { response: self.get(path).await, decoder: Decoder::default() }
    }
}

/// An event stream.
struct Events {
    response: Response,
    decoder: Decoder,
}

impl Events {
    /// Text of the next payload. A payload that the end of the stream cuts off is returned as it is; then `None`.
    async fn next_text(&mut self) -> Option<String> {
        loop {
            if let Some(frame) = self.decoder.next_frame() {
                let Frame::Event(event) = frame.unwrap() else {
                    panic!("the stand-in sent a frame that is not an event")
                };
                return Some(String::from_utf8(event.data).unwrap());
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.decoder.push(&chunk),
                _ => return self.decoder.finish().map(|event| String::from_utf8(event.data).unwrap()),
            }
        }
    }

    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.next_text().await.unwrap()).unwrap()
    }

    /// Reads up to the next event of a type.
    async fn find(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next().await;
            if event["type"] == kind {
                return event;
            }
        }
    }
}

#[tokio::test]
async fn a_sync_prompt_gets_the_recorded_message_and_permissions_are_waited_for() {
    let path = find_recording("opencode/1.18.33/permission_once");
    let server = Server::start(&path, &ReplayOptions::default(), None);
    let mut events = server.events("/event").await;
    assert_eq!(events.next().await["type"], "server.connected");
    let session: Value = server.post("/session", &json!({"title": "x"})).await.json().await.unwrap();
    let id = session["id"].as_str().unwrap();
    // The recorded prompt was async. This one is sync, so its reply comes at the end of the turn.
    let (path, body) = (format!("/session/{id}/message"), json!({"parts": []}));
    let (answer, ()) = tokio::join!(server.post(&path, &body), async {
        let mut asked = 0;
        loop {
            let event = events.next().await;
            if event["type"] == "session.idle" {
                break;
            }
            if event["type"] != "permission.asked" {
                continue;
            }
            asked += 1;
            let request = event["properties"]["id"].as_str().unwrap();
            let path = format!("/session/{id}/permissions/{request}");
            assert_eq!(server.post(&path, &json!({"response": "once"})).await.status(), 200);
            let replied = events.find("permission.replied").await;
            assert_eq!(replied["properties"]["requestID"], request);
        }
        assert_eq!(asked, 2);
    });
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer["info"]["role"], "assistant");
    assert!(answer["parts"].as_array().unwrap().iter().any(|part| part["type"] == "text"), "{answer}");
}

#[tokio::test]
async fn an_async_prompt_gets_its_reply_at_once_where_the_recorded_one_was_sync() {
    let path = find_recording("opencode/1.18.33/bash_tool");
    let server = Server::start(&path, &ReplayOptions::default(), None);
    let mut events = server.events("/event").await;
    let session: Value = server.post("/session", &json!({})).await.json().await.unwrap();
    let prompt = format!("/session/{}/prompt_async", session["id"].as_str().unwrap());
    assert_eq!(server.post(&prompt, &json!({"parts": []})).await.status(), 204);
    events.find("session.idle").await;
}

#[tokio::test]
async fn requests_without_the_password_are_rejected() {
    let path = find_recording("opencode/1.18.33/auth_password");
    let server = Server::start(&path, &ReplayOptions::default(), Some("secret"));
    for path in ["/global/health", "/event", "/session?auth_token=d3Jvbmc="] {
        assert_eq!(server.get(path).await.status(), 401);
    }
    let url = format!("{}/global/health", server.address);
    let health = server.client.get(url).basic_auth("opencode", Some("secret")).send().await.unwrap();
    let health: Value = health.json().await.unwrap();
    assert_eq!(health, json!({"healthy": true, "version": "1.18.33"}));
}

#[tokio::test]
async fn unrecorded_lists_are_empty_and_unrecorded_paths_are_not_found() {
    let path = find_recording("opencode/1.18.33/bash_tool");
    let server = Server::start(&path, &ReplayOptions::default(), None);
    let list: Value = server.get("/question").await.json().await.unwrap();
    assert_eq!(list, json!([]));
    let missing = server.get("/no/such/thing").await;
    assert_eq!(missing.status(), 404);
    let missing: Value = missing.json().await.unwrap();
    assert!(missing["data"]["message"].as_str().unwrap().contains("GET /no/such/thing"), "{missing}");
    assert_eq!(server.post("/permission/per_x/reply", &json!({"reply": "once"})).await.status(), 404);
}

#[tokio::test]
async fn an_unexpected_abort_ends_the_turn() {
    let path = find_recording("opencode/1.18.33/permission_once");
    let server = Server::start(&path, &ReplayOptions::default(), None);
    let mut events = server.events("/event").await;
    let session: Value = server.post("/session", &json!({})).await.json().await.unwrap();
    let id = session["id"].as_str().unwrap();
    server.post(&format!("/session/{id}/prompt_async"), &json!({"parts": []})).await;
    events.find("permission.asked").await;
    let aborted = server.post(&format!("/session/{id}/abort"), &json!({})).await;
    assert_eq!(aborted.text().await.unwrap(), "true");
    let error = events.next().await;
    assert_eq!((&error["type"], &error["properties"]["sessionID"]), (&json!("session.error"), &json!(id)));
    assert_eq!(events.next().await["type"], "session.status");
    assert_eq!(events.next().await["type"], "session.idle");
}

#[tokio::test]
async fn a_subscriber_gets_only_the_events_of_its_directory() {
    let folder = tempfile::tempdir().unwrap();
    let create_session = |call: u32, id: &str| {
        [
            format!(r#"{{"t":1,"dir":"send","call":{call},"method":"POST","path":"/session","body":{{}}}}"#),
            format!(r#"{{"t":1,"dir":"reply","call":{call},"status":200,"body":{{"id":"{id}"}}}}"#),
            format!(
                r#"{{"t":1,"dir":"recv","line":"{{\"type\":\"session.idle\",\"properties\":{{\"sessionID\":\"{id}\"}}}}"}}"#
            ),
        ]
    };
    let records = [create_session(1, "ses_aaaaaaaaaaaa"), create_session(2, "ses_bbbbbbbbbbbb")].concat();
    let path =
        write_recording(folder.path(), "two", "opencode", &records.iter().map(String::as_str).collect::<Vec<_>>());
    let server = Server::start(&path, &ReplayOptions::default(), None);
    let mut one = server.events("/event?directory=/one").await;
    let mut two = server.events("/event?directory=/two").await;
    server.post("/session?directory=/one", &json!({})).await;
    server.post("/session?directory=/two", &json!({})).await;
    assert_eq!(one.next().await["type"], "server.connected");
    assert_eq!(one.next().await["properties"]["sessionID"], "ses_aaaaaaaaaaaa");
    assert_eq!(two.next().await["type"], "server.connected");
    assert_eq!(two.next().await["properties"]["sessionID"], "ses_bbbbbbbbbbbb");
}

/// A recording with three events after a session is created.
fn write_three_events(folder: &Path) -> std::path::PathBuf {
    let records = [
        r#"{"t":1,"dir":"send","call":1,"method":"POST","path":"/session","body":{}}"#,
        r#"{"t":1,"dir":"reply","call":1,"status":200,"body":{"id":"ses_aaaaaaaaaaaa"}}"#,
        r#"{"t":1,"dir":"recv","line":"{\"n\":1}"}"#,
        r#"{"t":1,"dir":"recv","line":"{\"n\":2}"}"#,
        r#"{"t":1,"dir":"recv","line":"{\"n\":3}"}"#,
    ];
    write_recording(folder, "three", "opencode", &records)
}

async fn start_with_fault(fault: &str) -> (Server, Events, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = ReplayOptions::default();
    options.faults = vec![fault.parse().unwrap()];
    let server = Server::start(&write_three_events(folder.path()), &options, None);
    let mut events = server.events("/event").await;
    assert_eq!(events.next().await["type"], "server.connected");
    let request = server.client.post(format!("{}/session", server.address)).body("{}");
    request.send().await.unwrap();
    (server, events, folder)
}

#[tokio::test]
async fn a_server_that_dies_has_sent_the_events_before_the_fault() {
    let (mut server, mut events, _folder) = start_with_fault("die-after=2:7").await;
    assert_eq!(events.next().await["n"], 1);
    assert_eq!(events.next().await["n"], 2);
    assert_eq!(events.next_text().await, None);
    assert_eq!(server.stand_in.wait(), 7);
}

/// Runs several times, because a fixed bug was a race.
#[tokio::test]
async fn a_server_replies_before_it_exits() {
    let folder = tempfile::tempdir().unwrap();
    let records = [
        r#"{"t":1,"dir":"send","call":1,"method":"POST","path":"/session","body":{}}"#,
        r#"{"t":1,"dir":"reply","call":1,"status":200,"body":{"id":"ses_aaaaaaaaaaaa"}}"#,
        r#"{"t":1,"dir":"exit","code":0}"#,
    ];
    let path = write_recording(folder.path(), "exit", "opencode", &records);
    for _ in 0..20 {
        let mut server = Server::start(&path, &ReplayOptions::default(), None);
        let session: Value = server.post("/session", &json!({})).await.json().await.unwrap();
        assert_eq!(session["id"], "ses_aaaaaaaaaaaa");
        assert_eq!(server.stand_in.wait(), 0);
    }
}

#[tokio::test]
async fn half_an_event_is_the_last_output_of_the_server() {
    let (mut server, mut events, _folder) = start_with_fault("half-line-after=1:7").await;
    assert_eq!(events.next().await["n"], 1);
    assert_eq!(events.next_text().await.as_deref(), Some("{\"n\""));
    assert_eq!(server.stand_in.wait(), 7);
}

#[tokio::test]
async fn garbage_is_inserted_into_the_event_stream() {
    let (_server, mut events, _folder) = start_with_fault("garbage-after=1").await;
    assert_eq!(events.next().await["n"], 1);
    assert!(events.next_text().await.unwrap().starts_with("%%"));
    assert_eq!(events.next().await["n"], 2);
}
