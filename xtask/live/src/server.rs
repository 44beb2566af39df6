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

/// How long it may take to listen, and to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many of its last words are kept.
const KEPT: usize = 40;
/// What it says when it listens, before where.
const LISTENS: &str = "interlingua listens on ";

/// A server that runs.
pub(crate) struct Server {
    child: Child,
    /// Where it is.
    pub(crate) url: String,
}

/// The last that servers said on standard error.
#[derive(Clone, Default)]
pub(crate) struct Said(Arc<Mutex<VecDeque<String>>>);

impl Said {
    fn push(&self, line: String) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() == KEPT {
            said.pop_front();
        }
        said.push_back(line);
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl Server {
    /// Starts it with nothing but these variables, and waits until it listens.
    pub(crate) async fn start(
        program: &Path,
        variables: &[(String, String)],
        here: &Path,
        said: &Said,
    ) -> Result<Self> {
        let mut child = Command::new(program)
            .args(["server", "--no-token", "--port", "0"])
            .env_clear()
            .envs(variables.iter().cloned())
            .current_dir(here)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let stderr = child.stderr.take().context("the server has no standard error")?;
        let (listens, url) = oneshot::channel();
        tokio::spawn(attend(stderr, listens, said.clone()));
        match timeout(PATIENCE, url).await {
            Ok(Ok(url)) => Ok(Self { child, url }),
            Ok(Err(_)) => bail!("the server ended before it listened"),
            Err(_) => bail!("the server does not listen after {} s", PATIENCE.as_secs()),
        }
    }

    /// Asks it to end, and waits until it has.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.signal(Signal::TERM)?;
        match timeout(PATIENCE, self.child.wait()).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => bail!("the server ended with {status} when it was asked to end"),
            Ok(Err(error)) => Err(error).context("cannot wait for the server"),
            Err(_) => bail!("the server does not end within {} s", PATIENCE.as_secs()),
        }
    }

    /// Ends it so that it cannot do anything about it.
    pub(crate) async fn kill(mut self) -> Result<()> {
        self.signal(Signal::KILL)?;
        self.child.wait().await.context("cannot wait for the server")?;
        Ok(())
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        kill_process(pid.context("the server ended by itself")?, signal).context("cannot send the server a signal")
    }
}

/// Keeps what the server says, and tells where it listens.
async fn attend(stderr: ChildStderr, listens: oneshot::Sender<String>, said: Said) {
    let mut listens = Some(listens);
    let mut lines = BufReader::new(stderr).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if let Some(url) = line.strip_prefix(LISTENS)
            && let Some(listens) = listens.take()
        {
            // Nobody waits any more if it took too long.
            let _ = listens.send(url.to_owned());
        }
        said.push(line);
    }
}
