//! Terminals that the host runs for an agent: commands as supervised processes, with their output kept up to a limit.
//!
//! Each terminal is a task that owns its process. Dropping the terminals kills the commands.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use interlingua_convert::Input;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::process::{Process, Program, Supervisor};

/// Bytes of output that are kept if the agent sets no limit.
const DEFAULT_OUTPUT_LIMIT: usize = 1 << 20;
/// Maximum number of terminals of a session.
const MAX_TERMINALS: usize = 64;

/// A command to run.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) program: String,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) directory: PathBuf,
    /// Maximum number of bytes of output that are kept.
    pub(super) output_limit: Option<u64>,
}

/// How a command has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ExitStatus {
    /// The exit code; `None` if a signal ended the command, or the code is not known.
    pub(super) code: Option<i32>,
    /// The number of the signal.
    pub(super) signal: Option<i32>,
}

/// Output and state of a terminal.
#[derive(Clone, Debug, Default)]
pub(super) struct TerminalState {
    pub(super) output: String,
    pub(super) truncated: bool,
    /// `None` while the command runs.
    pub(super) exit: Option<ExitStatus>,
}

#[derive(Debug)]
struct Terminal {
    state: watch::Receiver<TerminalState>,
    kill: mpsc::UnboundedSender<()>,
    task: JoinHandle<()>,
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The process is dropped with the task, which kills the command.
        self.task.abort();
    }
}

/// The terminals of a session.
#[derive(Debug, Default)]
pub(super) struct Terminals {
    open: HashMap<String, Terminal>,
    created: u64,
}

impl Terminals {
    /// Runs a command. Returns the id of its terminal.
    pub(super) async fn create(&mut self, supervisor: &Supervisor, command: Command) -> Result<String, String> {
        if self.open.len() >= MAX_TERMINALS {
            return Err(format!("the session has {MAX_TERMINALS} terminals already: release one first"));
        }
        let limit =
            command.output_limit.map_or(DEFAULT_OUTPUT_LIMIT, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        let path = find_program(&command)?;
        let program = Program { path, args: command.args, env: command.env, directory: command.directory };
        let mut process = supervisor.start(program).await.map_err(|error| error.to_string())?;
        process.close_stdin();
        let (sender, state) = watch::channel(TerminalState::default());
        let (kill, kills) = mpsc::unbounded_channel();
        self.created += 1;
        let id = format!("term_{}", self.created);
        let task = tokio::spawn(run(process, sender, kills, limit));
        self.open.insert(id.clone(), Terminal { state, kill, task });
        Ok(id)
    }

    /// Output and state of a terminal; `None` if there is none with this id.
    pub(super) fn state(&self, id: &str) -> Option<TerminalState> {
        self.open.get(id).map(|terminal| terminal.state.borrow().clone())
    }

    /// A future that waits until the command has ended; `None` if there is no such terminal.
    pub(super) fn wait(&self, id: &str) -> Option<impl Future<Output = Option<ExitStatus>> + Send + use<>> {
        let mut state = self.open.get(id)?.state.clone();
        Some(async move {
            // The task ends without an exit if the terminal is released.
            state.wait_for(|state| state.exit.is_some()).await.ok().and_then(|state| state.exit)
        })
    }

    /// Kills the command. Its terminal stays. False if there is none with this id.
    pub(super) fn kill(&self, id: &str) -> bool {
        self.open.get(id).is_some_and(|terminal| {
            // A command that has ended needs no kill.
            let _ = terminal.kill.send(());
            true
        })
    }

    /// Kills the command and forgets the terminal. False if there is none with this id.
    pub(super) fn release(&mut self, id: &str) -> bool {
        self.open.remove(id).is_some()
    }
}

/// Reads the output of a command until it has ended.
async fn run(
    mut process: Process,
    state: watch::Sender<TerminalState>,
    mut kills: mpsc::UnboundedReceiver<()>,
    limit: usize,
) {
    loop {
        tokio::select! {
            kill = kills.recv() => match kill {
                Some(()) => process.terminate().await,
                None => return,
            },
            inputs = process.read() => {
                let mut exit = None;
                let mut output = String::new();
                for input in inputs {
                    match input {
                        Input::Received(line) | Input::Stderr(line) => output.extend([line.as_str(), "\n"]),
                        Input::Unreadable { bytes, .. } => {
                            output.extend([&*String::from_utf8_lossy(&bytes), "\n"]);
                        }
                        Input::Exit { code } => exit = Some(exit_status(code)),
                        _ => {}
                    }
                }
                state.send_modify(|state| {
                    state.output.push_str(&output);
                    state.truncated |= truncate_start(&mut state.output, limit);
                    state.exit = exit;
                });
                if exit.is_some() {
                    return;
                }
            }
        }
    }
}

/// The supervisor reports a signal as a negative code.
fn exit_status(code: Option<i32>) -> ExitStatus {
    match code {
        Some(code) if code < 0 => ExitStatus { code: None, signal: code.checked_neg() },
        code => ExitStatus { code, signal: None },
    }
}

/// Removes text from the start, at a character boundary. Returns whether any was removed.
fn truncate_start(text: &mut String, limit: usize) -> bool {
    if text.len() <= limit {
        return false;
    }
    let mut start = text.len() - limit;
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.drain(..start);
    true
}

/// The path of a program: as given, or on the `PATH` of the command.
fn find_program(command: &Command) -> Result<PathBuf, String> {
    let program = PathBuf::from(&command.program);
    if program.components().count() > 1 {
        return Ok(if program.is_absolute() { program } else { command.directory.join(program) });
    }
    let path = command.env.iter().rev().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone());
    let folders: Vec<PathBuf> = path.as_deref().map(|path| std::env::split_paths(path).collect()).unwrap_or_default();
    let found = folders.into_iter().map(|folder| folder.join(&program)).find(|path| path.is_file());
    found.ok_or_else(|| format!("there is no program `{}` on the PATH", command.program))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_truncated_at_a_character() {
        let mut text = "aé🦀b".to_owned();
        assert!(truncate_start(&mut text, 4));
        assert_eq!(text, "b");
        assert!(!truncate_start(&mut text, 4));
    }

    #[test]
    fn a_signal_is_not_an_exit_code() {
        assert_eq!(exit_status(Some(-9)), ExitStatus { code: None, signal: Some(9) });
        assert_eq!(exit_status(Some(3)), ExitStatus { code: Some(3), signal: None });
    }
}
