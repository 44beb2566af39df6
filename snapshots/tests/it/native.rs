//! The generated types, proved on every recording.

mod api;
mod chaos;
mod recorded;

/// What Codex up to 0.98 says everything a second time with. No schema has it, so its lines are unknown to the types.
const LEGACY: &str = "codex/event/";
