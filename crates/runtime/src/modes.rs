//! What an agent may do without asking.

use std::fmt;

/// What an agent may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PermissionMode {
    /// It asks before anything that matters, as is its default.
    #[default]
    Default,
    /// It looks and plans, and changes nothing.
    Plan,
    /// It asks nothing.
    Bypass,
    /// It edits files without asking and asks for the rest.
    AcceptEdits,
}

impl PermissionMode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Default, Self::Plan, Self::Bypass, Self::AcceptEdits];

    /// The name that clients give.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Plan => "plan",
            Self::Bypass => "bypass",
            Self::AcceptEdits => "acceptEdits",
        }
    }

    /// The mode with this name.
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
