//! A running agent.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;

use crate::place::Place;
use crate::tape::Tape;

/// What a process says.
#[derive(Debug)]
pub(crate) enum Output {
    /// A line on its standard output.
    Line(String),
    /// It is gone.
    Exited(Option<i32>),
}

/// An agent's process.
pub(crate) struct Process {
    pid: Option<Pid>,
    stdin: Option<ChildStdin>,
    output: mpsc::UnboundedReceiver<Output>,
    tape: Tape,
    gone: bool,
}

/// How the lines of standard output are taken down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stdout {
    /// They are the wire.
    Wire,
    /// They are remarks.
    Remarks,
}

impl Process {
    /// Starts a program in its place, with nothing of this environment.
    pub(crate) fn start(
        program: &Path,
        arguments: &[String],
        variables: &[(String, String)],
        place: &Place,
        tape: &Tape,
        stdout: Stdout,
    ) -> Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(place.environment())
            .envs(variables.iter().cloned())
            .current_dir(&place.workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let stdin = child.stdin.take();
        let (sender, output) = mpsc::unbounded_channel();
        tokio::spawn(attend(child, sender, tape.clone(), stdout));
        Ok(Self { pid, stdin, output, tape: tape.clone(), gone: false })
    }

    /// Sends a line.
    pub(crate) async fn send(&mut self, line: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().context("the agent's input is closed")?;
        self.tape.sent(line);
        stdin.write_all(format!("{line}\n").as_bytes()).await.context("the agent does not read any more")?;
        stdin.flush().await.context("the agent does not read any more")
    }

    /// Closes its input.
    pub(crate) fn close(&mut self) {
        if let Some(stdin) = self.stdin.take() {
            // First taken down: what the agent does then comes after it.
            self.tape.closed();
            drop(stdin);
        }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        match self.pid.filter(|_| !self.gone) {
            Some(pid) => kill_process(pid, signal).context("cannot send the agent a signal"),
            None => Ok(()),
        }
    }

    /// Whether it is gone.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// What it says next. After its end that is all there ever is.
    pub(crate) async fn next(&mut self) -> Output {
        let output = self.output.recv().await.unwrap_or(Output::Exited(None));
        if let Output::Exited(_) = output {
            self.gone = true;
        }
        output
    }
}

/// An agent that nobody hosts any more has nothing to do.
impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself meanwhile.
        let _ = self.signal(Signal::KILL);
    }
}

/// Takes down all that the process says until it is gone.
async fn attend(mut child: Child, sender: mpsc::UnboundedSender<Output>, tape: Tape, wire: Stdout) {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let said = lines(stdout, |line| {
        match wire {
            Stdout::Wire => tape.received(&line),
            Stdout::Remarks => tape.stderr(&line),
        }
        // Nobody listens any more when the scenario is over; it is still taken down.
        let _ = sender.send(Output::Line(line));
    });
    let complained = lines(stderr, |line| tape.stderr(&line));
    let ((), (), status) = tokio::join!(said, complained, child.wait());
    let code = status.ok().and_then(exit_code);
    tape.exited(code);
    let _ = sender.send(Output::Exited(code));
}

async fn lines(from: Option<impl AsyncRead + Unpin>, mut each: impl FnMut(String)) {
    let Some(from) = from else { return };
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).await.is_ok_and(|count| count > 0) {
        each(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned());
        line.clear();
    }
}

/// The code; a signal is a negative one.
fn exit_code(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| status.signal().map(|signal| -signal))
}
