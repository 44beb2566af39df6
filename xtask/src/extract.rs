//! Getting a schema out of installed packages: no network from here on.

mod amp;
mod claude;
mod codex;
mod declarations;
mod opencode;
mod typescript;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::agents::{Agent, Group};
use crate::cache::Installed;
use crate::canonical::{self, PROSE};
use crate::definitions;
use crate::source_toml::Binary;

/// The installations of one agent's packages.
pub(crate) struct Installations(pub(crate) Vec<(Group, Installed)>);

/// What came out of them.
#[derive(Default)]
pub(crate) struct Extracted {
    /// One document per file of the recipe, in its order.
    pub(crate) documents: Vec<Value>,
    /// What the person who pulls should know.
    pub(crate) notes: Vec<String>,
    /// The package and version of the agent that the types describe, where that is another package.
    pub(crate) describes: Option<(String, String)>,
    /// The native program that printed the schema.
    pub(crate) binary: Option<Binary>,
}

impl Installations {
    /// The installation of `group`.
    pub(crate) fn get(&self, group: Group) -> Result<&Installed> {
        let found = self.0.iter().find(|(of, _)| *of == group);
        found.map(|(_, installed)| installed).with_context(|| format!("the recipe has no {group:?} packages"))
    }
}

/// Extracts the schema of `agent`, strips what its licence wants stripped and checks that it is whole.
pub(crate) fn extract(agent: Agent, from: &Installations) -> Result<Extracted> {
    let mut extracted = match agent {
        Agent::Claude => claude::extract(from),
        Agent::Codex => codex::extract(from),
        Agent::Opencode => opencode::extract(from),
        Agent::Amp => amp::extract(from),
    }?;
    for document in &mut extracted.documents {
        if !agent.recipe().keeps_prose {
            *document = canonical::without_keywords(document, &PROSE);
        }
        definitions::check_references(document)?;
    }
    Ok(extracted)
}
