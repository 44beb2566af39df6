//! What only some versions of Codex take.
//!
//! All versions ignore fields that they do not know, and refuse methods that they do not know; a host can go on after
//! both. So there is an entry only where the difference matters.

use semver::Version;

use crate::Support;

/// Plan mode. Versions before ignore the field: the turn runs in the default mode.
pub const COLLABORATION_MODE: Support = Support {
    name: "turn/start.collaborationMode",
    since: Some(Version::new(0, 98, 0)),
    until: None,
    evidence: "codex/0.77.0/plan-is-approved",
};

/// The refusal of an approval as it was asked before there were threads is an object with a reason. Versions before have
/// the word `denied` instead: 0.130.0 declares the word, 0.166.0 the object.
pub const DENIED_WITH_REASON: Support = Support {
    name: "execCommandApproval.decision.denied",
    since: Some(Version::new(0, 166, 0)),
    until: None,
    evidence: "ReviewDecision in the schemas that `codex app-server generate-json-schema` prints",
};

/// The highest efforts, `max` and `ultra`. Versions before refuse the thread: "unknown variant `max`".
pub const HIGHEST_EFFORTS: Support = Support {
    name: "thread/start.config.model_reasoning_effort",
    since: Some(Version::new(0, 145, 0)),
    until: None,
    evidence: "0.130.0 refuses `max`, 0.145.0 takes it",
};

/// Every entry.
pub const ALL: [Support; 3] = [COLLABORATION_MODE, DENIED_WITH_REASON, HIGHEST_EFFORTS];
