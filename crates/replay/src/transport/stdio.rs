//! Standard input, output and error.

use std::io::{self, BufRead, BufWriter, Stdout, Write};

use tokio::sync::mpsc::UnboundedSender;

use super::Incoming;
use crate::Agent;
use crate::agent_protocol::AgentProtocol as _;

/// Exit code of a process that was ended by SIGPIPE, as shells report it.
const SIGPIPE_EXIT: i32 = 141;

/// Standard output and error.
#[derive(Debug)]
pub(crate) struct Stdio {
    output: BufWriter<Stdout>,
}

impl Stdio {
    /// Takes standard output, and forwards the messages that come on standard input. A separate thread reads them,
    /// because a blocking read may never return.
    pub(crate) fn open(agent: Agent, incoming: UnboundedSender<Incoming>) -> Self {
        std::thread::spawn(move || {
            let mut input = io::stdin().lock();
            let mut line = Vec::new();
            loop {
                line.clear();
                match input.read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => break,
                    Ok(_) => {}
                }
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end_matches(['\n', '\r']);
                // Agents ignore empty lines, and recordings do not have them as messages.
                if !text.is_empty() && incoming.send(Incoming::Message(agent.parse_host_line(text))).is_err() {
                    return;
                }
            }
            let _ = incoming.send(Incoming::EndOfInput);
        });
        Self { output: BufWriter::with_capacity(64 << 10, io::stdout()) }
    }

    pub(super) fn write_line(&mut self, bytes: &[u8]) {
        self.write(bytes);
        self.write(b"\n");
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        exit_if_failed(&self.output.write_all(bytes));
    }

    pub(super) fn write_stderr(&mut self, text: &str) {
        // Keeps the recorded order between standard output and standard error.
        self.flush();
        exit_if_failed(&writeln!(io::stderr(), "{text}"));
    }

    pub(super) fn flush(&mut self) {
        exit_if_failed(&self.output.flush());
    }
}

/// Exits as if by SIGPIPE if a write failed: without a reader, the stand-in has nothing to do.
fn exit_if_failed(written: &io::Result<()>) {
    if written.is_err() {
        std::process::exit(SIGPIPE_EXIT);
    }
}
