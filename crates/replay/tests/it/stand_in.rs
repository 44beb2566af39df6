//! A running stand-in for tests.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use interlingua_recordings::Transcripts;
use interlingua_replay::{ReplayOptions, make_stand_ins, stand_in_environment};
use serde_json::Value;
use tempfile::TempDir;

/// Path of a recording in this repository.
pub(crate) fn find_recording(name: &str) -> PathBuf {
    Transcripts::in_repository().find(name).unwrap()
}

/// Writes a recording with a header of this agent and these records.
pub(crate) fn write_recording(folder: &Path, name: &str, agent: &str, records: &[&str]) -> PathBuf {
    let path = folder.join(format!("{name}.jsonl"));
    let argv = match agent {
        "codex" => r#"["codex","app-server"]"#,
        "opencode" => r#"["opencode","serve"]"#,
        _ => r#"["agent","-x","prompt"]"#,
    };
    let header = format!(r#"{{"wirelog":1,"agent":"{agent}","version":"9.8.7","argv":{argv}}}"#);
    std::fs::write(&path, format!("{header}\n{}\n", records.join("\n"))).unwrap();
    path
}

/// The folder with the links to the stand-ins.
fn stand_ins() -> &'static Path {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER
        .get_or_init(|| {
            let folder = tempfile::tempdir().unwrap();
            make_stand_ins(Path::new(env!("CARGO_BIN_EXE_interlingua-replay")), folder.path()).unwrap();
            folder
        })
        .path()
}

/// A command for the stand-in of an agent, with an empty environment.
pub(crate) fn command(agent: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(stand_ins().join(agent));
    command.args(arguments).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running stand-in. It is killed when it is dropped.
pub(crate) struct StandIn {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl StandIn {
    /// Starts a stand-in that replays a recording.
    pub(crate) fn start(agent: &str, arguments: &[&str], recording: &Path, options: &ReplayOptions) -> Self {
        let mut command = command(agent, arguments);
        command.envs(stand_in_environment(recording, options));
        Self::spawn(command)
    }

    pub(crate) fn spawn(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, stdin, stdout }
    }

    pub(crate) fn send(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// Reads the next line as bytes, with its line break if it has one.
    pub(crate) fn read_bytes(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        self.stdout.read_until(b'\n', &mut line).unwrap();
        line
    }

    /// Reads the next line.
    pub(crate) fn read_line(&mut self) -> String {
        String::from_utf8(self.read_bytes()).unwrap().trim_end_matches('\n').to_owned()
    }

    pub(crate) fn read_json(&mut self) -> Value {
        let line = self.read_line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Reads everything up to the end of its output.
    pub(crate) fn read_to_end(&mut self) -> String {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        rest
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its exit and returns the exit code; a signal is a negative code.
    pub(crate) fn wait(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.wait().unwrap();
        status.code().unwrap_or_else(|| -status.signal().unwrap())
    }

    /// Reads its standard error up to its exit.
    pub(crate) fn read_stderr(&mut self) -> String {
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        stderr
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
