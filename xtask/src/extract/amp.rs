//! Amp: the `types.d.ts` of its SDK, which lags the agent.

use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::typescript::{self, Comments};
use super::{Extracted, Installations};
use crate::cache::Installed;
use crate::definitions::check_anchors;
use crate::recipes::Group;

const PACKAGE: &str = "@sourcegraph/amp-sdk";
const AGENT: &str = "@sourcegraph/amp";

/// The native program: in a package for each platform, of which npm installs the one for this.
pub(super) fn program(installed: &Installed) -> Result<PathBuf> {
    let scope = installed.package("@ampcode");
    let entries = std::fs::read_dir(&scope).with_context(|| format!("cannot read {}", scope.display()))?;
    let name = if cfg!(windows) { "amp.exe" } else { "amp" };
    let mut programs = entries.flatten().map(|entry| entry.path().join(name)).filter(|program| program.is_file());
    programs.next().context("npm installed no Amp program for this platform")
}

pub(super) fn extract(from: &Installations) -> Result<Extracted> {
    let types = from.get(Group::Types)?;
    let roots = ["StreamMessage", "UserInputMessage"];
    let mut file = typescript::declarations(&types.package(PACKAGE), "dist/types.d.ts")?;
    file.add_roots(&roots);
    let (document, notes) = typescript::schema(from.get(Group::Tool)?, types, file, Comments::Drop, &[])?;
    check_anchors(&document, "/definitions", &roots)?;
    let describes = Some((AGENT.to_owned(), types.resolved(AGENT)?.version));
    Ok(Extracted { documents: vec![document], notes, describes, binary: None })
}
