//! Lines of a pipe as they come.

use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::time::timeout;

/// What an agent prints, line by line.
#[derive(Debug)]
pub(super) struct Lines(UnboundedReceiver<String>);

impl Lines {
    /// Reads a pipe to its end, as fast as lines come.
    pub(super) fn of(pipe: impl AsyncRead + Unpin + Send + 'static) -> Self {
        let (send, receive) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut pipe = BufReader::new(pipe);
            let mut line = Vec::new();
            while pipe.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
                let text = String::from_utf8_lossy(&line);
                if send.send(text.strip_suffix('\n').unwrap_or(&text).to_owned()).is_err() {
                    break;
                }
                line.clear();
            }
        });
        Self(receive)
    }

    /// The next line; the error says that there is none, or not in time.
    pub(super) async fn next(&mut self, limit: Duration) -> Result<String, String> {
        match timeout(limit, self.0.recv()).await {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err("the end of its output".to_owned()),
            Err(_) => Err(format!("nothing in {limit:?}")),
        }
    }

    /// A line that is there already.
    pub(super) fn early(&mut self) -> Option<String> {
        self.0.try_recv().ok()
    }

    /// Everything up to the end of the pipe.
    pub(super) async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.0.recv().await {
            lines.push(line);
        }
        lines
    }
}

/// An exit code in which a signal is a negative number.
pub(super) fn code(status: ExitStatus) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|signal| -signal))
}
