//! Lines of a pipe as they arrive.

use std::process::ExitStatus;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::timeout;

use super::STEP_TIMEOUT;

/// Lines that an agent prints.
#[derive(Debug)]
pub(super) struct Lines(UnboundedReceiver<String>);

impl Lines {
    /// Spawns a task that reads a pipe to its end and queues the lines, so that the agent is never blocked.
    pub(super) fn spawn(pipe: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&line);
                if sender.send(text.strip_suffix('\n').unwrap_or(&text).to_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
        Self(receiver)
    }

    /// The next line. The error says whether the output has ended or the time is up.
    pub(super) async fn next(&mut self) -> Result<String, String> {
        match timeout(STEP_TIMEOUT, self.0.recv()).await {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err("the end of its output".to_owned()),
            Err(_) => Err(format!("nothing in {STEP_TIMEOUT:?}")),
        }
    }

    /// The next line, if it has arrived already.
    pub(super) fn try_next(&mut self) -> Option<String> {
        self.0.try_recv().ok()
    }

    /// Reads all lines up to the end of the pipe.
    pub(super) async fn read_to_end(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.0.recv().await {
            lines.push(line);
        }
        lines
    }
}

/// The exit code; a signal is a negative number.
pub(super) fn exit_code(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|signal| -signal))
}
