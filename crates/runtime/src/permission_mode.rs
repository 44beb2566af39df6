//! What an agent may do without asking.

use std::fmt;

/// What an agent may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PermissionMode {
    /// The agent asks before anything that matters. This is its default.
    #[default]
    Default,
    /// The agent reads and plans, and changes nothing.
    Plan,
    /// The agent never asks.
    Bypass,
    /// The agent edits files without asking, and asks for everything else.
    AcceptEdits,
}

impl PermissionMode {
    /// All modes.
    pub const ALL: [Self; 4] = [Self::Default, Self::Plan, Self::Bypass, Self::AcceptEdits];

    /// The mode's name in the API.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Plan => "plan",
            Self::Bypass => "bypass",
            Self::AcceptEdits => "acceptEdits",
        }
    }

    /// The mode with this name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
