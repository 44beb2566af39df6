//! Tests of the generated types against all recordings.

mod api;
mod chaos;
mod codex_line;
mod recorded;

/// Prefix of the methods with which Codex up to 0.98 repeats every notification. No schema has them, so the types do
/// not know these lines.
const LEGACY_METHOD_PREFIX: &str = "codex/event/";
