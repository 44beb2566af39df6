//! A server that answers each connection with the next of its scripted answers.

use interlingua_client::Client;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// What the server was asked, and how to reach it.
pub(crate) struct ScriptedServer {
    pub(crate) client: Client,
    requests: mpsc::UnboundedReceiver<String>,
}

impl ScriptedServer {
    /// Starts a server that gives these answers, one per connection, and closes each connection afterwards.
    pub(crate) async fn start(answers: impl IntoIterator<Item = String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = Client::new(format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let answers: Vec<String> = answers.into_iter().collect();
        let (sender, requests) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                sender.send(String::from_utf8(head).unwrap()).unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { client, requests }
    }

    /// The first line of each request so far, with its `Last-Event-ID`.
    pub(crate) fn requests(&mut self) -> Vec<String> {
        let mut seen = Vec::new();
        while let Ok(head) = self.requests.try_recv() {
            let path = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1");
            let id = head.lines().find_map(|line| line.strip_prefix("last-event-id: "));
            seen.push(id.map_or_else(|| path.to_owned(), |id| format!("{path} after {id}")));
        }
        seen
    }
}

/// An answer that goes on until the connection is closed.
pub(crate) fn stream(frames: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{frames}")
}

/// An answer that breaks off: more was announced than comes.
pub(crate) fn broken_stream(frames: &str) -> String {
    let length = frames.len() + 1;
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n{frames}")
}

/// An answer of this status.
pub(crate) fn answer(status: u16, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

pub(crate) fn problem(status: u16, kind: &str) -> String {
    let urn = format!("urn:interlingua:error:{kind}");
    answer(status, &format!(r#"{{"type":"{urn}","title":"Title","status":{status},"detail":"The detail."}}"#))
}

/// A session that has so many events.
pub(crate) fn session(ended: bool, event_count: u64) -> String {
    answer(
        200,
        &format!(
            r#"{{"sessionId":"s","agent":"mock","agentMode":null,"permissionMode":null,"model":null,"variant":null,
            "nativeSessionId":null,"ended":{ended},"eventCount":{event_count},"createdAt":0,"updatedAt":0,
            "directory":null,"title":null}}"#
        ),
    )
}
