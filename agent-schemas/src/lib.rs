//! The schemas of the coding agents' wire formats, as their vendors publish them.
//!
//! There is one folder per agent, written by `cargo xtask refresh-schemas`:
//!
//! * `schema.json` is the JSON Schema or OpenAPI document that was pulled from the vendor's packages. An agent with a
//!   second wire format has a second schema beside it.
//! * `source.toml` says where the schema comes from, and which types are generated from it.
//! * `overlay.json` corrects the schema where the agent sends something else than it declares.
//!
//! This crate embeds them as text, so that crates which generate code from them can be published, and gives typed access
//! to the versions in `source.toml`.
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
    /// The agent's id, which is the name of its folder.
    pub agent: &'static str,
    /// The version of the agent that the schemas describe.
    pub agent_version: &'static str,
    /// The packages that the schemas were made from and with, by name.
    pub packages: &'static [Package],
}

/// An npm package at the version that was pulled.
#[derive(Debug)]
#[non_exhaustive]
pub struct Package {
    /// Its name in npm's registry.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

/// The schemas of the agent with this id.
#[must_use]
pub fn find(agent: &str) -> Option<&'static AgentSchemas> {
    ALL.iter().find(|schemas| schemas.agent == agent)
}

impl AgentSchemas {
    /// The files of the agent's folder, as pairs of name and text. A program that does not call this does not contain
    /// them.
    #[must_use]
    pub fn files(&self) -> &'static [(&'static str, &'static str)] {
        FILES.iter().find(|(agent, _)| *agent == self.agent).map_or(&[], |(_, files)| files)
    }

    /// The content of one file.
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
    fn the_agent_version_is_that_of_the_agent_and_not_of_its_sdk() {
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
