//! Who says an event.

use crate::wire_enum;

wire_enum! {
    /// Whether the agent said it or we filled a gap.
    pub enum Source {
        /// The agent's own words.
        Agent = "agent",
        /// Made by us, from what was sent, from what is missing or from what the agent implies.
        Daemon = "daemon",
    }
}

/// An event's `source` and `synthetic`, which say the same thing twice.
///
/// There are two to build with, [`Origin::AGENT`] and [`Origin::DAEMON`]. One that contradicts itself can only be
/// read from elsewhere; the [`Checker`](crate::Checker) reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    source: Source,
    synthetic: bool,
}

impl Origin {
    /// Said by the agent.
    pub const AGENT: Self = Self { source: Source::Agent, synthetic: false };
    /// Synthesised.
    pub const DAEMON: Self = Self { source: Source::Daemon, synthetic: true };

    pub(crate) const fn read(source: Source, synthetic: bool) -> Self {
        Self { source, synthetic }
    }

    /// The event's `source`.
    #[must_use]
    pub const fn source(self) -> Source {
        self.source
    }

    /// The event's `synthetic`.
    #[must_use]
    pub const fn is_synthetic(self) -> bool {
        self.synthetic
    }

    /// Whether the two fields agree.
    #[must_use]
    pub fn is_consistent(self) -> bool {
        self.synthetic == (self.source == Source::Daemon)
    }
}
