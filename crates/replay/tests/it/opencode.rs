//! OpenCode's stand-in, over HTTP.

use std::path::Path;

use interlingua_replay::ReplayOptions;
use interlingua_sse::{Decoder, Frame};
use reqwest::{Client, Response};
use serde_json::{Value, json};

use crate::talk::{Talk, command, recording, transcript};

/// A server that runs, and a client for it.
struct Server {
    talk: Talk,
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
        let mut talk = Talk::of(command);
        let address = loop {
            if let Some(address) = talk.line().strip_prefix("opencode server listening on ") {
                break address.to_owned();
            }
        };
        Self { talk, address, client: Client::builder().no_proxy().build().unwrap() }
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
    /// The next payload as it stands; half of one if the stream ends in it, `None` if it has ended.
    async fn text(&mut self) -> Option<String> {
        loop {
            if let Some(frame) = self.decoder.next_frame() {
                let Frame::Event(event) = frame.unwrap() else { panic!("the stand-in sends nothing but events") };
                return Some(String::from_utf8(event.data).unwrap());
            }
            match self.response.chunk().await {
                Ok(Some(chunk)) => self.decoder.push(&chunk),
                _ => return self.decoder.finish().map(|event| String::from_utf8(event.data).unwrap()),
            }
        }
    }

    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.text().await.unwrap()).unwrap()
    }

    /// Reads on to the next event of a type.
    async fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.next().await;
            if event["type"] == kind {
                return event;
            }
        }
    }
}

#[tokio::test]
async fn a_prompt_in_either_way_gets_the_recorded_answer_and_permissions_are_waited_for() {
    let path = transcript("opencode/1.18.33/permission_once");
    let server = Server::start(&path, &ReplayOptions::default(), None);
    let mut events = server.events("/event").await;
    assert_eq!(events.next().await["type"], "server.connected");
    let session: Value = server.post("/session", &json!({"title": "x"})).await.json().await.unwrap();
    let id = session["id"].as_str().unwrap();
    // The recorded host did not wait for the answer; this one does, and gets it at the turn's end.
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
            let replied = events.until("permission.replied").await;
            assert_eq!(replied["properties"]["requestID"], request);
        }
        assert_eq!(asked, 2);
    });
    let answer: Value = answer.json().await.unwrap();
    assert_eq!(answer["info"]["role"], "assistant");
    assert!(answer["parts"].as_array().unwrap().iter().any(|part| part["type"] == "text"), "{answer}");
}

#[tokio::test]
async fn a_host_that_does_not_wait_is_answered_at_once_where_the_recorded_one_waited() {
    let path = transcript("opencode/1.18.33/bash_tool");
    let server = Server::start(&path, &ReplayOptions::default(), None);
    let mut events = server.events("/event").await;
    let session: Value = server.post("/session", &json!({})).await.json().await.unwrap();
    let prompt = format!("/session/{}/prompt_async", session["id"].as_str().unwrap());
    assert_eq!(server.post(&prompt, &json!({"parts": []})).await.status(), 204);
    events.until("session.idle").await;
}

