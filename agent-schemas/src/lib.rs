//! The schemas of the coding agents' wire protocols, as their vendors publish them.
//!
//! Each agent has a folder, which `cargo xtask refresh-schemas` writes:
//!
//! * `schema.json` is the JSON Schema or OpenAPI document that was pulled from the vendor's packages. An agent with a
//!   second wire protocol has a second schema.
//! * `source.toml` describes the origin of the schema, and which types are generated from it.
//! * `overlay.json` corrects the schema where it differs from what the agent sends.
//!
//! This crate embeds the files as text, so that crates that generate code from them can be published. It also gives typed
//! access to the versions in `source.toml`.
//!
//! ```
//! let codex = interlingua_agent_schemas::find("codex").expect("codex has a schema");
//! assert!(codex.packages.iter().any(|package| package.name == "@openai/codex"));
//! assert!(codex.file("schema.json").is_some());
//! ```

include!(concat!(env!("OUT_DIR"), "/tables.rs"));

/// The schemas of one agent.
#[derive(Debug)]
#[non_exhaustive]
pub struct AgentSchemas {
    /// The agent's id. It is also the name of the folder.
    pub agent: &'static str,
    /// Version of the agent that the schemas describe.
    pub agent_version: &'static str,
    /// The packages that the schemas were extracted from, and the tools of the extraction, sorted by name.
    pub packages: &'static [Package],
}

/// An npm package with the version that was pulled.
#[derive(Debug)]
#[non_exhaustive]
pub struct Package {
    /// Name in the npm registry.
    pub name: &'static str,
    /// Version of the package.
    pub version: &'static str,
}

/// The schemas of the agent with this id.
#[must_use]
pub fn find(agent: &str) -> Option<&'static AgentSchemas> {
    ALL.iter().find(|schemas| schemas.agent == agent)
}

impl AgentSchemas {
    /// The files of the agent's folder, as pairs of name and text. A program that does not call this function does not
    /// contain the files.
    #[must_use]
    pub fn files(&self) -> &'static [(&'static str, &'static str)] {
        FILES.iter().find(|(agent, _)| *agent == self.agent).map_or(&[], |(_, files)| files)
    }

    /// The text of one file.
    #[must_use]
    pub fn file(&self, name: &str) -> Option<&'static str> {
        self.files().iter().find(|(file, _)| *file == name).map(|(_, text)| *text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_agent_has_a_version_a_schema_and_a_source() {
        for schemas in ALL {
            let agent = schemas.agent;
            assert!(schemas.agent_version.starts_with(|first: char| first.is_ascii_digit()), "{agent}");
            assert!(!schemas.packages.is_empty(), "{agent}");
            for name in ["schema.json", "source.toml"] {
                assert!(schemas.file(name).is_some_and(|text| !text.is_empty()), "{agent}/{name}");
            }
        }
    }

    #[test]
    fn the_agent_version_is_the_version_of_the_agent_and_not_of_its_sdk() {
        let claude = find("claude").unwrap();
        let sdk = claude.packages.iter().find(|package| package.name == "@anthropic-ai/claude-agent-sdk").unwrap();
        assert_ne!(claude.agent_version, sdk.version);
        let codex = find("codex").unwrap();
        let package = codex.packages.iter().find(|package| package.name == "@openai/codex").unwrap();
        assert_eq!(codex.agent_version, package.version);
    }

    #[test]
    fn an_agent_without_a_folder_has_no_schemas() {
        assert!(find("src").is_none());
    }
}
