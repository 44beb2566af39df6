//! The supervisor's side: a process that starts the agent and sees to it that nothing of it stays.

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
use tokio::signal::unix::{Signal as SystemSignal, SignalKind, signal};
use tokio::time::{Instant, sleep_until};

use super::control::{self, Order, Received, Report, Streams};
use super::descendants::signal_all;

/// How long an agent and what it started may take to end when they are asked to.
const GRACE: Duration = Duration::from_secs(1);
/// How long what an agent left behind may take.
const GRACE_OF_LEFTOVERS: Duration = Duration::from_millis(500);
/// How often what does not die is killed again: a process may have been born in between.
const AGAIN: Duration = Duration::from_millis(20);

/// Supervises an agent, as the server says over standard input, and returns when nothing is left of it.
///
/// This is what the program that a [`Supervisor`](super::Supervisor) names has to do.
///
/// # Errors
/// If standard input is not a server's socket, or the system refuses.
pub fn supervise() -> io::Result<()> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(supervised())
}

async fn supervised() -> io::Result<()> {
    // Ctrl-C in the server's terminal is for the server, which then ends the agents in good order.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    socket.set_nonblocking(false)?;
    let streams = control::receive_streams(&socket)?;
    socket.set_nonblocking(true)?;
    let (orders, mut reports) = tokio::net::UnixStream::from_std(socket)?.into_split();
    // The first byte, which the streams came with, was taken already.
    let mut orders = Received::new(orders);
    let Some(Order::Start { program, args }) = orders.next().await else { return Ok(()) };
    // Heeded before there is an agent: a signal that comes right after its start must not leave it alone.
    let signals = Signals::heed()?;
    match start(program, &args, streams) {
        Ok(agent) => {
            control::write(&mut reports, &Report::Started { pid: agent.as_raw_nonzero().get() }).await?;
            Watch { agent, agent_is_gone: false, deadline: None }.keep(signals, orders, reports).await
        }
        Err(error) => control::write(&mut reports, &Report::NotStarted { reason: error.to_string() }).await,
    }
}

fn start(program: PathBuf, args: &[String], streams: Streams) -> io::Result<Pid> {
    let [stdin, stdout, stderr] = streams.map(Stdio::from);
    // The command holds our copies of the streams, and is gone with them.
    let child = Command::new(program).args(args).stdin(stdin).stdout(stdout).stderr(stderr).process_group(0).spawn()?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| io::Error::other("the agent has no process id"))
}

/// The signals that concern a supervisor.
struct Signals {
    deaths: SystemSignal,
    stops: [SystemSignal; 3],
}

impl Signals {
    fn heed() -> io::Result<Self> {
        let stops = [signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?];
        Ok(Self { deaths: signal(SignalKind::child())?, stops })
    }
}

/// A watch over the agent.
struct Watch {
    agent: Pid,
    agent_is_gone: bool,
    /// When patience with whatever still lives ends; `None` while it may.
    deadline: Option<Instant>,
}

impl Watch {
    /// Returns when nothing is left below this process.
    async fn keep(mut self, mut signals: Signals, mut orders: Received, mut reports: OwnedWriteHalf) -> io::Result<()> {
        let mut server_is_there = true;
        loop {
            let (code, all_gone) = self.bury();
            if let Some(code) = code {
                self.agent_is_gone = true;
                // The server may be gone; this is for the agent's sake.
                let _ = control::write(&mut reports, &Report::Exited { code }).await;
                self.end(GRACE_OF_LEFTOVERS);
            }
            if all_gone {
                return Ok(());
            }
            let [terminate, interrupt, hang_up] = &mut signals.stops;
            tokio::select! {
                order = orders.next(), if server_is_there => match order {
                    Some(Order::Interrupt) if !self.agent_is_gone => {
                        let _ = kill_process(self.agent, Signal::INT);
                    }
                    Some(Order::Interrupt | Order::Start { .. }) => {}
                    Some(Order::End) => self.end(GRACE),
                    None => {
                        server_is_there = false;
                        self.end(GRACE);
                    }
                },
                _ = signals.deaths.recv() => {}
                _ = terminate.recv() => self.end(GRACE),
                _ = interrupt.recv() => self.end(GRACE),
                _ = hang_up.recv() => self.end(GRACE),
                () = until(self.deadline) => {
                    signal_all(self.agent, Signal::KILL);
                    self.deadline = Some(Instant::now() + AGAIN);
                }
            }
        }
    }

    /// Asks everything to end, unless it was asked before, and sets a deadline.
    fn end(&mut self, grace: Duration) {
        let deadline = Instant::now() + grace;
        if self.deadline.is_none() {
            signal_all(self.agent, Signal::TERM);
            // What is stopped cannot heed that.
            signal_all(self.agent, Signal::CONT);
        }
        self.deadline = Some(self.deadline.map_or(deadline, |set| set.min(deadline)));
    }

    /// Takes note of every death: the agent's exit code if it is among them, and whether nobody is left.
    fn bury(&self) -> (Option<i32>, bool) {
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

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
