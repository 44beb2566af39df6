//! A server that is started to be measured.

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// How long a server may take to answer at all.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that runs until it is stopped or dropped.
pub(crate) struct Server {
    pub(crate) base: String,
    /// From its start to its first answer.
    pub(crate) start: Duration,
    child: Child,
    _folder: TempDir,
}

impl Server {
    pub(crate) async fn start(program: &Path) -> Result<Self> {
        Self::start_with_agents(program, None).await
    }

    /// The same, with agents that are to be found in a folder.
    pub(crate) async fn start_with_agents(program: &Path, agents: Option<&Path>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        // The system does not give the same port twice in a row, so it is still free when the server takes it.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new(program);
        if let Some(agents) = agents {
            let others = std::env::var_os("PATH").unwrap_or_default();
            let all = std::iter::once(agents.to_owned()).chain(std::env::split_paths(&others));
            command.env("PATH", std::env::join_paths(all)?);
        }
        let began = Instant::now();
        let mut child = command
            .args(["server", "--no-token", "--log", "warn", "--port", &address.port().to_string(), "--data-dir"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let base = format!("http://{address}");
        while healthy(&address.to_string()).await.is_err() {
            if let Some(status) = child.try_wait()? {
                bail!("the server ended with {status} before it answered");
            }
            if began.elapsed() > PATIENCE {
                bail!("the server does not answer on {base}");
            }
            sleep(Duration::from_micros(200)).await;
        }
        Ok(Self { base, start: began.elapsed(), child, _folder: folder })
    }

    pub(crate) fn pid(&self) -> u32 {
        // It has not been waited for, so it has one.
        self.child.id().unwrap_or_default()
    }

    pub(crate) async fn stop(mut self) -> Result<()> {
        self.child.start_kill()?;
        timeout(PATIENCE, self.child.wait()).await.context("the server does not end")??;
        Ok(())
    }
}

/// Asks once, by hand: a client that is made for comfort takes its own time.
async fn healthy(address: &str) -> Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /v1/health HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    if !answer.starts_with("HTTP/1.1 200") {
        bail!("not healthy");
    }
    Ok(())
}
