//! The origin of an event: the agent, or ourselves.

use crate::wire_enum;

wire_enum! {
    /// Whether the agent sent the event or it was synthesised.
    pub enum Source {
        /// The agent sent it.
        Agent = "agent",
        /// Synthesised, from what the host sent, from what the agent did not send, or from what it implies.
        Daemon = "daemon",
    }
}

/// An event's `source` and `synthetic`. The two fields carry the same information.
///
/// Only [`Origin::AGENT`] and [`Origin::DAEMON`] can be built. An inconsistent origin can only be read from JSON; the
/// [`Checker`](crate::Checker) reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    source: Source,
    synthetic: bool,
}

impl Origin {
    /// Sent by the agent.
    pub const AGENT: Self = Self { source: Source::Agent, synthetic: false };
    /// Synthesised.
    pub const DAEMON: Self = Self { source: Source::Daemon, synthetic: true };

    pub(crate) const fn from_wire(source: Source, synthetic: bool) -> Self {
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

    /// Whether `synthetic` is true exactly if the source is `daemon`.
    #[must_use]
    pub fn is_consistent(self) -> bool {
        self.synthetic == (self.source == Source::Daemon)
    }
}
