//! Standard input, output and error.

use std::io::{self, BufRead, BufWriter, Stdout, Write};

use tokio::sync::mpsc::UnboundedSender;

use super::Incoming;
use crate::Agent;
use crate::dialect::Dialect as _;

/// Standard output and error.
#[derive(Debug)]
pub(crate) struct Stdio {
    output: BufWriter<Stdout>,
}

impl Stdio {
    /// Takes standard output, and has what the host says sent on. It is read on a thread of its own, because nothing
    /// else can be done about a read that never returns.
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
                // Agents pass over empty lines, and so they are never recorded as something said.
                if !text.is_empty() && incoming.send(Incoming::Said(agent.heard(text))).is_err() {
                    return;
                }
            }
            let _ = incoming.send(Incoming::End);
        });
        Self { output: BufWriter::with_capacity(64 << 10, io::stdout()) }
    }

    pub(super) fn line(&mut self, bytes: &[u8]) {
        self.raw(bytes);
        self.raw(b"\n");
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        gone_if_failed(&self.output.write_all(bytes));
    }

    pub(super) fn complain(&mut self, text: &str) {
        // In the order in which it was recorded.
        self.flush();
        gone_if_failed(&writeln!(io::stderr(), "{text}"));
    }

    pub(super) fn flush(&mut self) {
        gone_if_failed(&self.output.flush());
    }
}

/// A host that does not listen any more needs no agent: it is left as by a broken pipe.
fn gone_if_failed(written: &io::Result<()>) {
    if written.is_err() {
        std::process::exit(141);
    }
}
