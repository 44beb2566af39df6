//! A stand-in that a test talks to.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use interlingua_recordings::Transcripts;
use interlingua_replay::{ReplayOptions, make_stand_ins, stand_in_environment};
use serde_json::Value;
use tempfile::TempDir;

/// A recording of this repository.
pub(crate) fn transcript(name: &str) -> PathBuf {
    Transcripts::in_repository().find(name).unwrap()
}

/// A recording made up for a test: a header of this agent, and records.
pub(crate) fn recording(folder: &Path, name: &str, agent: &str, records: &[&str]) -> PathBuf {
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

/// The folder with the stand-ins.
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

/// A command for the stand-in of an agent, with nothing set.
pub(crate) fn command(agent: &str, words: &[&str]) -> Command {
    let mut command = Command::new(stand_ins().join(agent));
    command.args(words).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A stand-in that runs. It is ended when the test is over, whatever became of it.
pub(crate) struct Talk {
    pub(crate) child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Talk {
    /// Starts a stand-in.
    pub(crate) fn start(agent: &str, words: &[&str], recording: &Path, options: &ReplayOptions) -> Self {
        let mut command = command(agent, words);
        command.envs(stand_in_environment(recording, options));
        Self::of(command)
    }

    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output }
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
    }

    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// The next line, as bytes, with its line break if it has one.
    pub(crate) fn bytes(&mut self) -> Vec<u8> {
        let mut line = Vec::new();
        self.output.read_until(b'\n', &mut line).unwrap();
        line
    }

    /// The next line.
    pub(crate) fn line(&mut self) -> String {
        String::from_utf8(self.bytes()).unwrap().trim_end_matches('\n').to_owned()
    }

    pub(crate) fn json(&mut self) -> Value {
        let line = self.line();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Everything up to the end of its output.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        rest
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal).unwrap();
    }

    /// Its exit code, a signal as a negative one.
    pub(crate) fn exit(&mut self) -> i32 {
        use std::os::unix::process::ExitStatusExt;
        let status = self.child.wait().unwrap();
        status.code().unwrap_or_else(|| -status.signal().unwrap())
    }

    /// What it wrote to standard error, once it is gone.
    pub(crate) fn errors(&mut self) -> String {
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        errors
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
