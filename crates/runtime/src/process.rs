//! Agents as processes that never outlive their server.
//!
//! The server does not start an agent itself. It starts a supervisor, a small child process (the same program again,
//! see [`Supervisor`]), and the supervisor starts the agent. The supervisor adopts every descendant of the agent that
//! loses its parent, and holds one end of a socket whose other end belongs to the server. It kills all descendants and
//! then exits when the server tells it to, when the agent has exited, or when the socket closes. The socket closes when
//! a [`Process`] is dropped, and when the server dies, even by `kill -9`.
//!
//! ```text
//!             control socket: start, interrupt, end ▶ ◀ started, exited
//!   server ────────────────────────────────────────── supervisor (own session, subreaper)
//!      │                                                  │ parent of
//!      └───────────── stdin, stdout, stderr ────────── agent (own process group) ── its descendants
//! ```
//!
//! The agent's standard streams are pipes of the server, passed through the socket: the supervisor neither copies nor
//! sees their content. On a system without subreapers (macOS), descendants are killed by process group.
//!
//! # For drivers
//!
//! [`Supervisor::start`] takes a [`Program`] and returns a [`Process`]. [`Process::read`] reads its pipes: all lines
//! that are there, and last its exit, which comes when all descendants are gone. There is no queue in between: a driver
//! that does not read makes the agent wait. [`Process::send`] queues a line and never waits, so that driver and agent
//! cannot wait for each other to read. [`Process::shutdown`] ends it. [`Supervisor::start_command`] returns a
//! [`CommandProcess`] instead, whose output is read as bytes.

mod agent_processes;
mod command_process;
mod control;
mod descendants;
mod lines;
mod process_status;
#[cfg(target_os = "linux")]
mod socket_owners;
mod supervise;
mod supervisor;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use interlingua_convert::Input;
use interlingua_wirelog::MAX_LINE_BYTES;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::driver_output::{OutputBatch, OutputSender};
use agent_processes::RunningSupervisor;
pub use agent_processes::has_running_agents;
pub(crate) use command_process::{CommandEvent, CommandProcess};
use control::{ControlSender, ReportReceiver};
use lines::{Lines, Source};
#[cfg(target_os = "linux")]
pub use socket_owners::{SocketOwner, SocketOwners, agents_run_as, find_process_owner};
pub use supervise::supervise;
pub(crate) use supervisor::Program;
#[cfg(all(test, target_os = "linux"))]
use supervisor::StartError;
pub use supervisor::Supervisor;

/// Maximum length of a line on standard error. Longer lines are truncated.
const MAX_STDERR_LINE_BYTES: usize = 64 << 10;
/// How long to wait for the end of the pipes after all processes that could write to them are gone.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the output of a dropped process is read and discarded.
const DROPPED_DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an agent may take to exit by itself after its standard input is closed.
const EXIT_GRACE: Duration = Duration::from_millis(400);

/// A running agent. Dropping it kills the agent with all descendants.
#[derive(Debug)]
pub(crate) struct Process {
    stdin: Option<Stdin>,
    /// `None` after the end of the pipe.
    stdout: Option<Lines<pipe::Receiver>>,
    stderr: Option<Lines<pipe::Receiver>>,
    /// Inputs that were read and not returned yet.
    pending: VecDeque<Input>,
    control: ControlSender,
    status: Status,
}

/// Whether a process runs.
#[derive(Debug)]
enum Status {
    /// It runs, as far as is known. The task waits until all its processes are gone.
    Running(JoinHandle<Option<i32>>),
    /// All its processes are gone, but the pipes may still hold output. They are read until the deadline.
    Draining { code: Option<i32>, deadline: Instant },
    /// All output and the exit were returned.
    Exited(Option<i32>),
}

/// Sends lines to the standard input of a process. The input is closed when all clones are dropped.
#[derive(Clone, Debug)]
pub(crate) struct Stdin(mpsc::UnboundedSender<String>);

impl Stdin {
    /// Queues a line and adds the line break. A process that has exited, or does not read, never gets it.
    pub(crate) fn send(&self, line: &str) {
        // The exit of the process is reported by `Process::read`.
        let _ = self.0.send(format!("{line}\n"));
    }
}

impl Process {
    fn new(
        stdin: pipe::Sender,
        stdout: pipe::Receiver,
        stderr: pipe::Receiver,
        control: ControlSender,
        supervisor: SupervisorChild,
    ) -> Self {
        let (sender, lines) = mpsc::unbounded_channel();
        tokio::spawn(write_lines(stdin, lines));
        Self {
            stdin: Some(Stdin(sender)),
            stdout: Some(Lines::new(stdout, MAX_LINE_BYTES, Source::Stdout)),
            stderr: Some(Lines::new(stderr, MAX_STDERR_LINE_BYTES, Source::Stderr)),
            pending: VecDeque::new(),
            control,
            status: Status::Running(tokio::spawn(supervisor.wait_until_gone())),
        }
    }

    /// Waits for the next line or the exit. After the exit, returns the exit again. Cancellation loses nothing.
    pub(crate) async fn next(&mut self) -> Input {
        loop {
            if let Some(input) = self.pending.pop_front() {
                return input;
            }
            self.pending = self.read().await.into();
        }
    }

