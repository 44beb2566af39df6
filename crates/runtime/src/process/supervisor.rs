//! The server's side: starts a supervisor, and an agent through it.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::net::unix::pipe;
use tokio::process::Command;
use tokio::time::timeout;

use super::agent_processes::RunningSupervisor;
use super::control::{self, ControlSender, Report, ReportReceiver, Streams};
use super::{CommandProcess, Process, SupervisorChild};

/// How long a supervisor may take to start an agent.
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// A program to start.
#[derive(Clone)]
pub(crate) struct Program {
    /// Path of the program's file.
    pub(crate) path: PathBuf,
    /// The arguments, without the program's name. Other processes on this machine can see them: no secrets.
    pub(crate) args: Vec<String>,
    /// The complete environment. See [`process_environment`](crate::process_environment).
    pub(crate) env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub(crate) directory: PathBuf,
}

/// The program that supervises agents: one that calls [`supervise`](super::supervise). It runs once per agent.
#[derive(Clone, Debug)]
pub struct Supervisor {
    program: PathBuf,
    args: Vec<OsString>,
}

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {}: {reason}", path.display())]
pub(crate) struct StartError {
    path: PathBuf,
    reason: String,
}

impl Supervisor {
    /// A program, and the arguments that make it a supervisor.
    pub fn new<A: Into<OsString>>(program: impl Into<PathBuf>, args: impl IntoIterator<Item = A>) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect() }
    }

    /// The running program, with these arguments. Replacing its file by a newer version does not change it.
    ///
    /// # Errors
    /// If the system does not know the path of the running program.
    pub fn current_exe<A: Into<OsString>>(args: impl IntoIterator<Item = A>) -> io::Result<Self> {
        let program =
            if cfg!(target_os = "linux") { PathBuf::from("/proc/self/exe") } else { std::env::current_exe()? };
        Ok(Self::new(program, args))
    }

    /// Starts a program, and returns when it runs.
    pub(crate) async fn start(&self, program: Program) -> Result<Process, StartError> {
        let (path, directory) = (program.path.clone(), program.directory.clone());
        self.check_start(path, &directory, self.try_start(program)).await
    }

    /// Starts a command whose output is read as bytes, and returns when it runs.
    pub(crate) async fn start_command(&self, program: Program) -> Result<CommandProcess, StartError> {
        let (path, directory) = (program.path.clone(), program.directory.clone());
        self.check_start(path, &directory, self.try_start_command(program)).await
    }

    /// The result of a start, with the reason if it failed or took too long.
    async fn check_start<T>(
        &self,
        path: PathBuf,
        directory: &Path,
        start: impl Future<Output = io::Result<Result<T, String>>>,
    ) -> Result<T, StartError> {
        let failed = |reason: String| StartError { path, reason };
        if !directory.is_dir() {
            return Err(failed(format!("working directory {} does not exist", directory.display())));
        }
        match timeout(START_TIMEOUT, start).await {
            Ok(Ok(started)) => started.map_err(failed),
            Ok(Err(error)) => Err(failed(format!("supervisor {} failed: {error}", self.program.display()))),
            Err(_) => Err(failed(format!("the supervisor did not start the agent within {START_TIMEOUT:?}"))),
        }
    }

    /// Starts a supervisor and the program. The inner error is the supervisor's reason for not starting the program.
    async fn try_start(&self, program: Program) -> io::Result<Result<Process, String>> {
        let (agent_stdin, stdin) = io::pipe()?;
        let (stdout, agent_stdout) = io::pipe()?;
        let (stderr, agent_stderr) = io::pipe()?;
        let streams = [agent_stdin.into(), agent_stdout.into(), agent_stderr.into()];
        let Started { control, child } = match self.start_with(program, streams).await? {
            Ok(started) => started,
            Err(reason) => return Ok(Err(reason)),
        };
        Ok(Ok(Process::new(
            pipe::Sender::from_owned_fd(stdin.into())?,
            pipe::Receiver::from_owned_fd(stdout.into())?,
            pipe::Receiver::from_owned_fd(stderr.into())?,
            control,
            child,
        )))
    }

    /// As [`try_start`](Self::try_start), with one pipe for both outputs and an empty input.
    async fn try_start_command(&self, program: Program) -> io::Result<Result<CommandProcess, String>> {
        let (agent_stdin, _) = io::pipe()?;
        let (output, agent_output) = io::pipe()?;
        let streams = [agent_stdin.into(), agent_output.try_clone()?.into(), agent_output.into()];
        let Started { control, child } = match self.start_with(program, streams).await? {
            Ok(started) => started,
            Err(reason) => return Ok(Err(reason)),
        };
        Ok(Ok(CommandProcess::new(pipe::Receiver::from_owned_fd(output.into())?, control, child)))
    }

    async fn start_with(&self, program: Program, streams: Streams) -> io::Result<Result<Started, String>> {
        let (socket, supervisor_socket) = UnixStream::pair()?;
        let mut child = Command::new(&self.program)
            .args(&self.args)
            .env_clear()
            .envs(program.env)
            .current_dir(program.directory)
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(supervisor_socket)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let running = child.id().map(RunningSupervisor::register);
        control::send_streams(&socket, &streams)?;
        // The supervisor has copies. Ours would keep the pipes open.
        drop(streams);
        socket.set_nonblocking(true)?;
        let (reports, control) = tokio::net::UnixStream::from_std(socket)?.into_split();
        let (mut reports, mut control) = (ReportReceiver::new(reports), ControlSender(control));
        control.start(program.path, program.args).await?;
        let agent = match reports.next().await {
            Some(Report::Started { pid }) => Pid::from_raw(pid),
            Some(Report::NotStarted { reason }) => {
                // The supervisor exits by itself.
                let _ = child.wait().await;
                return Ok(Err(reason));
            }
            Some(Report::Exited { .. }) | None => {
                let status = child.wait().await?;
                return Err(io::Error::other(format!("it exited with {status} before it started the agent")));
            }
        };
        Ok(Ok(Started { control, child: SupervisorChild { child, reports, agent, _running: running } }))
    }
}

/// A program that a supervisor has started.
struct Started {
    control: ControlSender,
    child: SupervisorChild,
}
