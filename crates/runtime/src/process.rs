//! Agents as processes, which never outlive their server.
//!
//! An agent is not started by the server itself but by a small supervising child of it (the same program again, see
//! [`Supervisor`]). The supervisor takes in every process below the agent that loses its parent, and holds one end of a
//! socket whose other end is the server's. When it is told to, when the agent is gone, or when the socket closes
//! (because a [`Process`] was dropped, or the server died, of `kill -9` for that matter), it ends everything below it
//! and then itself.
//!
//! ```text
//!             control socket: start, interrupt, end ▶ ◀ started, exited
//!   server ────────────────────────────────────────── supervisor (own session, subreaper)
//!      │                                                  │ parent of
//!      └───────────── stdin, stdout, stderr ────────── agent (own process group) ── whatever it starts
//! ```
//!
//! The agent's input and output are pipes of the server's own, handed through the socket: the supervisor copies nothing
//! and sees nothing. On a system without subreapers (macOS), what the agent starts is ended by process group.
//!
//! # For drivers
//!
//! [`Supervisor::start`] takes a [`Program`] and gives a [`Process`]. [`Process::read`] reads its pipes: all lines that
//! are there, and last of all its exit, which comes when nothing is left of it. There is no queue in between: a driver that
//! does not read makes the agent wait. [`Process::send`] queues a line and never waits, so that a driver cannot be stuck
//! between an agent that does not read and one that is not read. [`Process::leave`] ends it.

mod control;
mod descendants;
mod lines;
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
use control::Reports;
use lines::{Lines, Source};
pub use supervise::supervise;
pub(crate) use supervisor::Program;
#[cfg(all(test, target_os = "linux"))]
use supervisor::StartError;
pub use supervisor::Supervisor;

/// The longest line of a standard error that is kept whole.
const MAX_STDERR_LINE_BYTES: usize = 64 << 10;
/// How long output is waited for after everything that could have printed it is gone.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);
/// How long the output of a dropped process is read.
const DROPPED_DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an agent may take to leave by itself when its input ends.
const EXIT_GRACE: Duration = Duration::from_millis(400);

/// A running agent. Dropped, it is ended with everything that it started.
#[derive(Debug)]
pub(crate) struct Process {
    stdin: Option<Stdin>,
    /// `None` once it has ended.
    stdout: Option<Lines<pipe::Receiver>>,
    stderr: Option<Lines<pipe::Receiver>>,
    /// What was read and not returned yet.
    pending: VecDeque<Input>,
    orders: control::Orders,
    status: Status,
}

/// Whether a process runs.
#[derive(Debug)]
enum Status {
    /// As far as is known. The task waits until nothing is left of it.
    Running(JoinHandle<Option<i32>>),
    /// Nothing is left of it, but its pipes may still hold output, which is read until this deadline.
    Gone { code: Option<i32>, deadline: Instant },
    /// All of its output was returned, and its exit.
    Exited(Option<i32>),
}

/// A way to send lines to a process that can be kept elsewhere. The process's input ends when all of them are gone.
#[derive(Clone, Debug)]
pub(crate) struct Stdin(mpsc::UnboundedSender<String>);

impl Stdin {
    /// Queues a line, to which its line break is added. A process that is gone, or does not read, never gets it.
    pub(crate) fn send(&self, line: &str) {
        // A process that is gone is reported by its exit.
        let _ = self.0.send(format!("{line}\n"));
    }
}

impl Process {
    fn new(
        stdin: pipe::Sender,
        stdout: pipe::Receiver,
        stderr: pipe::Receiver,
        orders: control::Orders,
        supervised: Supervised,
    ) -> Self {
        let (input, lines) = mpsc::unbounded_channel();
        tokio::spawn(write(stdin, lines));
        Self {
            stdin: Some(Stdin(input)),
            stdout: Some(Lines::new(stdout, MAX_LINE_BYTES, Source::Stdout)),
            stderr: Some(Lines::new(stderr, MAX_STDERR_LINE_BYTES, Source::Stderr)),
            pending: VecDeque::new(),
            orders,
            status: Status::Running(tokio::spawn(supervised.gone())),
        }
    }

