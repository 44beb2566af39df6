//! Amp: the `types.d.ts` of its SDK, which may be older than the agent.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::typescript::{self, Comments};
use super::{ExtractedSchema, Installations};
use crate::cache::Installation;
use crate::definitions::check_required_types;
use crate::pins::version_numbers;
use crate::recipes::InstallGroup;

const SDK_PACKAGE: &str = "@sourcegraph/amp-sdk";
/// The names under which the agent is published, the preferred one first.
const AGENT_PACKAGES: [&str; 2] = ["@sourcegraph/amp", "@ampcode/cli"];

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
    let [preferred, other] = AGENT_PACKAGES;
    let described_agent = newer(
        (preferred.to_owned(), types.resolved(preferred)?.version),
        (other.to_owned(), types.resolved(other)?.version),
    );
    Ok(ExtractedSchema { documents: vec![document], notes, described_agent: Some(described_agent), binary: None })
}

/// The package with the newer version; the first one if they have the same.
fn newer(first: (String, String), second: (String, String)) -> (String, String) {
    if version_numbers(&second.1) > version_numbers(&first.1) { second } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_is_the_package_with_the_newer_version() {
        let package = |name: &str, version: &str| (name.to_owned(), version.to_owned());
        let old = package("@sourcegraph/amp", "0.0.1790142911-gf");
        assert_eq!(newer(old.clone(), package("@ampcode/cli", "0.0.1790142911-gf")), old);
        let new = package("@ampcode/cli", "0.0.1790712063-ga");
        assert_eq!(newer(old, new.clone()), new);
    }
}
