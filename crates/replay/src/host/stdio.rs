//! Talking over standard input and output.

use std::process::Stdio;
use std::time::Duration;

use interlingua_wirelog::{Input, Record};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

use super::lines::{Lines, code};
use super::rename::Renamed;
use super::{HostError, Tape};

/// An agent that runs.
struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines,
    errors: Lines,
}

/// Plays the host with one process.
pub(super) async fn converse(
    records: impl Iterator<Item = (usize, &Record)>,
    command: Command,
    limit: Duration,
    renamed: &mut Renamed,
    is_last: bool,
    tape: &mut Tape,
) -> Result<(), HostError> {
    let mut number = 0;
    let mut agent = Agent::start(command).map_err(|found| HostError {
        number,
        expected: "an agent that starts".to_owned(),
        found,
    })?;
    let mut has_left = false;
    for (at, record) in records {
        number = at + 1;
        let failed = |found| HostError { number, expected: format!("{:?}", record.input), found };
        match &record.input {
            Input::Received(_) => {
                let line = agent.output.next(limit).await.map_err(failed)?;
                tape.take_down(Input::Received(line));
            }
            Input::Stderr(_) => {
                let line = agent.errors.next(limit).await.map_err(failed)?;
                tape.take_down(Input::Stderr(line));
            }
            Input::Sent(line) => {
                if let Some(line) = agent.output.early() {
                    return Err(failed(format!("the agent not waiting for it but saying {line}")));
                }
                let line = renamed.line(line);
                agent.send(&line).await.map_err(failed)?;
                tape.take_down(Input::Sent(line));
            }
            Input::Close => {
                agent.input = None;
                tape.take_down(Input::Close);
            }
            Input::Exit { .. } => {
                let code = agent.leave(limit, tape).await.map_err(failed)?;
                tape.take_down(Input::Exit { code });
                has_left = true;
            }
            Input::Request { .. } | Input::Reply { .. } | Input::Unreadable { .. } => {}
        }
    }
    if !has_left {
        // The recording stops here: what the agent still has to say belongs to it, how it ends does not.
        if !is_last {
            let _ = agent.child.start_kill();
        }
        agent.input = None;
        let failed = |found| HostError { number, expected: "the agent to leave".to_owned(), found };
        agent.leave(limit, tape).await.map_err(failed)?;
    }
    Ok(())
}

impl Agent {
    fn start(mut command: Command) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
            return Err("a process without pipes".to_owned());
        };
        Ok(Self { input: child.stdin.take(), child, output: Lines::of(output), errors: Lines::of(errors) })
    }

    async fn send(&mut self, line: &str) -> Result<(), String> {
        let input = self.input.as_mut().ok_or("an input that was closed")?;
        input.write_all(format!("{line}\n").as_bytes()).await.map_err(|error| error.to_string())
    }

    /// Waits until it has left, and takes down what it says until then.
    async fn leave(&mut self, limit: Duration, tape: &mut Tape) -> Result<Option<i32>, String> {
        let status =
            timeout(limit, self.child.wait()).await.map_err(|_| format!("an agent that is there after {limit:?}"))?;
        for line in self.output.rest().await {
            tape.take_down(Input::Received(line));
        }
        for line in self.errors.rest().await {
            tape.take_down(Input::Stderr(line));
        }
        Ok(code(status.map_err(|error| error.to_string())?))
    }
}
