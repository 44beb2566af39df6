//! The supervisor's side: a process that starts the agent and kills all its descendants in the end.

use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, wait};
use tokio::net::unix::OwnedWriteHalf;
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::control::{self, ControlCommand, ControlReader, Report, Streams};
use super::descendants::signal_all;

/// How long an agent and its descendants may take to exit after SIGTERM.
const TERMINATE_GRACE: Duration = Duration::from_secs(1);
/// How long descendants may take to exit when the agent itself has exited.
const LEFTOVER_GRACE: Duration = Duration::from_millis(500);
/// Interval at which remaining descendants are killed again: new ones may have been forked in between.
const KILL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs a supervisor: takes the server's commands from standard input, and returns when no descendant is left.
///
/// The program that a [`Supervisor`](super::Supervisor) names has to call this.
///
/// # Errors
/// If standard input is not a server's socket, or a system call fails.
pub fn supervise() -> io::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run())
}

async fn run() -> io::Result<()> {
    // The environment of the agent, which is ours too, is not for other agents of the same user.
    #[cfg(target_os = "linux")]
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)?;
    // Ctrl-C in the server's terminal is for the server, which then stops the agents in order.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    socket.set_nonblocking(false)?;
    let streams = control::receive_streams(&socket)?;
    socket.set_nonblocking(true)?;
    let (commands, mut reports) = tokio::net::UnixStream::from_std(socket)?.into_split();
    // The first byte was read together with the streams.
    let mut commands = ControlReader::new(commands);
    let Some(ControlCommand::Start { program, args }) = commands.next().await else { return Ok(()) };
    // Subscribed before the agent starts: a signal right after the start must not leave the agent alone.
    let signals = Signals::subscribe()?;
    match start(program, &args, streams) {
        Ok(agent) => {
            control::write(&mut reports, &Report::Started { pid: agent.as_raw_nonzero().get() }).await?;
            Supervision { agent, has_agent_exited: false, kill_deadline: None }.run(signals, commands, reports).await
        }
        Err(error) => control::write(&mut reports, &Report::NotStarted { reason: error.to_string() }).await,
    }
}

fn start(program: PathBuf, args: &[String], streams: Streams) -> io::Result<Pid> {
    let [stdin, stdout, stderr] = streams.map(Stdio::from);
    // Our copies of the streams are closed when the command is dropped.
    let child = Command::new(program).args(args).stdin(stdin).stdout(stdout).stderr(stderr).process_group(0).spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::other("the agent has no process id"))
}

/// The signals that a supervisor handles.
struct Signals {
    child_exited: SignalStream,
    /// SIGTERM, SIGINT and SIGHUP.
    stop: [SignalStream; 3],
}

impl Signals {
    fn subscribe() -> io::Result<Self> {
        let stop = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?];
        Ok(Self { child_exited: signal(SignalKind::child())?, stop })
    }
}

/// The supervision of a running agent.
struct Supervision {
    agent: Pid,
    has_agent_exited: bool,
    /// Deadline for killing remaining descendants; `None` while they may run.
    kill_deadline: Option<Instant>,
}

impl Supervision {
    /// Returns when this process has no descendants any more.
    async fn run(
        mut self,
        mut signals: Signals,
        mut commands: ControlReader,
        mut reports: OwnedWriteHalf,
    ) -> io::Result<()> {
        let mut is_connected = true;
        loop {
            let (exit_code, is_last) = self.reap();
            if let Some(code) = exit_code {
                self.has_agent_exited = true;
                // Without a server, the descendants still have to be killed.
                let _ = control::write(&mut reports, &Report::Exited { code }).await;
                self.terminate(LEFTOVER_GRACE);
            }
            if is_last {
                return Ok(());
            }
            let [terminate, interrupt, hang_up] = &mut signals.stop;
            tokio::select! {
                command = commands.next(), if is_connected => match command {
                    Some(ControlCommand::Interrupt) if !self.has_agent_exited => {
                        let _ = kill_process(self.agent, Signal::INT);
                    }
                    Some(ControlCommand::Interrupt | ControlCommand::Start { .. }) => {}
                    Some(ControlCommand::End) => self.terminate(TERMINATE_GRACE),
                    None => {
                        is_connected = false;
                        self.terminate(TERMINATE_GRACE);
                    }
                },
                _ = signals.child_exited.recv() => {}
                _ = terminate.recv() => self.terminate(TERMINATE_GRACE),
                _ = interrupt.recv() => self.terminate(TERMINATE_GRACE),
                _ = hang_up.recv() => self.terminate(TERMINATE_GRACE),
                () = sleep_until_deadline(self.kill_deadline) => {
                    signal_all(self.agent, Signal::KILL);
                    self.kill_deadline = Some(Instant::now() + KILL_INTERVAL);
                }
            }
        }
    }

    /// Sends SIGTERM to all descendants, unless that was done before, and sets the deadline for killing them.
    fn terminate(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace;
        if self.kill_deadline.is_none() {
            signal_all(self.agent, Signal::TERM);
            // A stopped process does not handle SIGTERM before it continues.
            signal_all(self.agent, Signal::CONT);
        }
        self.kill_deadline = Some(self.kill_deadline.map_or(deadline, |set| set.min(deadline)));
    }

    /// Reaps exited children. Returns the agent's exit code if it is among them, and whether no child is left.
    fn reap(&self) -> (Option<i32>, bool) {
        let mut code = None;
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.agent => code = exit_code(status).or(code),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return (code, false),
                // There are no children.
                Err(_) => return (code, true),
            }
        }
    }
}

fn exit_code(status: WaitStatus) -> Option<i32> {
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| -signal))
}

async fn sleep_until_deadline(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
