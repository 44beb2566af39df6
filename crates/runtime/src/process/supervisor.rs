//! The server's side: how a supervisor is started.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::net::unix::pipe;
use tokio::process::Command;
use tokio::time::timeout;

use super::control::{self, Orders, Report, Reports};
use super::{Process, Supervised};

/// How long a supervisor may take to start an agent.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A program, as it is to be started.
#[derive(Clone)]
pub(crate) struct Program {
    /// The program's file.
    pub(crate) path: PathBuf,
    /// Its arguments, without its name. Other processes of this machine can see them: nothing secret.
    pub(crate) args: Vec<String>,
    /// All of its environment. See [`variables`](crate::variables).
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub(crate) directory: PathBuf,
}

/// The program that supervises agents: one that calls [`supervise`](super::supervise). It is started once per agent.
#[derive(Clone, Debug)]
pub struct Supervisor {
    program: PathBuf,
    args: Vec<OsString>,
}

/// Why a program does not run.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be started: {reason}", path.display())]
pub(crate) struct StartError {
    path: PathBuf,
    reason: String,
}

impl Supervisor {
    /// A program and the arguments that make it supervise.
    pub fn new<A: Into<OsString>>(program: impl Into<PathBuf>, args: impl IntoIterator<Item = A>) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect() }
    }

    /// This program itself, with these arguments. It stays the same when its file is replaced by a newer one.
    ///
    /// # Errors
    /// If the system cannot tell which program this is.
    pub fn current_exe<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> io::Result<Self> {
        let program =
            if cfg!(target_os = "linux") { PathBuf::from("/proc/self/exe") } else { std::env::current_exe()? };
        Ok(Self::new(program, args))
    }

    /// Starts a program. It runs when this is done.
    pub(crate) async fn start(&self, program: Program) -> Result<Process, StartError> {
        let path = program.path.clone();
        let failed = |reason: String| StartError { path: path.clone(), reason };
        if !program.directory.is_dir() {
            return Err(failed(format!("its working directory {} is gone", program.directory.display())));
        }
        match timeout(START_TIMEOUT, self.try_start(program)).await {
            Ok(Ok(started)) => started.map_err(failed),
            Ok(Err(error)) => Err(failed(format!("{} does not supervise: {error}", self.program.display()))),
            Err(_) => Err(failed(format!("nothing happened within {START_TIMEOUT:?}"))),
        }
    }

    /// The process, or why the supervisor could not start it.
    async fn try_start(&self, program: Program) -> io::Result<Result<Process, String>> {
        let (socket, supervisors) = UnixStream::pair()?;
        let (agents_stdin, stdin) = io::pipe()?;
        let (stdout, agents_stdout) = io::pipe()?;
        let (stderr, agents_stderr) = io::pipe()?;
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .envs(program.env)
            .current_dir(program.directory)
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(supervisors)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        control::send_streams(&socket, &[agents_stdin.into(), agents_stdout.into(), agents_stderr.into()])?;
        socket.set_nonblocking(true)?;
        let (reports, orders) = tokio::net::UnixStream::from_std(socket)?.into_split();
        let (mut reports, mut orders) = (Reports::new(reports), Orders(orders));
        orders.start(program.path, program.args).await?;
        let agent = match reports.next().await {
            Some(Report::Started { pid }) => Pid::from_raw(pid),
            Some(Report::NotStarted { reason }) => {
                // It leaves by itself.
                let _ = child.wait().await;
                return Ok(Err(reason));
            }
            Some(Report::Exited { .. }) | None => {
                let status = child.wait().await?;
                return Err(io::Error::other(format!("it ended with {status}")));
            }
        };
        Ok(Ok(Process::new(
            pipe::Sender::from_owned_fd(stdin.into())?,
            pipe::Receiver::from_owned_fd(stdout.into())?,
            pipe::Receiver::from_owned_fd(stderr.into())?,
            orders,
            Supervised { child, reports, agent },
        )))
    }
}
