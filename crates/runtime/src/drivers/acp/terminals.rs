//! Terminals that the host runs for an agent: commands as supervised processes, with their output kept up to a limit.
//!
//! Each terminal is a task that owns its process. Dropping the terminals kills the commands.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;

use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::process::{CommandEvent, CommandProcess, Program, Supervisor};

/// Bytes of output that are kept if the agent sets no limit.
const DEFAULT_OUTPUT_LIMIT: usize = 1 << 20;
/// Maximum length of a character in UTF-8.
const MAX_CHARACTER_BYTES: usize = 4;
/// The shell that runs a command line, and its option for it.
const SHELL: [&str; 2] = ["sh", "-c"];
/// Maximum number of terminals of a session.
const MAX_TERMINALS: usize = 64;

/// A command to run.
#[derive(Clone, Debug)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TerminalState {
    /// The output as text. A character that is not complete yet is left out while the command runs.
    pub(super) output: String,
    pub(super) truncated: bool,
    /// `None` while the command runs.
    pub(super) exit: Option<ExitStatus>,
}

/// What a command has written so far.
#[derive(Debug, Default)]
struct Output {
    bytes: Vec<u8>,
    truncated: bool,
    exit: Option<ExitStatus>,
}

impl Output {
    /// Adds bytes, and removes the oldest ones over the limit.
    fn push(&mut self, bytes: &[u8], limit: usize) {
        self.bytes.extend_from_slice(bytes);
        let excess = self.bytes.len().saturating_sub(limit);
        if excess > 0 {
            // Not in the middle of a character.
            let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
            let inside = self.bytes[excess..].iter().take(MAX_CHARACTER_BYTES - 1).take_while(is_inside).count();
            self.bytes.drain(..excess + inside);
            self.truncated = true;
        }
    }

    fn state(&self) -> TerminalState {
        let mut bytes = self.bytes.as_slice();
        let end = bytes.utf8_chunks().last().map(|chunk| chunk.invalid()).unwrap_or_default();
        let is_incomplete = std::str::from_utf8(end).is_err_and(|error| error.error_len().is_none());
        if self.exit.is_none() && is_incomplete {
            bytes = &bytes[..bytes.len() - end.len()];
        }
        let output = String::from_utf8_lossy(bytes).into_owned();
        TerminalState { output, truncated: self.truncated, exit: self.exit }
    }
}

#[derive(Debug)]
struct Terminal {
    output: watch::Receiver<Output>,
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
        let program = resolve(command)?;
        let process = supervisor.start_command(program).await.map_err(|error| error.to_string())?;
        let (sender, output) = watch::channel(Output::default());
        let (kill, kills) = mpsc::unbounded_channel();
        self.created += 1;
        let id = format!("term_{}", self.created);
        let task = tokio::spawn(run(process, sender, kills, limit));
        self.open.insert(id.clone(), Terminal { output, kill, task });
        Ok(id)
    }

    /// Output and state of a terminal; `None` if there is none with this id.
    pub(super) fn state(&self, id: &str) -> Option<TerminalState> {
        self.open.get(id).map(|terminal| terminal.output.borrow().state())
    }

    /// A future that waits until the command has ended; `None` if there is no such terminal.
    pub(super) fn wait(&self, id: &str) -> Option<impl Future<Output = Option<ExitStatus>> + Send + use<>> {
        let mut output = self.open.get(id)?.output.clone();
        Some(async move {
            // The task ends without an exit if the terminal is released.
            output.wait_for(|output| output.exit.is_some()).await.ok().and_then(|output| output.exit)
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
    mut process: CommandProcess,
    output: watch::Sender<Output>,
    mut kills: mpsc::UnboundedReceiver<()>,
    limit: usize,
) {
    loop {
        tokio::select! {
            kill = kills.recv() => match kill {
                Some(()) => process.terminate().await,
                None => return,
            },
            event = process.next() => match event {
                CommandEvent::Output(bytes) => output.send_modify(|output| output.push(&bytes, limit)),
                CommandEvent::Exited(code) => {
                    output.send_modify(|output| output.exit = Some(exit_status(code)));
                    return;
                }
            },
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

/// The program to start. Some agents send a command line instead of a program and its arguments: a shell runs it.
fn resolve(command: Command) -> Result<Program, String> {
    let found = find_program(&command);
    let (path, args) = match found {
        Ok(path) if !command.args.is_empty() || path.is_file() => (path, command.args),
        Err(reason) if !command.args.is_empty() => return Err(reason),
        _ => {
            let [shell, option] = SHELL;
            let shell = find_program(&Command { program: shell.to_owned(), ..command.clone() })?;
            (shell, vec![option.to_owned(), command.program])
        }
    };
    Ok(Program { path, args, env: command.env, directory: command.directory })
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
        let mut output = Output::default();
        output.push("aé🦀b".as_bytes(), 4);
        assert_eq!(output.state(), TerminalState { output: "b".to_owned(), truncated: true, exit: None });
        let mut output = Output::default();
        output.push(b"abc", 4);
        assert_eq!(output.state().output, "abc");
    }

    #[test]
    fn an_incomplete_character_waits_for_its_rest() {
        let mut output = Output::default();
        let crab = "🦀".as_bytes();
        output.push(b"a\r\n\xff", 100);
        output.push(&crab[..2], 100);
        assert_eq!(output.state().output, "a\r\n\u{fffd}");
        output.push(&crab[2..], 100);
        assert_eq!(output.state().output, "a\r\n\u{fffd}🦀");
        output.push(&crab[..2], 100);
        output.exit = Some(exit_status(Some(0)));
        assert_eq!(output.state().output, "a\r\n\u{fffd}🦀\u{fffd}");
    }

    #[test]
    fn a_command_line_is_run_by_a_shell() {
        let path = std::env::var_os("PATH").unwrap();
        let command = |program: &str, args: &[&str]| Command {
            program: program.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: vec![("PATH".into(), path.clone())],
            directory: "/".into(),
            output_limit: None,
        };
        let args = |program: &str, args: &[&str]| resolve(command(program, args)).map(|program| program.args);
        assert_eq!(args("touch a b", &[]), Ok(vec!["-c".to_owned(), "touch a b".to_owned()]));
        assert_eq!(args("true", &[]), Ok(vec![]));
        assert_eq!(args("true", &["x"]), Ok(vec!["x".to_owned()]));
        assert!(args("no-such-program", &["x"]).unwrap_err().contains("no program `no-such-program`"));
    }

    #[test]
    fn a_signal_is_not_an_exit_code() {
        assert_eq!(exit_status(Some(-9)), ExitStatus { code: None, signal: Some(9) });
        assert_eq!(exit_status(Some(3)), ExitStatus { code: Some(3), signal: None });
    }
}
