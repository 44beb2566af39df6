//! Amp: the `types.d.ts` of its SDK, which may be older than the agent.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::typescript::{self, Comments};
use super::{ExtractedSchema, Installations};
use crate::cache::Installation;
use crate::definitions::check_required_types;
use crate::recipes::InstallGroup;

const SDK_PACKAGE: &str = "@sourcegraph/amp-sdk";
const AGENT_PACKAGE: &str = "@sourcegraph/amp";

/// Finds the native program. Each platform has its own package, and npm installs the one for this platform.
pub(super) fn find_program(installed: &Installation) -> Result<PathBuf> {
    let scope = installed.package_folder("@ampcode");
    let entries = std::fs::read_dir(&scope).with_context(|| format!("cannot read {}", scope.display()))?;
    let name = if cfg!(windows) { "amp.exe" } else { "amp" };
    let mut programs = entries.flatten().map(|entry| entry.path().join(name)).filter(|program| program.is_file());
    programs.next().context("npm installed no Amp program for this platform")
}

pub(super) fn extract(installations: &Installations) -> Result<ExtractedSchema> {
    let types = installations.get(InstallGroup::Types)?;
    let roots = ["StreamMessage", "UserInputMessage"];
    let mut file = typescript::read_declarations(&types.package_folder(SDK_PACKAGE), "dist/types.d.ts")?;
    file.add_roots(&roots);
    let (document, notes) =
        typescript::generate_schema(installations.get(InstallGroup::Tool)?, types, file, Comments::Drop, &[])?;
    check_required_types(&document, "/definitions", &roots)?;
    let described_agent = Some((AGENT_PACKAGE.to_owned(), types.resolved(AGENT_PACKAGE)?.version));
    Ok(ExtractedSchema { documents: vec![document], notes, described_agent, binary: None })
}
