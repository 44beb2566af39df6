//! The connection to the client: lines that are written in order, and requests that wait for its answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use interlingua_native::acp::{
    AgentNotification, AgentNotificationEnvelope, AgentNotificationJsonrpc, AgentRequest, AgentRequestEnvelope,
    AgentRequestJsonrpc, CancelRequestNotification, RequestId, SessionNotification, SessionUpdate,
};
use interlingua_native::{Request, new};
use interlingua_protocol::acp::{RpcError, decode_answer, number};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

/// The connection. Clones write to the same client.
#[derive(Clone, Debug)]
pub(crate) struct Connection(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    lines: mpsc::UnboundedSender<String>,
    /// Requests without an answer, by their ids.
    pending: Mutex<HashMap<u64, oneshot::Sender<String>>>,
    requests: AtomicU64,
}

/// A request that waits for its answer. Dropping it withdraws the request.
#[derive(Debug)]
pub(crate) struct PendingRequest {
    id: u64,
    connection: Connection,
    answer: oneshot::Receiver<String>,
    is_answered: bool,
}

impl Connection {
    /// Writes to this client.
    pub(crate) fn open(output: impl AsyncWrite + Unpin + Send + 'static) -> Self {
        let (lines, queue) = mpsc::unbounded_channel();
        tokio::spawn(write_lines(output, queue));
        Self(Arc::new(Shared { lines, pending: Mutex::default(), requests: AtomicU64::new(0) }))
    }

    /// Writes a line. A client that is gone never gets it.
    pub(crate) fn send(&self, line: String) {
        let _ = self.0.lines.send(line);
    }

    /// Sends an update of a session.
    pub(crate) fn update(&self, session: &str, update: SessionUpdate) {
        let notification = new!(SessionNotification { session_id: session, update: update });
        self.notify(notification.into());
    }

    fn notify(&self, message: AgentNotification) {
        let envelope = AgentNotificationEnvelope { jsonrpc: Some(AgentNotificationJsonrpc::N20), message };
        self.send(to_line(&envelope));
    }

    /// Sends a request to the client.
    pub(crate) fn request(&self, message: AgentRequest) -> PendingRequest {
        let id = self.0.requests.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.pending().insert(id, sender);
        let envelope = AgentRequestEnvelope { id: Some(number(id)), jsonrpc: Some(AgentRequestJsonrpc::N20), message };
        self.send(to_line(&envelope));
        PendingRequest { id, connection: self.clone(), answer, is_answered: false }
    }

    /// Passes on the answer to a request. An answer without an open request is ignored.
    pub(crate) fn receive_answer(&self, id: &RequestId, line: String) {
        let RequestId::Number(id) = id else { return };
        let sender = u64::try_from(*id).ok().and_then(|id| self.pending().remove(&id));
        if let Some(sender) = sender {
            // The session may have been closed.
            let _ = sender.send(line);
        }
    }

    /// Cancels a request to the client, unless it has answered.
    pub(crate) fn withdraw(&self, request: u64) {
        if self.pending().remove(&request).is_some() {
            let cancelled = new!(CancelRequestNotification { request_id: Some(number(request)) });
            self.notify(cancelled.into());
        }
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<u64, oneshot::Sender<String>>> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PendingRequest {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Waits for the answer.
    ///
    /// # Errors
    /// If the client refuses the request, or is gone.
    pub(crate) async fn answer<R: Request>(mut self) -> Result<R::Response, RpcError> {
        let gone = || RpcError { code: 0, message: "the client is gone".to_owned() };
        let line = (&mut self.answer).await.map_err(|_| gone())?;
        self.is_answered = true;
        decode_answer::<R>(&line)
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if !self.is_answered {
            self.connection.withdraw(self.id);
        }
    }
}

async fn write_lines(mut output: impl AsyncWrite + Unpin, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        let mut text = line;
        text.push('\n');
        // Lines that are ready are written together.
        while let Ok(more) = lines.try_recv() {
            text.push_str(&more);
            text.push('\n');
        }
        if output.write_all(text.as_bytes()).await.is_err() || output.flush().await.is_err() {
            tracing::debug!("the client does not read any more");
            return;
        }
    }
}

// Generated types are plain data with string keys: encoding them does not fail.
fn to_line(message: &impl serde::Serialize) -> String {
    serde_json::to_string(message).unwrap_or_default()
}
