//! What only some versions of Codex support.
//!
//! All versions ignore unknown fields and refuse unknown methods; a host can continue after both. So there are entries
//! only where the difference matters.

use semver::Version;

use crate::Support;

/// Plan mode. Older versions ignore the field: the turn runs in the default mode.
pub const COLLABORATION_MODE: Support = Support {
    name: "turn/start.collaborationMode",
    since: Some(Version::new(0, 98, 0)),
    until: None,
    evidence: "codex/0.77.0/plan-is-approved",
};

/// The denial of a legacy approval request (before there were threads) is an object with a reason. Older versions have
/// the string `denied` instead: 0.130.0 declares the string, 0.166.0 the object.
pub const DENIED_WITH_REASON: Support = Support {
    name: "execCommandApproval.decision.denied",
    since: Some(Version::new(0, 166, 0)),
    until: None,
    evidence: "ReviewDecision in the schemas that `codex app-server generate-json-schema` prints",
};

/// The highest efforts, `max` and `ultra`. Older versions refuse the thread: "unknown variant `max`".
pub const HIGHEST_EFFORTS: Support = Support {
    name: "thread/start.config.model_reasoning_effort",
    since: Some(Version::new(0, 145, 0)),
    until: None,
    evidence: "0.130.0 refuses `max`, 0.145.0 takes it",
};

/// All entries.
pub const ALL: [Support; 3] = [COLLABORATION_MODE, DENIED_WITH_REASON, HIGHEST_EFFORTS];
