//! The server under test, as a process.

use std::collections::VecDeque;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::sync::oneshot;
use tokio::time::timeout;

/// How long the server may take to listen, and to exit.
const SERVER_TIMEOUT: Duration = Duration::from_secs(30);
/// Number of lines that are kept of its standard error.
const MAX_LOG_LINES: usize = 40;
/// Prefix of the line in which it prints its URL.
const LISTENING_PREFIX: &str = "interlingua listens on ";

/// A running server.
pub(crate) struct Server {
    child: Child,
    /// Base URL.
    pub(crate) url: String,
}

/// The last lines of the servers' standard error.
#[derive(Clone, Default)]
pub(crate) struct ServerLog(Arc<Mutex<VecDeque<String>>>);

impl ServerLog {
    fn push(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == MAX_LOG_LINES {
            lines.pop_front();
        }
        lines.push_back(line);
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl Server {
    /// Starts the server with only these environment variables, and waits until it listens.
    pub(crate) async fn start(
        program: &Path,
        variables: &[(String, String)],
        directory: &Path,
        log: &ServerLog,
    ) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["server", "--no-token", "--port", "0"])
            .env_clear()
            .envs(variables.iter().cloned())
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let stderr = child.stderr.take().context("the server has no standard error")?;
        let (url_sender, url) = oneshot::channel();
        tokio::spawn(read_stderr(stderr, url_sender, log.clone()));
        match timeout(SERVER_TIMEOUT, url).await {
            Ok(Ok(url)) => Ok(Self { child, url }),
            Ok(Err(_)) => bail!("the server exited before it listened"),
            Err(_) => bail!("the server does not listen after {} s", SERVER_TIMEOUT.as_secs()),
        }
    }

    /// Terminates it (SIGTERM) and waits for its exit, which must be successful.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.signal(Signal::TERM)?;
        match timeout(SERVER_TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => bail!("the server exited with {status} after SIGTERM"),
            Ok(Err(error)) => Err(error).context("cannot wait for the server"),
            Err(_) => bail!("the server has not exited {} s after SIGTERM", SERVER_TIMEOUT.as_secs()),
        }
    }

    /// Kills it (SIGKILL) and waits for its exit.
    pub(crate) async fn kill(mut self) -> Result<()> {
        self.signal(Signal::KILL)?;
        self.child.wait().await.context("cannot wait for the server")?;
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        kill_process(pid.context("the server has exited")?, signal).context("cannot send a signal to the server")
    }
}

/// Collects the server's standard error, and sends the URL on which it listens.
async fn read_stderr(stderr: ChildStderr, url_sender: oneshot::Sender<String>, log: ServerLog) {
    let mut url_sender = Some(url_sender);
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(url) = line.strip_prefix(LISTENING_PREFIX)
            && let Some(url_sender) = url_sender.take()
        {
            // Fails if the start has timed out.
            let _ = url_sender.send(url.to_owned());
        }
        log.push(line);
    }
}
