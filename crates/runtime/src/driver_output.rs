//! The driver's end of the channel to its session.

use std::time::{SystemTime, UNIX_EPOCH};

use interlingua_convert::{Failure, Input, Launch};
use interlingua_schema::Timestamp;

use crate::batch_channel::{ByteLen, Sender};

/// An output of a driver, and when it happened.
#[derive(Debug)]
pub(crate) struct TimedOutput {
    pub(crate) time: Timestamp,
    pub(crate) output: DriverOutput,
}

/// What a driver reports to its session.
#[derive(Debug)]
pub(crate) enum DriverOutput {
    /// A process was started, or a session was opened on one.
    Launched(Launch),
    /// Something crossed the wire.
    Input(Input),
    /// The last message cannot be delivered, or cannot have an effect.
    Failed(Failure),
}

impl ByteLen for TimedOutput {
    fn byte_len(&self) -> usize {
        match &self.output {
            DriverOutput::Input(input) => input.payload_bytes(),
            DriverOutput::Launched(_) | DriverOutput::Failed(_) => 0,
        }
    }
}

/// Reports to the session what crosses the wire. It can be cloned for tasks that read; the order is kept among the
/// outputs of one clone.
///
/// Sending waits while the session is behind. This slows down an agent that prints faster than its output can be
/// stored. Once the session has closed the connection, outputs are dropped.
#[derive(Clone, Debug)]
pub struct OutputSender(pub(crate) Sender<TimedOutput>);

impl OutputSender {
    /// Reports something that crossed the wire. Report a line to the agent before the agent can answer it, and an exit
    /// after all of the agent's output.
    pub async fn send(&self, input: Input) {
        self.send_output(DriverOutput::Input(input)).await;
    }

    /// Reports that a process was started, or a session opened on one.
    pub async fn send_launch(&self, launch: Launch) {
        self.send_output(DriverOutput::Launched(launch)).await;
    }

    /// Reports that the last message cannot be delivered, or cannot have an effect: its turn fails.
    pub async fn send_failure(&self, failure: Failure) {
        self.send_output(DriverOutput::Failed(failure)).await;
    }

    async fn send_output(&self, output: DriverOutput) {
        self.0.send(vec![TimedOutput { time: now(), output }]).await;
    }

    /// Sends all outputs of a batch at once, and leaves the batch empty. Cancellation loses nothing.
    pub(crate) async fn send_batch(&self, batch: &mut OutputBatch) {
        self.0.send_from(&mut batch.outputs).await;
        batch.time = None;
    }
}

/// Outputs that are [sent](OutputSender::send_batch) to the session at once. All have the time of the first.
///
/// A line to the agent is added too, so that it comes after everything that was received before it. Send the batch
/// before the line is written to the agent: otherwise the agent's answer could reach the session first.
#[derive(Debug, Default)]
pub(crate) struct OutputBatch {
    time: Option<Timestamp>,
    outputs: Vec<TimedOutput>,
}

impl OutputBatch {
    /// Adds something that crossed the wire.
    pub(crate) fn push(&mut self, input: Input) {
        self.push_output(DriverOutput::Input(input));
    }

    /// Adds the failure of the turn. See [`OutputSender::send_failure`].
    pub(crate) fn push_failure(&mut self, failure: Failure) {
        self.push_output(DriverOutput::Failed(failure));
    }

    fn push_output(&mut self, output: DriverOutput) {
        let time = *self.time.get_or_insert_with(now);
        self.outputs.push(TimedOutput { time, output });
    }
}

impl Extend<Input> for OutputBatch {
    fn extend<I: IntoIterator<Item = Input>>(&mut self, inputs: I) {
        inputs.into_iter().for_each(|input| self.push(input));
    }
}

/// The current time, to the millisecond. A clock before 1970 counts as 1970.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
