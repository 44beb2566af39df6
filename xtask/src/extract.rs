//! Getting a schema out of installed packages: no network from here on.

mod amp;
mod claude;
mod codex;
mod declarations;
mod opencode;
mod typescript;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::cache::Installed;
use crate::canonical::{self, PROSE};
use crate::definitions;
use crate::isolated;
use interlingua_agents::Agent;

use crate::recipes::{Group, recipe};
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

/// The native program of an agent that is installed.
pub(crate) fn program(agent: Agent, installed: &Installed) -> Result<PathBuf> {
    match agent {
        Agent::Claude => claude::program(installed),
        Agent::Codex => codex::program(installed).map(|(_, program)| program),
        Agent::OpenCode => {
            // npm may install a build for every processor beside one for newer processors: the first that runs will do.
            let mut programs = opencode::candidates(installed)?.into_iter().map(|(_, program)| program);
            let runs = |program: &PathBuf| isolated::output(program, &["--version"]).is_ok();
            programs.find(runs).context("npm installed no opencode program that runs on this machine")
        }
        Agent::Amp => amp::program(installed),
    }
}

/// Extracts the schema of `agent`, strips what its licence wants stripped and checks that it is whole.
pub(crate) fn extract(agent: Agent, from: &Installations) -> Result<Extracted> {
    let mut extracted = match agent {
        Agent::Claude => claude::extract(from),
        Agent::Codex => codex::extract(from),
        Agent::OpenCode => opencode::extract(from),
        Agent::Amp => amp::extract(from),
    }?;
    for document in &mut extracted.documents {
        if !recipe(agent).keeps_prose {
            *document = canonical::without_keywords(document, &PROSE);
        }
        definitions::check_references(document)?;
    }
    Ok(extracted)
}
