//! The process of an agent.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};

use anyhow::{Context as _, Result};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::mpsc;

use crate::agent_dirs::AgentDirs;
use crate::recording_writer::RecordingWriter;

/// Output of a process.
#[derive(Debug)]
pub(crate) enum Output {
    /// A line on its standard output.
    Line(String),
    /// It has exited, with this code.
    Exited(Option<i32>),
}

/// The process of an agent.
pub(crate) struct Process {
    pid: Option<Pid>,
    stdin: Option<ChildStdin>,
    output: mpsc::UnboundedReceiver<Output>,
    recording: RecordingWriter,
    has_exited: bool,
}

/// How the lines of standard output are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StdoutRole {
    /// As received lines: standard output is the wire.
    Wire,
    /// As standard error: the lines are log output, and the wire is HTTP.
    Log,
}

impl Process {
    /// Starts a program in the agent's directories. It inherits nothing from this program's environment.
    pub(crate) fn start(
        program: &Path,
        arguments: &[String],
        variables: &[(String, String)],
        dirs: &AgentDirs,
        recording: &RecordingWriter,
        stdout: StdoutRole,
    ) -> Result<Self> {
        let mut child = Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(dirs.environment())
            .envs(variables.iter().cloned())
            .current_dir(&dirs.workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let stdin = child.stdin.take();
        let (sender, output) = mpsc::unbounded_channel();
        tokio::spawn(record_output(child, sender, recording.clone(), stdout));
        Ok(Self { pid, stdin, output, recording: recording.clone(), has_exited: false })
    }

    /// Sends a line.
    pub(crate) async fn send(&mut self, line: &str) -> Result<()> {
        let stdin = self.stdin.as_mut().context("the agent's input is closed")?;
        self.recording.record_sent(line);
        stdin.write_all(format!("{line}\n").as_bytes()).await.context("the agent has closed its input")?;
        stdin.flush().await.context("the agent has closed its input")
    }

    /// Closes its input.
    pub(crate) fn close_input(&mut self) {
        if let Some(stdin) = self.stdin.take() {
            // Recorded first, so that the agent's reaction comes after it in the recording.
            self.recording.record_close();
            drop(stdin);
        }
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        match self.pid.filter(|_| !self.has_exited) {
            Some(pid) => kill_process(pid, signal).context("cannot send a signal to the agent"),
            None => Ok(()),
        }
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.has_exited
    }

    /// The next output. After the exit, this is always [`Output::Exited`].
    pub(crate) async fn next(&mut self) -> Output {
        let output = self.output.recv().await.unwrap_or(Output::Exited(None));
        if let Output::Exited(_) = output {
            self.has_exited = true;
        }
        output
    }

    /// Waits for the exit and discards the output until then.
    pub(crate) async fn wait(&mut self) {
        while !self.has_exited {
            self.next().await;
        }
    }
}

/// Kills the agent: without a host it has nothing to do.
impl Drop for Process {
    fn drop(&mut self) {
        // Fails if the process has exited meanwhile.
        let _ = self.signal(Signal::KILL);
    }
}

/// Records the output of the process until it has exited.
async fn record_output(
    mut child: Child,
    sender: mpsc::UnboundedSender<Output>,
    recording: RecordingWriter,
    role: StdoutRole,
) {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let read_stdout = for_each_line(stdout, |line| {
        match role {
            StdoutRole::Wire => recording.record_received(&line),
            StdoutRole::Log => recording.record_stderr(&line),
        }
        // Fails after the end of the scenario, when the output is still recorded but no longer used.
        let _ = sender.send(Output::Line(line));
    });
    let read_stderr = for_each_line(stderr, |line| recording.record_stderr(&line));
    let ((), (), status) = tokio::join!(read_stdout, read_stderr, child.wait());
    let code = status.ok().and_then(exit_code);
    recording.record_exit(code);
    let _ = sender.send(Output::Exited(code));
}

async fn for_each_line(pipe: Option<impl AsyncRead + Unpin>, mut handle: impl FnMut(String)) {
    let Some(pipe) = pipe else { return };
    let mut reader = BufReader::new(pipe);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).await.is_ok_and(|count| count > 0) {
        handle(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned());
        line.clear();
    }
}

/// The exit code; a signal is a negative number.
fn exit_code(status: ExitStatus) -> Option<i32> {
    status.code().or_else(|| status.signal().map(|signal| -signal))
}
