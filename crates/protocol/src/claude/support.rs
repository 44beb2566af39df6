//! What only some versions of Claude Code support.
//!
//! An unsupported flag ends the process with `error: unknown option '…'`.

use semver::Version;

use crate::Support;

/// The flag for deltas. Older versions send complete messages only.
pub const PARTIAL_MESSAGES: Support =
    since("--include-partial-messages", Version::new(1, 0, 109), "not among the options of 1.0.108");

/// The choice of built-in tools.
pub const TOOLS: Support = since("--tools", Version::new(2, 0, 31), "not among the options of 2.0.30");

/// The effort of the model.
pub const EFFORT: Support = since("--effort", Version::new(2, 1, 38), "not among the options of 2.1.37");

/// The effort between `high` and `max`.
pub const XHIGH_EFFORT: Support = since("--effort xhigh", Version::new(2, 1, 111), "2.1.110 refuses the value");

/// Everything that only some versions support.
pub const SUPPORT: [Support; 4] = [PARTIAL_MESSAGES, TOOLS, EFFORT, XHIGH_EFFORT];

const fn since(name: &'static str, version: Version, evidence: &'static str) -> Support {
    Support { name, since: Some(version), until: None, evidence }
}
