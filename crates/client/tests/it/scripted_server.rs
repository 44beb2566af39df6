//! A server that answers each connection with the next of its scripted answers.

use interlingua_client::Client;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// A running server: a client of it, and the requests that it received.
pub(crate) struct ScriptedServer {
    pub(crate) client: Client,
    requests: mpsc::UnboundedReceiver<String>,
}

impl ScriptedServer {
    /// Starts a server that sends these answers, one per connection, and closes each connection afterwards.
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

    /// The request line of each request so far, with its `Last-Event-ID`.
    pub(crate) fn requests(&mut self) -> Vec<String> {
        let mut requests = Vec::new();
        while let Ok(head) = self.requests.try_recv() {
            let path = head.lines().next().unwrap().trim_end_matches(" HTTP/1.1");
            let id = head.lines().find_map(|line| line.strip_prefix("last-event-id: "));
            requests.push(id.map_or_else(|| path.to_owned(), |id| format!("{path} after {id}")));
        }
        requests
    }
}

/// An event stream that ends when the connection is closed.
pub(crate) fn stream(frames: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{frames}")
}

/// An event stream that is cut off: its content length announces more bytes than are sent.
pub(crate) fn broken_stream(frames: &str) -> String {
    let length = frames.len() + 1;
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\n\r\n{frames}")
}

/// An answer with this status and body.
pub(crate) fn answer(status: u16, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")
}

pub(crate) fn problem(status: u16, kind: &str) -> String {
    let urn = format!("urn:interlingua:error:{kind}");
    answer(status, &format!(r#"{{"type":"{urn}","title":"Title","status":{status},"detail":"The detail."}}"#))
}

/// An answer with a session that has this number of events.
pub(crate) fn session(ended: bool, event_count: u64) -> String {
    answer(
        200,
        &format!(
            r#"{{"sessionId":"s","agent":"mock","agentMode":"build","permissionMode":null,"model":"mock","variant":null,
            "nativeSessionId":null,"state":"idle","ended":{ended},"eventCount":{event_count},"createdAt":0,"updatedAt":0,
            "directory":null,"title":null}}"#
        ),
    )
}
