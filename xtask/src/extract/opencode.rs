//! `opencode generate` prints the description (`OpenAPI`) of the server that the agent is.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::{Extracted, Installations};
use crate::cache::Installed;
use crate::canonical::without_keywords;
use crate::definitions::check_anchors;
use crate::isolated;
use crate::recipes::Group;
use crate::source_toml::Binary;

pub(super) fn extract(from: &Installations) -> Result<Extracted> {
    let native = from.get(Group::Native)?;
    let candidates = candidates(native)?;
    let mut failure = None;
    // npm may install a build for every processor beside one for newer processors: the first that runs will do.
    for (package, program) in candidates {
        match isolated::output(&program, &["generate"]) {
            Ok(text) => {
                let document: Value = serde_json::from_slice(&text).context("`opencode generate` printed no JSON")?;
                check_anchors(&document, "/components/schemas", &["Event", "Part", "Session"])?;
                let resolved = native.resolved(&package)?;
                return Ok(Extracted {
                    documents: vec![without_keywords(&document, &["x-codeSamples"])],
                    binary: Some(Binary { package, version: resolved.version, integrity: resolved.integrity }),
                    ..Extracted::default()
                });
            }
            Err(error) => failure = Some(error),
        }
    }
    match failure {
        Some(error) => Err(error),
        None => bail!("npm installed no opencode program for this platform"),
    }
}

/// The native packages with their programs, the plainest name first.
pub(super) fn candidates(native: &Installed) -> Result<Vec<(String, PathBuf)>> {
    let folder = native.folder.join("node_modules");
    let program = if cfg!(windows) { "bin/opencode.exe" } else { "bin/opencode" };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let path = folder.join(&name).join(program);
        if name.starts_with("opencode-") && name != "opencode-ai" && path.is_file() {
            found.push((name, path));
        }
    }
    found.sort_by_key(|(name, _)| (name.len(), name.clone()));
    Ok(found)
}
