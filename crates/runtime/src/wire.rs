//! A driver's end of the channel that tells the session what crossed the wire.

use std::time::{SystemTime, UNIX_EPOCH};

use interlingua_convert::{Failure, Input, Launch};
use interlingua_schema::Timestamp;

use crate::batches::{Bytes, Sender};

/// What a driver tells its session, and when it happened.
#[derive(Debug)]
pub(crate) struct DriverMessage {
    pub(crate) at: Timestamp,
    pub(crate) output: DriverOutput,
}

/// What a driver tells its session.
#[derive(Debug)]
pub(crate) enum DriverOutput {
    /// A process was started, or a session opened on one.
    Launched(Launch),
    /// Something crossed the wire.
    Input(Input),
    /// The message that was ordered cannot be delivered, or nothing will come of it.
    Failed(Failure),
}

impl Bytes for DriverMessage {
    fn bytes(&self) -> usize {
        match &self.output {
            DriverOutput::Input(input) => input.payload_bytes(),
            DriverOutput::Launched(_) | DriverOutput::Failed(_) => 0,
        }
    }
}

/// Tells the session what crossed the wire. Can be cloned, for tasks that read; order is kept among what one clone
/// sends.
///
/// Sending waits while the session is behind, which slows down an agent that talks faster than its output can be stored.
/// Once the session has let go, what is sent is dropped.
#[derive(Clone, Debug)]
pub struct Wire(pub(crate) Sender<DriverMessage>);

impl Wire {
    /// Something crossed the wire. A line to the agent is to be told before the agent can answer it, and an exit after
    /// all of the agent's output.
    pub async fn send(&self, input: Input) {
        self.send_output(DriverOutput::Input(input)).await;
    }

    /// A process was started, or a session opened on one.
    pub async fn launched(&self, launch: Launch) {
        self.send_output(DriverOutput::Launched(launch)).await;
    }

    /// The message that was ordered cannot be delivered, or nothing will come of it: its turn fails.
    pub async fn failed(&self, failure: Failure) {
        self.send_output(DriverOutput::Failed(failure)).await;
    }

    async fn send_output(&self, output: DriverOutput) {
        self.0.send(vec![DriverMessage { at: now(), output }]).await;
    }

    /// Sends a batch in one piece, and leaves it empty.
    pub(crate) async fn send_batch(&self, batch: &mut WireBatch) {
        batch.at = None;
        let messages = std::mem::take(&mut batch.messages);
        self.0.send(messages).await;
    }
}

/// What is [sent](Wire::send_batch) to the session in one piece. All of it has the time of the first.
///
/// A line to the agent is added too, so that it stands behind what was received before it. The batch is to be sent before
/// the line is written to the agent: otherwise the answer could come first.
#[derive(Debug, Default)]
pub(crate) struct WireBatch {
    at: Option<Timestamp>,
    messages: Vec<DriverMessage>,
}

impl WireBatch {
    /// Adds something that crossed the wire.
    pub(crate) fn push(&mut self, input: Input) {
        self.push_output(DriverOutput::Input(input));
    }

    /// Adds that the turn fails. See [`Wire::failed`].
    pub(crate) fn push_failure(&mut self, failure: Failure) {
        self.push_output(DriverOutput::Failed(failure));
    }

    fn push_output(&mut self, output: DriverOutput) {
        let at = *self.at.get_or_insert_with(now);
        self.messages.push(DriverMessage { at, output });
    }
}

impl Extend<Input> for WireBatch {
    fn extend<I: IntoIterator<Item = Input>>(&mut self, inputs: I) {
        inputs.into_iter().for_each(|input| self.push(input));
    }
}

/// The current time, to the millisecond. A clock that stands before 1970 counts as 1970.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
