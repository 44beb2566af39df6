//! Replays the host's side over standard input and output.

use std::process::Stdio;

use interlingua_wirelog::{Input, Record};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use super::id_renamer::IdRenamer;
use super::lines::{Lines, exit_code};
use super::{HostError, RecordBuffer, STEP_TIMEOUT};

/// A running agent.
struct AgentProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines,
    stderr: Lines,
}

/// Replays the records of one process.
pub(super) async fn replay(
    records: impl Iterator<Item = (usize, &Record)>,
    command: Command,
    renamer: &mut IdRenamer,
    is_last: bool,
    buffer: &mut RecordBuffer,
) -> Result<(), HostError> {
    let mut number = 0;
    let mut agent = AgentProcess::start(command).map_err(|found| HostError {
        number,
        expected: "an agent that starts".to_owned(),
        found,
    })?;
    let mut has_exited = false;
    for (index, record) in records {
        number = index + 1;
        let failed = |found| HostError { number, expected: format!("{:?}", record.input), found };
        match &record.input {
            Input::Received(_) => {
                let line = agent.stdout.next().await.map_err(failed)?;
                buffer.push(Input::Received(line));
            }
            Input::Stderr(_) => {
                let line = agent.stderr.next().await.map_err(failed)?;
                buffer.push(Input::Stderr(line));
            }
            Input::Sent(line) => {
                if let Some(line) = agent.stdout.try_next() {
                    return Err(failed(format!("a line that the agent sent without waiting for it: {line}")));
                }
                let line = renamer.rename_line(line);
                agent.send(&line).await.map_err(failed)?;
                buffer.push(Input::Sent(line));
            }
            Input::Close => {
                agent.stdin = None;
                buffer.push(Input::Close);
            }
            Input::Exit { .. } => {
                let code = agent.wait(buffer).await.map_err(failed)?;
                buffer.push(Input::Exit { code });
                has_exited = true;
            }
            Input::Request { .. } | Input::Reply { .. } | Input::Unreadable { .. } => {}
        }
    }
    if !has_exited {
        // The recording ends here. The rest of the agent's output belongs to it, but the way in which the process ends
        // does not.
        if !is_last {
            let _ = agent.child.start_kill();
        }
        agent.stdin = None;
        let failed = |found| HostError { number, expected: "the exit of the agent".to_owned(), found };
        agent.wait(buffer).await.map_err(failed)?;
    }
    Ok(())
}

impl AgentProcess {
    fn start(mut command: Command) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("a process without pipes".to_owned());
        };
        Ok(Self { stdin: child.stdin.take(), child, stdout: Lines::spawn(stdout), stderr: Lines::spawn(stderr) })
    }

    async fn send(&mut self, line: &str) -> Result<(), String> {
        let stdin = self.stdin.as_mut().ok_or("a closed input")?;
        stdin.write_all(format!("{line}\n").as_bytes()).await.map_err(|error| error.to_string())
    }

    /// Waits for the exit of the process, captures the rest of its output, and returns the exit code.
    async fn wait(&mut self, buffer: &mut RecordBuffer) -> Result<Option<i32>, String> {
        let status = timeout(STEP_TIMEOUT, self.child.wait())
            .await
            .map_err(|_| format!("an agent that still runs after {STEP_TIMEOUT:?}"))?;
        for line in self.stdout.read_to_end().await {
            buffer.push(Input::Received(line));
        }
        for line in self.stderr.read_to_end().await {
            buffer.push(Input::Stderr(line));
        }
        Ok(exit_code(status.map_err(|error| error.to_string())?))
    }
}
