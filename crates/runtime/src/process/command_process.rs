//! A command whose output is read as bytes, for a terminal.

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use super::control::ControlSender;
use super::{DRAIN_TIMEOUT, SupervisorChild};

/// Maximum number of bytes that are read at once.
const READ_BUFFER_BYTES: usize = 64 << 10;

/// A running command. Its two output streams are one pipe, so that their order is kept; its input is empty. Dropping it
/// kills the command with all descendants.
#[derive(Debug)]
pub(crate) struct CommandProcess {
    /// `None` after the end of the pipe.
    output: Option<pipe::Receiver>,
    control: ControlSender,
    /// Waits until all its processes are gone.
    gone: JoinHandle<Option<i32>>,
    /// The exit code, if known, and the deadline for the end of the pipe.
    exit: Option<(Option<i32>, Instant)>,
}

/// What a command does next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum CommandEvent {
    /// It has written this.
    Output(Vec<u8>),
    /// It has exited, with this code if it is known. A signal is a negative code. There is no more output.
    Exited(Option<i32>),
}

impl CommandProcess {
    pub(super) fn new(output: pipe::Receiver, control: ControlSender, supervisor: SupervisorChild) -> Self {
        let gone = tokio::spawn(supervisor.wait_until_gone());
        Self { output: Some(output), control, gone, exit: None }
    }

    /// Waits for output or the exit, which is returned again after that. Cancellation loses nothing.
    pub(crate) async fn next(&mut self) -> CommandEvent {
        loop {
            match (self.exit, &mut self.output) {
                (Some((code, _)), None) => return CommandEvent::Exited(code),
                (None, None) => {
                    let code = (&mut self.gone).await;
                    self.observe_exit(code.unwrap_or_default());
                }
                (None, Some(output)) => {
                    tokio::select! {
                        bytes = read(output) => if let Some(event) = self.observe_output(bytes) { return event },
                        code = &mut self.gone => self.observe_exit(code.unwrap_or_default()),
                    }
                }
                (Some((_, deadline)), Some(output)) => {
                    tokio::select! {
                        bytes = read(output) => if let Some(event) = self.observe_output(bytes) { return event },
                        // Only a process that escaped the supervisor can still hold the pipe open.
                        () = sleep_until(deadline) => self.output = None,
                    }
                }
            }
        }
    }

    fn observe_exit(&mut self, code: Option<i32>) {
        self.exit = Some((code, Instant::now() + DRAIN_TIMEOUT));
    }

    fn observe_output(&mut self, bytes: Vec<u8>) -> Option<CommandEvent> {
        if bytes.is_empty() {
            self.output = None;
            return None;
        }
        Some(CommandEvent::Output(bytes))
    }

    /// Ends the command and all descendants: SIGTERM, a grace period, SIGKILL.
    pub(crate) async fn terminate(&mut self) {
        self.control.end().await;
    }
}

/// The bytes that are there, at least one; none at the end of the pipe. A read error counts as the end.
async fn read(output: &mut pipe::Receiver) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = output.take(READ_BUFFER_BYTES as u64).read_buf(&mut bytes).await;
    bytes
}
