//! The version of an agent that its schema was pulled from.

use std::io;
use std::path::Path;

use interlingua_convert::Agent;

/// The version pinned in the agent's `source.toml`.
pub(super) fn version(agent: Agent) -> io::Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../agent-schemas").join(agent.id()).join("source.toml");
    let wrong = |what: String| io::Error::other(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    let source: toml::Table = text.parse().map_err(|error: toml::de::Error| wrong(error.to_string()))?;
    let version = source.get("pull").and_then(|pull| pull.get("version")).and_then(toml::Value::as_str);
    version.map(str::to_owned).ok_or_else(|| wrong("expected a `version` in `[pull]`".to_owned()))
}
