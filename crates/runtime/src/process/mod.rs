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
//! [`Supervisor::start`] takes a [`Program`] and gives a [`Process`]. [`Process::hear`] is what it says, all that is at
//! hand: lines, rubbish, complaints, and last of all its exit, which comes when nothing is left of it. [`Process::send`] queues a line and
//! never waits, so that a driver cannot be stuck between an agent that does not read and one that is not read.
//! [`Process::leave`] is the way to part.

mod control;
mod descendants;
mod lines;
mod program;
mod supervise;
mod supervisor;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::batches::{self, Bytes, Receiver, Sender};
use crate::wire::{Gathered, Wire};
use control::Reports;
use lines::{Line, Lines};
pub(crate) use program::Program;
pub use supervise::supervise;
#[cfg(all(test, target_os = "linux"))]
use supervisor::StartError;
pub use supervisor::Supervisor;

/// The longest line that an agent may print. What is longer is not a line but garbled.
const LONGEST_LINE: usize = 256 << 20;
/// The longest complaint that is kept whole.
const LONGEST_COMPLAINT: usize = 64 << 10;
/// So many bytes of output wait for whoever reads them before the agent has to.
const MOST_OUTPUT: u32 = 64 << 10;
/// How long output is waited for after everything that could have printed it is gone.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// How long an agent may take to leave by itself when its input ends.
const POLITE: Duration = Duration::from_millis(400);

/// What a process says.
#[derive(Debug)]
pub(crate) enum Output {
    /// A line on its standard output, without its end. The last one may have been cut off.
    Line(String),
    /// Something on its standard output that is no line of text, for this reason.
    Garbled { bytes: Vec<u8>, reason: String },
    /// A line on its standard error.
    Stderr(String),
    /// It is gone, and so is everything that it started: the last thing that is said. A signal is a negative code;
    /// `None` if nobody knows.
    Exited(Option<i32>),
}

/// A running agent. Dropped, it is ended with everything that it started.
#[derive(Debug)]
pub(crate) struct Process {
    input: Option<Input>,
    output: Receiver<Output>,
    /// What of it was taken and not given out yet.
    taken: VecDeque<Output>,
    orders: control::Orders,
    /// Its exit, once it was told.
    exit: Option<Exit>,
}

/// How a process ended.
#[derive(Clone, Copy, Debug)]
struct Exit(Option<i32>);

/// A way to send lines to a process that can be kept elsewhere. The process's input ends when all of them are gone.
#[derive(Clone, Debug)]
pub(crate) struct Input(mpsc::UnboundedSender<String>);

impl Input {
    /// Queues a line, to which its end is added. A process that is gone, or does not read, never gets it.
    pub(crate) fn send(&self, line: &str) {
        // Whoever is gone says so by its exit.
        let _ = self.0.send(format!("{line}\n"));
    }
}

impl Process {
    fn attend(
        stdin: pipe::Sender,
        stdout: pipe::Receiver,
        stderr: pipe::Receiver,
        orders: control::Orders,
        supervised: Supervised,
    ) -> Self {
        let (input, lines) = mpsc::unbounded_channel();
        let (said, output) = batches::channel(MOST_OUTPUT);
        tokio::spawn(write(stdin, lines));
        tokio::spawn(attend(stdout, stderr, supervised, said));
        Self { input: Some(Input(input)), output, taken: VecDeque::new(), orders, exit: None }
    }

    /// What it says next, one thing at a time. Once it is gone, that is all there ever is. Can be cancelled without
    /// losing anything.
    pub(crate) async fn next(&mut self) -> Output {
        loop {
            if let Some(output) = self.taken.pop_front() {
                return output;
            }
            self.taken = self.hear().await.into();
        }
    }

    /// All that it says next and is there already, at least one thing. Its exit is the last, and once it is gone, that is
    /// all there ever is. Can be cancelled without losing anything.
    pub(crate) async fn hear(&mut self) -> Vec<Output> {
        if !self.taken.is_empty() {
            return std::mem::take(&mut self.taken).into();
        }
        if let Some(Exit(code)) = self.exit {
            return vec![Output::Exited(code)];
        }
        let mut output = self.output.recv().await;
        if output.is_empty() {
            output.push(Output::Exited(None));
        }
        if let Some(Output::Exited(code)) = output.last() {
            self.exit = Some(Exit(*code));
        }
        output
    }