    /// The next line or the exit. Once it has exited, that is all there ever is. Can be cancelled without losing
    /// anything.
    pub(crate) async fn next(&mut self) -> Input {
        loop {
            if let Some(input) = self.pending.pop_front() {
                return input;
            }
            self.pending = self.read().await.into();
        }
    }

    /// All lines that are there, at least one; or its exit, which is the last, and from then on all there ever is. Can be
    /// cancelled without losing anything.
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
                        self.status = Status::Gone { code, deadline };
                        continue;
                    }
                },
                Status::Gone { code, deadline } => tokio::select! {
                    lines = next_lines(&mut self.stdout), if self.stdout.is_some() => lines,
                    lines = next_lines(&mut self.stderr), if self.stderr.is_some() => lines,
                    // Only something that escaped the supervisor could still hold the pipes.
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

    /// Queues a line for its standard input. See [`Stdin::send`].
    pub(crate) fn send(&self, line: &str) {
        if let Some(stdin) = &self.stdin {
            stdin.send(line);
        }
    }

    /// A way to send it lines from elsewhere; `None` once its input is closed.
    pub(crate) fn stdin(&self) -> Option<Stdin> {
        self.stdin.clone()
    }

    /// Ends its standard input, after what was queued.
    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Sends it what a terminal's Ctrl-C would: SIGINT, to the agent alone.
    pub(crate) async fn interrupt(&mut self) {
        self.orders.interrupt().await;
    }

    /// Has it ended with everything that it started: SIGTERM, some grace, SIGKILL. What it still says, and its exit,
    /// come from [`read`](Process::read).
    pub(crate) async fn end(&mut self) {
        self.orders.end().await;
    }

    /// Closes its input, and [ends](Process::end) it if it does not exit then. What it still says goes to the wire, its
    /// exit included.
    pub(crate) async fn leave(mut self, output: &OutputSender) {
        self.close_input();
        output.send(Input::Close).await;
        let deadline = Instant::now() + EXIT_GRACE;
        while let Ok(inputs) = timeout_at(deadline, self.read()).await {
            if forward(inputs, output).await {
                return;
            }
        }
        self.end().await;
        while !forward(self.read().await, output).await {}
    }
}

impl Drop for Process {
    /// The supervisor ends the process now. What it still prints is read and dropped, so that it can come to its end.
    fn drop(&mut self) {
        let pipes = [self.stdout.take(), self.stderr.take()];
        let Ok(runtime) = Handle::try_current() else { return };
        for lines in pipes.into_iter().flatten() {
            runtime.spawn(timeout(DROPPED_DRAIN_TIMEOUT, lines.drain()));
        }
    }
}

/// The next lines of a pipe; none at its end, which is noted. Without a pipe, waits for ever.
async fn next_lines(pipe: &mut Option<Lines<pipe::Receiver>>) -> Vec<Input> {
    let Some(lines) = pipe else { return std::future::pending().await };
    let inputs = lines.next().await;
    if inputs.is_empty() {
        *pipe = None;
    }
    inputs
}

/// Forwards what a process said to the wire. True if its exit is among it.
pub(crate) async fn forward(inputs: Vec<Input>, output: &OutputSender) -> bool {
    let has_exited = matches!(inputs.last(), Some(Input::Exit { .. }));
    let mut batch = OutputBatch::default();
    batch.extend(inputs);
    output.send_batch(&mut batch).await;
    has_exited
}

/// The supervisor of a process that was started, and what it reports.
#[derive(Debug)]
struct Supervised {
    child: tokio::process::Child,
    reports: Reports,
    /// The agent, which leads a process group.
    agent: Option<Pid>,
}

impl Supervised {
    /// Waits until the agent and everything below it are gone: its exit code.
    async fn gone(mut self) -> Option<i32> {
        let code = self.reports.exit_code().await;
        if code.is_err()
            && let Some(agent) = self.agent
        {
            // Somebody killed the supervisor. What is left is ended by what it has in common.
            let _ = kill_process_group(agent, Signal::KILL);
        }
        if let Err(error) = self.child.wait().await {
            tracing::warn!("a supervisor cannot be waited for: {error}");
        }
        code.unwrap_or_default()
    }
}

/// Writes what is queued, until the queue or the process ends.
async fn write(mut stdin: pipe::Sender, mut lines: mpsc::UnboundedReceiver<String>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}