#[tokio::test]
async fn with_a_password_everything_else_is_refused() {
    let path = transcript("opencode/1.18.33/auth_password");
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
async fn what_the_recording_lacks_is_empty_or_not_found() {
    let path = transcript("opencode/1.18.33/bash_tool");
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
    let path = transcript("opencode/1.18.33/permission_once");
    let server = Server::start(&path, &ReplayOptions::default(), None);
    let mut events = server.events("/event").await;
    let session: Value = server.post("/session", &json!({})).await.json().await.unwrap();
    let id = session["id"].as_str().unwrap();
    server.post(&format!("/session/{id}/prompt_async"), &json!({"parts": []})).await;
    events.until("permission.asked").await;
    let aborted = server.post(&format!("/session/{id}/abort"), &json!({})).await;
    assert_eq!(aborted.text().await.unwrap(), "true");
    let error = events.next().await;
    assert_eq!((&error["type"], &error["properties"]["sessionID"]), (&json!("session.error"), &json!(id)));
    assert_eq!(events.next().await["type"], "session.status");
    assert_eq!(events.next().await["type"], "session.idle");
}

#[tokio::test]
async fn a_reader_hears_of_its_own_directory_only() {
    let folder = tempfile::tempdir().unwrap();
    let made = |call: u32, id: &str| {
        [
            format!(r#"{{"t":1,"dir":"send","call":{call},"method":"POST","path":"/session","body":{{}}}}"#),
            format!(r#"{{"t":1,"dir":"reply","call":{call},"status":200,"body":{{"id":"{id}"}}}}"#),
            format!(
                r#"{{"t":1,"dir":"recv","line":"{{\"type\":\"session.idle\",\"properties\":{{\"sessionID\":\"{id}\"}}}}"}}"#
            ),
        ]
    };
    let records = [made(1, "ses_aaaaaaaaaaaa"), made(2, "ses_bbbbbbbbbbbb")].concat();
    let path = recording(folder.path(), "two", "opencode", &records.iter().map(String::as_str).collect::<Vec<_>>());
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

/// Three events after a session is made.
fn three(folder: &Path) -> std::path::PathBuf {
    let records = [
        r#"{"t":1,"dir":"send","call":1,"method":"POST","path":"/session","body":{}}"#,
        r#"{"t":1,"dir":"reply","call":1,"status":200,"body":{"id":"ses_aaaaaaaaaaaa"}}"#,
        r#"{"t":1,"dir":"recv","line":"{\"n\":1}"}"#,
        r#"{"t":1,"dir":"recv","line":"{\"n\":2}"}"#,
        r#"{"t":1,"dir":"recv","line":"{\"n\":3}"}"#,
    ];
    recording(folder, "three", "opencode", &records)
}

async fn faulty(fault: &str) -> (Server, Events, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = ReplayOptions::default();
    options.faults = vec![fault.parse().unwrap()];
    let server = Server::start(&three(folder.path()), &options, None);
    let mut events = server.events("/event").await;
    assert_eq!(events.next().await["type"], "server.connected");
    let request = server.client.post(format!("{}/session", server.address)).body("{}");
    request.send().await.unwrap();
    (server, events, folder)
}

#[tokio::test]
async fn a_server_that_dies_has_sent_what_it_said_before() {
    let (mut server, mut events, _folder) = faulty("die-after=2:7").await;
    assert_eq!(events.next().await["n"], 1);
    assert_eq!(events.next().await["n"], 2);
    assert_eq!(events.text().await, None);
    assert_eq!(server.talk.exit(), 7);
}

/// It was a race, so it is run more than once.
#[tokio::test]
async fn a_server_that_exits_has_answered_before() {
    let folder = tempfile::tempdir().unwrap();
    let records = [
        r#"{"t":1,"dir":"send","call":1,"method":"POST","path":"/session","body":{}}"#,
        r#"{"t":1,"dir":"reply","call":1,"status":200,"body":{"id":"ses_aaaaaaaaaaaa"}}"#,
        r#"{"t":1,"dir":"exit","code":0}"#,
    ];
    let path = recording(folder.path(), "exit", "opencode", &records);
    for _ in 0..20 {
        let mut server = Server::start(&path, &ReplayOptions::default(), None);
        let made: Value = server.post("/session", &json!({})).await.json().await.unwrap();
        assert_eq!(made["id"], "ses_aaaaaaaaaaaa");
        assert_eq!(server.talk.exit(), 0);
    }
}

#[tokio::test]
async fn half_an_event_is_the_last_that_a_server_says() {
    let (mut server, mut events, _folder) = faulty("half-line-after=1:7").await;
    assert_eq!(events.next().await["n"], 1);
    assert_eq!(events.text().await.as_deref(), Some("{\"n\""));
    assert_eq!(server.talk.exit(), 7);
}

#[tokio::test]
async fn garbage_comes_over_the_event_stream_as_well() {
    let (_server, mut events, _folder) = faulty("garbage-after=1").await;
    assert_eq!(events.next().await["n"], 1);
    assert!(events.text().await.unwrap().starts_with("%%"));
    assert_eq!(events.next().await["n"], 2);
}
