//! A driver's end of the channel that tells the session what crossed the wire.

use interlingua_convert::{Failure, Launch};
use interlingua_schema::Timestamp;

use crate::batches::Sender;
use crate::clock;
use crate::crossing::{Crossing, What};

/// Tells the session what crossed the wire. Can be cloned, for tasks that read; order is kept among what one of them
/// hands over.
///
/// Handing over waits while the session is behind, which is what slows an agent down that talks faster than its words
/// can be stored. Once the session has let go, what is handed over is forgotten.
#[derive(Clone, Debug)]
pub struct Wire(pub(crate) Sender<Crossing>);

impl Wire {
    async fn cross(&self, what: What) {
        self.0.send(vec![Crossing { at: clock::now(), what }]).await;
    }

    /// A process was started, or a session opened on one.
    pub async fn launched(&self, launch: Launch) {
        self.cross(What::Launched(launch)).await;
    }

    /// A line was sent to the agent; to be said before the agent can answer it.
    pub async fn sent(&self, line: impl Into<String>) {
        self.cross(What::Sent(line.into())).await;
    }

    /// A line, or one payload of an event stream, came from the agent.
    pub async fn received(&self, line: impl Into<String>) {
        self.cross(What::Received(line.into())).await;
    }

    /// Something came that is no line of text, for this reason: not UTF-8, too long.
    pub async fn garbled(&self, bytes: impl Into<Vec<u8>>, reason: impl Into<String>) {
        self.cross(What::Garbled { bytes: bytes.into(), reason: reason.into() }).await;
    }

    /// The agent wrote a line to its standard error.
    pub async fn stderr(&self, line: impl Into<String>) {
        self.cross(What::Stderr(line.into())).await;
    }

    /// An HTTP request is made; its reply has the same number.
    pub async fn request(&self, call: u64, method: &'static str, path: impl Into<String>, body: Option<String>) {
        self.cross(What::Request { call, method, path: path.into(), body }).await;
    }

    /// An HTTP request was answered.
    pub async fn reply(&self, call: u64, status: u16, body: Option<String>) {
        self.cross(What::Reply { call, status, body }).await;
    }

    /// The agent's input was closed.
    pub async fn closed(&self) {
        self.cross(What::Closed).await;
    }

    /// The agent is gone, and all of its output was handed over. A signal is a negative code.
    pub async fn exit(&self, code: Option<i32>) {
        self.cross(What::Exit(code)).await;
    }

    /// The message that was ordered cannot be delivered, or nothing will come of it: its turn fails.
    pub async fn failed(&self, failure: Failure) {
        self.cross(What::Failed(failure)).await;
    }

    /// All of this crossed the wire, in this order. Afterwards nothing is gathered.
    pub(crate) async fn hand_over(&self, gathered: &mut Gathered) {
        gathered.at = None;
        let crossings = std::mem::take(&mut gathered.crossings);
        self.0.send(crossings).await;
    }
}

/// What crossed the wire together, on its way to be [handed over](Wire::hand_over) in one piece. It is all of one time:
/// that of the first.
///
/// A line to the agent is gathered, too, so that it stands behind what was received before it, but all is to be handed
/// over before the line is really sent: else the answer could be first.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    at: Option<Timestamp>,
    crossings: Vec<Crossing>,
}

impl Gathered {
    fn add(&mut self, what: What) {
        let at = *self.at.get_or_insert_with(clock::now);
        self.crossings.push(Crossing { at, what });
    }

    /// As [`Wire::sent`].
    pub(crate) fn sent(&mut self, line: impl Into<String>) {
        self.add(What::Sent(line.into()));
    }

    /// As [`Wire::received`].
    pub(crate) fn received(&mut self, line: String) {
        self.add(What::Received(line));
    }

    /// As [`Wire::garbled`].
    pub(crate) fn garbled(&mut self, bytes: Vec<u8>, reason: String) {
        self.add(What::Garbled { bytes, reason });
    }

    /// As [`Wire::stderr`].
    pub(crate) fn stderr(&mut self, line: String) {
        self.add(What::Stderr(line));
    }

    /// As [`Wire::exit`].
    pub(crate) fn exit(&mut self, code: Option<i32>) {
        self.add(What::Exit(code));
    }

    /// As [`Wire::failed`].
    pub(crate) fn failed(&mut self, failure: Failure) {
        self.add(What::Failed(failure));
    }
}
