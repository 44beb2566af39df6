//! OpenCode: `opencode generate` prints the `OpenAPI` document of its server.

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::{ExtractedSchema, Installations};
use crate::cache::Installation;
use crate::definitions::check_required_types;
use crate::isolated;
use crate::recipes::InstallGroup;
use crate::schema_json::without_keywords;
use crate::source_toml::NativeProgram;

pub(super) fn extract(installations: &Installations) -> Result<ExtractedSchema> {
    let native = installations.get(InstallGroup::Native)?;
    let mut last_error = None;
    // npm may install a build for all processors and one for newer processors. The first that runs is used.
    for (package, program) in find_programs(native)? {
        match isolated::output(&program, &["generate"]) {
            Ok(text) => {
                let document: Value =
                    serde_json::from_slice(&text).context("the output of `opencode generate` is not JSON")?;
                check_required_types(&document, "/components/schemas", &["Event", "Part", "Session"])?;
                let resolved = native.resolved(&package)?;
                return Ok(ExtractedSchema {
                    documents: vec![without_keywords(&document, &["x-codeSamples"])],
                    binary: Some(NativeProgram { package, version: resolved.version, integrity: resolved.integrity }),
                    ..ExtractedSchema::default()
                });
            }
            Err(error) => last_error = Some(error),
        }
    }
    match last_error {
        Some(error) => Err(error),
        None => bail!("npm installed no opencode program for this platform"),
    }
}

/// Finds the native packages and their programs, the shortest name first.
pub(super) fn find_programs(native: &Installation) -> Result<Vec<(String, PathBuf)>> {
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
