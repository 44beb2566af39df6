//! The connection of a session to its running driver.

use std::sync::Arc;
use std::time::Duration;

use interlingua_schema::SessionId;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

use crate::batch_channel::Receiver;
use crate::driver::{self, Channels, Driver, DriverCommand, ServeError, ServeOutcome, SessionSpec};
use crate::driver_output::TimedOutput;

/// How serving ended.
pub(super) type ServeResult = Result<ServeOutcome, ServeError>;

/// A driver that serves the session.
pub(super) struct Connection {
    /// Whether the agent was started with values that have changed: it is started again before the next turn.
    pub(super) is_outdated: bool,
    session: SessionId,
    agent: &'static str,
    commands: mpsc::UnboundedSender<DriverCommand>,
    outputs: Receiver<TimedOutput>,
    task: JoinHandle<ServeResult>,
}

/// What came from a driver: its outputs, and how serving ended if it did. Nothing comes after the end.
pub(super) type Received = (Vec<TimedOutput>, Option<ServeResult>);

impl Connection {
    pub(super) fn open(driver: Arc<dyn Driver>, spec: SessionSpec) -> Self {
        let Channels { command_sender, command_receiver, output_sender, output_receiver } = driver::channels();
        let (session, agent) = (spec.session_id.clone(), driver.id());
        let task = tokio::spawn(driver.serve(spec, command_receiver, output_sender));
        Self { is_outdated: false, session, agent, commands: command_sender, outputs: output_receiver, task }
    }

    /// Sends a command to the driver. False if the driver does not receive commands any more.
    pub(super) fn send(&self, command: DriverCommand) -> bool {
        self.commands.send(command).is_ok()
    }

    /// Waits for the next outputs of the driver. Cancellation loses nothing.
    pub(super) async fn receive(&mut self) -> Received {
        tokio::select! {
            biased;
            outputs = self.outputs.recv() => {
                let result = if outputs.is_empty() { Some(serve_result((&mut self.task).await)) } else { None };
                (outputs, result)
            }
            // An output sender outlives `serve`. Outputs that were sent count; those that wait for room do not.
            end = &mut self.task => (self.outputs.close(), Some(serve_result(end))),
        }
    }

    /// Closes the connection, gives the driver a grace period to end its agent, and returns the last outputs and how
    /// serving ended.
    pub(super) async fn close(self, grace: Duration) -> (Vec<TimedOutput>, ServeResult) {
        let Self { session, agent, commands, mut outputs, mut task, .. } = self;
        drop(commands);
        let mut last_outputs = Vec::new();
        let result = timeout(grace, async {
            loop {
                let mut batch = outputs.recv().await;
                if batch.is_empty() {
                    break;
                }
                last_outputs.append(&mut batch);
            }
            serve_result((&mut task).await)
        })
        .await;
        let result = result.unwrap_or_else(|_| {
            let grace_ms = grace.as_millis();
            tracing::warn!(%session, agent, grace_ms, "agent did not end within the grace period; aborting its driver task");
            task.abort();
            Ok(ServeOutcome::Stopped)
        });
        (last_outputs, result)
    }
}

fn serve_result(end: Result<ServeResult, JoinError>) -> ServeResult {
    end.unwrap_or_else(|error| Err(ServeError::Unavailable(format!("the driver failed: {error}"))))
}
