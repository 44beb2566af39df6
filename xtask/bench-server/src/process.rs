//! The process of a measured server.

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

/// How long a server may take to answer its first request, and to exit.
const SERVER_TIMEOUT: Duration = Duration::from_secs(20);
/// Interval between health requests. It is short, because it limits the precision of the start time.
const HEALTH_POLL_INTERVAL: Duration = Duration::from_micros(200);

/// A running server. It is killed when it is dropped.
pub(crate) struct Server {
    /// Base URL.
    pub(crate) base: String,
    /// Time from its start to its first answer.
    pub(crate) start: Duration,
    child: Child,
    _folder: Option<TempDir>,
}

impl Server {
    pub(crate) async fn start(program: &Path) -> Result<Self> {
        Self::start_with_agents(program, None).await
    }

    /// Starts a server that finds its agents in a folder.
    pub(crate) async fn start_with_agents(program: &Path, agents: Option<&Path>) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let server = Self::spawn(program, agents, folder.path(), &[]).await?;
        Ok(Self { _folder: Some(folder), ..server })
    }

    /// Starts a server with a data folder that exists.
    pub(crate) async fn start_in(program: &Path, data_dir: &Path) -> Result<Self> {
        Self::spawn(program, None, data_dir, &[]).await
    }

    /// As [`start_in`](Self::start_in), with further arguments.
    pub(crate) async fn start_in_with(program: &Path, data_dir: &Path, arguments: &[&str]) -> Result<Self> {
        Self::spawn(program, None, data_dir, arguments).await
    }

    async fn spawn(program: &Path, agents: Option<&Path>, data_dir: &Path, arguments: &[&str]) -> Result<Self> {
        // The system does not assign the same port twice in a row, so it is still free when the server binds it.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let mut command = Command::new(program);
        if let Some(agents) = agents {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(agents.to_owned()).chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(folders)?);
        }
        let start = Instant::now();
        let mut child = command
            .args(["server", "--no-token", "--log", "warn", "--port", &address.port().to_string(), "--data-dir"])
            .arg(data_dir)
            .args(arguments)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let base = format!("http://{address}");
        while check_health(&address.to_string()).await.is_err() {
            if let Some(status) = child.try_wait()? {
                bail!("the server exited with {status} before its first answer");
            }
            if start.elapsed() > SERVER_TIMEOUT {
                bail!("the server does not answer on {base} after {} s", SERVER_TIMEOUT.as_secs());
            }
            sleep(HEALTH_POLL_INTERVAL).await;
        }
        Ok(Self { base, start: start.elapsed(), child, _folder: None })
    }

    pub(crate) fn pid(&self) -> u32 {
        // Always set, because the child has not been waited for.
        self.child.id().unwrap_or_default()
    }

    pub(crate) async fn stop(mut self) -> Result<()> {
        self.child.start_kill()?;
        timeout(SERVER_TIMEOUT, self.child.wait()).await.context("the server does not exit")??;
        Ok(())
    }
}

/// Sends one health request over a raw connection, because an HTTP client would add its own start-up time.
async fn check_health(address: &str) -> Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /v1/health HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    if !answer.starts_with("HTTP/1.1 200") {
        bail!("the server is not healthy");
    }
    Ok(())
}