    /// Queues a line for its standard input. See [`Input::send`].
    pub(crate) fn send(&self, line: &str) {
        if let Some(input) = &self.input {
            input.send(line);
        }
    }

    /// A way to send it lines from elsewhere; `None` once its input is closed.
    pub(crate) fn input(&self) -> Option<Input> {
        self.input.clone()
    }

    /// Ends its standard input, after what was queued.
    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Sends it what a terminal's Ctrl-C would: SIGINT, to the agent alone.
    pub(crate) async fn interrupt(&mut self) {
        self.orders.interrupt().await;
    }

    /// Has it ended with everything that it started: SIGTERM, some grace, SIGKILL. What it still says, and its exit,
    /// come from [`next`](Process::next).
    pub(crate) async fn end(&mut self) {
        self.orders.end().await;
    }

    /// Ends it, politely first: its input ends, and if it does not leave then, it is [ended](Process::end). What it
    /// still says goes to the wire, its exit included.
    pub(crate) async fn leave(mut self, wire: &Wire) {
        self.close_input();
        wire.closed().await;
        let patience = Instant::now() + POLITE;
        while let Ok(output) = timeout_at(patience, self.hear()).await {
            if hand_over(output, wire).await {
                return;
            }
        }
        self.end().await;
        while !hand_over(self.hear().await, wire).await {}
    }
}

/// Hands over to the wire what a process said. True if its exit is among it.
async fn hand_over(output: Vec<Output>, wire: &Wire) -> bool {
    let mut gathered = Gathered::default();
    let mut is_gone = false;
    for output in output {
        is_gone |= output.gather(&mut gathered);
    }
    wire.hand_over(&mut gathered).await;
    is_gone
}

impl Output {
    /// Adds it to what goes to the wire. True if it was the exit.
    pub(crate) fn gather(self, gathered: &mut Gathered) -> bool {
        match self {
            Self::Line(line) => gathered.received(line),
            Self::Garbled { bytes, reason } => gathered.garbled(bytes, reason),
            Self::Stderr(line) => gathered.stderr(line),
            Self::Exited(code) => {
                gathered.exit(code);
                return true;
            }
        }
        false
    }
}

impl Bytes for Output {
    fn bytes(&self) -> usize {
        match self {
            Self::Line(line) | Self::Stderr(line) => line.len(),
            Self::Garbled { bytes, .. } => bytes.len(),
            Self::Exited(_) => 0,
        }
    }
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

/// Passes on all that the process says until it is gone.
async fn attend(stdout: pipe::Receiver, stderr: pipe::Receiver, supervised: Supervised, said: Sender<Output>) {
    let speech = pass_on(Lines::new(stdout, LONGEST_LINE), &said, |line| match line {
        Line::Text(line) => Output::Line(line),
        Line::Garbled { bytes, reason } => Output::Garbled { bytes, reason },
    });
    let complaints = pass_on(Lines::new(stderr, LONGEST_COMPLAINT), &said, |line| match line {
        Line::Text(line) => Output::Stderr(line),
        Line::Garbled { bytes, .. } => Output::Stderr(String::from_utf8_lossy(&bytes).into_owned()),
    });
    let heard = async { tokio::join!(speech, complaints) };
    tokio::pin!(heard);
    let gone = supervised.gone();
    tokio::pin!(gone);
    let code = tokio::select! {
        code = &mut gone => {
            // Only something that escaped the supervisor could still hold the pipes.
            let _ = timeout_at(Instant::now() + LAST_WORDS, heard).await;
            code
        }
        _ = &mut heard => gone.await,
    };
    said.send(vec![Output::Exited(code)]).await;
}

/// Passes on lines as they come, those that come together together. When nobody listens any more, they are still read:
/// the process must be able to come to its end.
async fn pass_on(mut lines: Lines<pipe::Receiver>, said: &Sender<Output>, output: impl Fn(Line) -> Output) {
    loop {
        let batch = lines.next().await;
        if batch.is_empty() {
            return;
        }
        said.send(batch.into_iter().map(&output).collect()).await;
    }
}
