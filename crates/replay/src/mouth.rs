//! What says the lines, and what goes wrong with them.

use std::io::Write;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::script::Channel;
use crate::stage::Stage;
use crate::{Agent, Fault};

/// What becomes of the process after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    GoOn,
    Leave(i32),
    /// Say nothing more; heed signals unless deaf.
    Hang {
        ignores_signals: bool,
    },
}

/// Says lines, and counts them for the faults.
#[derive(Debug)]
pub(crate) struct Mouth {
    agent: Agent,
    stage: Stage,
    faults: Vec<Fault>,
    said: u64,
    /// The next line is only half said, and then the process leaves with this code.
    half: Option<i32>,
}

impl Mouth {
    pub(crate) fn new(agent: Agent, stage: Stage, faults: Vec<Fault>) -> Self {
        Self { agent, stage, faults, said: 0, half: None }
    }

    pub(crate) fn stage(&mut self) -> &mut Stage {
        &mut self.stage
    }

    /// What happens before anything was said.
    pub(crate) fn begin(&mut self) -> Fate {
        self.go_wrong()
    }

    /// Says a line.
    pub(crate) fn say(&mut self, channel: Channel, text: &str, to: Option<&str>) -> Fate {
        if channel == Channel::Out {
            if let Some(code) = self.half {
                self.stage.half_line(&text.as_bytes()[..text.len().div_ceil(2)]);
                return Fate::Leave(code);
            }
            self.said += 1;
        }
        self.stage.say(channel, text, to);
        if channel == Channel::Out { self.go_wrong() } else { Fate::GoOn }
    }

    fn go_wrong(&mut self) -> Fate {
        let due: Vec<Fault> = self.faults.iter().copied().filter(|fault| fault.after() == self.said).collect();
        self.faults.retain(|fault| fault.after() != self.said);
        for fault in due {
            match fault {
                Fault::ExitAtStart { code } | Fault::DieAfter { code, .. } => return Fate::Leave(code),
                Fault::HangAfter { ignores_signals, .. } => return Fate::Hang { ignores_signals },
                Fault::GarbageAfter { .. } => self.stage.line(b"%% not a line that any agent prints %%"),
                Fault::InvalidUtf8After { .. } => self.stage.line(b"{\"type\":\"text\",\"text\":\"\xff\xfe\xc3(\"}"),
                Fault::LongLineAfter { bytes, .. } => {
                    let line = long_line(self.agent, bytes);
                    self.stage.line(&line);
                }
                Fault::HalfLineAfter { code, .. } => self.half = Some(code),
            }
        }
        Fate::GoOn
    }
}

/// A line of JSON, as long as said, of a kind that the agent does not have.
fn long_line(agent: Agent, bytes: usize) -> Vec<u8> {
    let (head, tail) = match agent {
        Agent::Codex => (r#"{"method":"interlinguaReplay/long","params":{"padding":""#, r#""}}"#),
        Agent::OpenCode => (r#"{"type":"interlingua.replay.long","properties":{"padding":""#, r#""}}"#),
        Agent::Claude | Agent::Amp => (r#"{"type":"interlingua_replay_long","padding":""#, r#""}"#),
    };
    let padding = bytes.saturating_sub(head.len() + tail.len());
    [head.as_bytes(), &b"x".repeat(padding), tail.as_bytes()].concat()
}

/// Leaves the process. A negative code is a signal, of which it really dies.
pub(crate) fn leave(code: i32) -> ! {
    let _ = std::io::stdout().flush();
    if let Some(signal) = code.checked_neg().filter(|signal| *signal > 0) {
        // We heed some signals ourselves. Another program in our place does not, and dies as the agent did.
        let _ = Command::new("/bin/sh").arg("-c").arg(format!("kill -{signal} $$")).exec();
    }
    // A signal that did not end the process counts the way shells count it.
    std::process::exit(if code < 0 { 128_i32.saturating_sub(code) } else { code })
}
