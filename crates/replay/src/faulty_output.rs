//! Output with injected faults.

use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::script::Channel;
use crate::transport::Transport;
use crate::{Agent, Fault};

/// Effect of the injected faults on the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FaultEffect {
    Continue,
    Exit(i32),
    /// Writes nothing more. Signals still end the process, unless it ignores them.
    Hang {
        ignores_signals: bool,
    },
}

/// Sends lines over a transport, counts them, and injects the faults that are due.
#[derive(Debug)]
pub(crate) struct FaultyOutput {
    agent: Agent,
    transport: Transport,
    faults: Vec<Fault>,
    /// Number of lines that were sent on standard output or the event stream.
    lines: u64,
    /// Exit code of a pending [`Fault::HalfLineAfter`]: the next line is cut in half.
    half_line_exit: Option<i32>,
}

impl FaultyOutput {
    pub(crate) fn new(agent: Agent, transport: Transport, faults: Vec<Fault>) -> Self {
        Self { agent, transport, faults, lines: 0, half_line_exit: None }
    }

    pub(crate) fn transport(&mut self) -> &mut Transport {
        &mut self.transport
    }

    /// Injects the faults that come before the first line.
    pub(crate) fn start(&mut self) -> FaultEffect {
        self.inject_due_faults()
    }

    /// Sends a line.
    pub(crate) fn send(&mut self, channel: Channel, text: &str, to: Option<&str>) -> FaultEffect {
        if channel == Channel::Output {
            if let Some(code) = self.half_line_exit {
                self.transport.send_partial_line(&text.as_bytes()[..text.len().div_ceil(2)]);
                return FaultEffect::Exit(code);
            }
            self.lines += 1;
        }
        self.transport.send(channel, text, to);
        if channel == Channel::Output { self.inject_due_faults() } else { FaultEffect::Continue }
    }

    fn inject_due_faults(&mut self) -> FaultEffect {
        let due: Vec<Fault> = self.faults.iter().copied().filter(|fault| fault.lines_before() == self.lines).collect();
        self.faults.retain(|fault| fault.lines_before() != self.lines);
        for fault in due {
            match fault {
                Fault::ExitAtStart { code } | Fault::DieAfter { code, .. } => return FaultEffect::Exit(code),
                Fault::HangAfter { ignores_signals, .. } => return FaultEffect::Hang { ignores_signals },
                Fault::GarbageAfter { .. } => self.transport.send_line(b"%% not a line that any agent prints %%"),
                Fault::InvalidUtf8After { .. } => {
                    self.transport.send_line(b"{\"type\":\"text\",\"text\":\"\xff\xfe\xc3(\"}");
                }
                Fault::LongLineAfter { bytes, .. } => {
                    let line = long_line(self.agent, bytes);
                    self.transport.send_line(&line);
                }
                Fault::HalfLineAfter { code, .. } => self.half_line_exit = Some(code),
            }
        }
        FaultEffect::Continue
    }
}

/// A line of JSON with this length and a type that the agent does not have.
fn long_line(agent: Agent, bytes: usize) -> Vec<u8> {
    let (head, tail) = match agent {
        Agent::Codex => (r#"{"method":"interlinguaReplay/long","params":{"padding":""#, r#""}}"#),
        Agent::Acp => (r#"{"jsonrpc":"2.0","method":"_interlingua/long","params":{"padding":""#, r#""}}"#),
        Agent::OpenCode => (r#"{"type":"interlingua.replay.long","properties":{"padding":""#, r#""}}"#),
        Agent::Claude | Agent::Amp => (r#"{"type":"interlingua_replay_long","padding":""#, r#""}"#),
    };
    let padding = bytes.saturating_sub(head.len() + tail.len());
    [head.as_bytes(), &b"x".repeat(padding), tail.as_bytes()].concat()
}

/// Exits the process. With a negative code, the process dies of that signal.
pub(crate) fn exit_process(code: i32) -> ! {
    let _ = std::io::stdout().flush();
    if let Some(signal) = code.checked_neg().filter(|signal| *signal > 0) {
        // This process handles some signals itself. A shell that replaces it does not, and dies as the agent did.
        let _ = Command::new("/bin/sh").arg("-c").arg(format!("kill -{signal} $$")).exec();
    }
    // If the signal did not end the process, its exit code is the one that shells report for the signal.
    std::process::exit(if code < 0 { 128_i32.saturating_sub(code) } else { code })
}
