//! Extracts schemas from installed packages, without network access.

mod acp;
mod amp;
mod claude;
mod codex;
mod declarations;
mod opencode;
mod typescript;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::cache::Installation;
use crate::recipes::{InstallGroup, recipe};
use crate::schema_json::{PROSE_KEYWORDS, without_keywords};
use crate::source_toml::NativeProgram;
use crate::{definitions, isolated};
use interlingua_agents::Agent;

/// The installations of one agent's packages.
pub(crate) struct Installations(pub(crate) Vec<(InstallGroup, Installation)>);

/// The result of an extraction.
#[derive(Default)]
pub(crate) struct ExtractedSchema {
    /// One document per file of the recipe, in its order.
    pub(crate) documents: Vec<Value>,
    /// Notes for the user.
    pub(crate) notes: Vec<String>,
    /// Package and version of the agent whose wire the types describe, if the types come from another package.
    pub(crate) described_agent: Option<(String, String)>,
    /// The native program that printed the schema.
    pub(crate) binary: Option<NativeProgram>,
}

impl Installations {
    /// The installation of `group`.
    pub(crate) fn get(&self, group: InstallGroup) -> Result<&Installation> {
        let found = self.0.iter().find(|(other, _)| *other == group);
        found.map(|(_, installed)| installed).with_context(|| format!("the recipe has no {group:?} packages"))
    }
}

/// Finds the native program of an installed agent.
pub(crate) fn find_program(agent: Agent, installed: &Installation) -> Result<PathBuf> {
    match agent {
        Agent::Claude => claude::find_program(installed),
        Agent::Codex => codex::find_program(installed).map(|(_, program)| program),
        Agent::OpenCode => {
            // npm may install a build for all processors and one for newer processors. The first that runs is used.
            let mut programs = opencode::find_programs(installed)?.into_iter().map(|(_, program)| program);
            let can_run = |program: &PathBuf| isolated::output(program, &["--version"]).is_ok();
            programs.find(can_run).context("npm installed no opencode program that runs on this machine")
        }
        Agent::Amp => amp::find_program(installed),
        Agent::Acp => bail!("the Agent Client Protocol has no program of its own"),
    }
}

/// Extracts the schema of `agent`, removes the prose if the licence requires that, and checks all references.
pub(crate) fn extract(agent: Agent, installations: &Installations) -> Result<ExtractedSchema> {
    let mut extracted = match agent {
        Agent::Claude => claude::extract(installations),
        Agent::Codex => codex::extract(installations),
        Agent::OpenCode => opencode::extract(installations),
        Agent::Amp => amp::extract(installations),
        Agent::Acp => acp::extract(installations),
    }?;
    for document in &mut extracted.documents {
        if !recipe(agent).keeps_prose {
            *document = without_keywords(document, &PROSE_KEYWORDS);
        }
        definitions::check_references(document)?;
    }
    Ok(extracted)
}
