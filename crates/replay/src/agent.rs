//! The agents that a recording can be of.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// An agent that can be stood in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Agent {
    /// Claude Code.
    Claude,
    /// Codex: its app server, or `codex exec --json`.
    Codex,
    /// OpenCode's server.
    OpenCode,
    /// Amp.
    Amp,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::OpenCode, Self::Amp];

    /// The name of its program, which is also what headers call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::OpenCode => "opencode",
            Self::Amp => "amp",
        }
    }

    /// The agent that a program of this path passes for; `None` if its name is nobody's.
    #[must_use]
    pub fn of_program(program: &Path) -> Option<Self> {
        program.file_name()?.to_str()?.parse().ok()
    }

    /// Whether one process has one conversation, so that what it says needs no address.
    pub(crate) fn has_one_session(self) -> bool {
        matches!(self, Self::Claude | Self::Amp)
    }
}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Agent {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|agent| agent.name() == name)
            .ok_or_else(|| format!("expected claude, codex, opencode or amp, found `{name}`"))
    }
}