    /// Waits for lines and returns all that are there, at least one. The exit is the last input; after it, only the
    /// exit is returned. Cancellation loses nothing.
    pub(crate) async fn read(&mut self) -> Vec<Input> {
        if !self.pending.is_empty() {
            return std::mem::take(&mut self.pending).into();
        }
        loop {
            let lines = match &mut self.status {
                Status::Exited(code) => return vec![Input::Exit { code: *code }],
                Status::Running(gone) => tokio::select! {
                    lines = next_lines(&mut self.stdout) => lines,
                    lines = next_lines(&mut self.stderr) => lines,
                    code = gone => {
                        let (code, deadline) = (code.unwrap_or_default(), Instant::now() + DRAIN_TIMEOUT);
                        self.status = Status::Draining { code, deadline };
                        continue;
                    }
                },
                Status::Draining { code, deadline } => tokio::select! {
                    lines = next_lines(&mut self.stdout), if self.stdout.is_some() => lines,
                    lines = next_lines(&mut self.stderr), if self.stderr.is_some() => lines,
                    // Only a process that escaped the supervisor can still hold the pipes open.
                    () = sleep_until(*deadline), if self.stdout.is_some() || self.stderr.is_some() => {
                        (self.stdout, self.stderr) = (None, None);
                        continue;
                    }
                    else => {
                        self.status = Status::Exited(*code);
                        continue;
                    }
                },
            };
            if !lines.is_empty() {
                return lines;
            }
        }
    }

    /// Queues a line for the standard input. See [`Stdin::send`].
    pub(crate) fn send(&self, line: &str) {
        if let Some(stdin) = &self.stdin {
            stdin.send(line);
        }
    }

    /// A handle to the standard input; `None` after it was closed.
    pub(crate) fn stdin(&self) -> Option<Stdin> {
        self.stdin.clone()
    }

    /// Closes the standard input, after the queued lines.
    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Sends SIGINT to the agent alone, as Ctrl-C in a terminal would.
    pub(crate) async fn interrupt(&mut self) {
        self.control.interrupt().await;
    }

    /// Ends the agent and all descendants: SIGTERM, a grace period, SIGKILL. [`read`](Process::read) returns the last
    /// output and the exit.
    pub(crate) async fn terminate(&mut self) {
        self.control.end().await;
    }

    /// Closes the standard input, and [terminates](Process::terminate) the agent if it does not exit. Forwards its last
    /// output and its exit.
    pub(crate) async fn shutdown(mut self, output: &OutputSender) {
        self.close_stdin();
        output.send(Input::Close).await;
        let deadline = Instant::now() + EXIT_GRACE;
        while let Ok(inputs) = timeout_at(deadline, self.read()).await {
            if forward(inputs, output).await {
                return;
            }
        }
        self.terminate().await;
        while !forward(self.read().await, output).await {}
    }
}

impl Drop for Process {
    /// The supervisor kills the process now. Its last output is read and discarded, so that a full pipe does not block
    /// it.
    fn drop(&mut self) {
        let pipes = [self.stdout.take(), self.stderr.take()];
        let Ok(runtime) = Handle::try_current() else { return };
        for lines in pipes.into_iter().flatten() {
            runtime.spawn(timeout(DROPPED_DRAIN_TIMEOUT, lines.drain()));
        }
    }
}

/// Reads the next lines of a pipe. At the end of the pipe, returns none and sets it to `None`. Without a pipe, waits
/// forever.
async fn next_lines(pipe: &mut Option<Lines<pipe::Receiver>>) -> Vec<Input> {
    let Some(lines) = pipe else { return std::future::pending().await };
    let inputs = lines.next().await;
    if inputs.is_empty() {
        *pipe = None;
    }
    inputs
}

/// Forwards the inputs of a process to the session. True if its exit is among them.
pub(crate) async fn forward(inputs: Vec<Input>, output: &OutputSender) -> bool {
    let has_exited = matches!(inputs.last(), Some(Input::Exit { .. }));
    let mut batch = OutputBatch::default();
    batch.extend(inputs);
    output.send_batch(&mut batch).await;
    has_exited
}

/// The supervisor of a running process, and its reports.
#[derive(Debug)]
struct SupervisorChild {
    child: tokio::process::Child,
    reports: ReportReceiver,
    /// The agent, which is the leader of a process group.
    agent: Option<Pid>,
    /// Kept until all its processes are gone.
    _running: Option<RunningSupervisor>,
}

impl SupervisorChild {
    /// Waits until the agent and all descendants are gone. Returns the agent's exit code.
    async fn wait_until_gone(mut self) -> Option<i32> {
        let code = self.reports.exit_code().await;
        if code.is_err()
            && let Some(agent) = self.agent
        {
            // The supervisor itself was killed. The process group is all that is left to kill the descendants by.
            let _ = kill_process_group(agent, Signal::KILL);
        }
        if let Err(error) = self.child.wait().await {
            tracing::warn!(supervisor_pid = self.child.id(), %error, "cannot wait for the exit of a supervisor process");
        }
        code.unwrap_or_default()
    }
}

/// Writes queued lines, until the queue or the process ends.
async fn write_lines(mut stdin: pipe::Sender, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}
