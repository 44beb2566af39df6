//! Reasons for dropping a payload that several agents share.

/// The payload repeats what other events report.
pub(crate) const STATE_ECHO: &str = "state echo";
/// The payload answers a request that the host made for itself.
pub(crate) const HOST_RESPONSE: &str = "answer to the host's own request";
/// The payload only shows that the connection is alive.
pub(crate) const KEEP_ALIVE: &str = "keep-alive";
