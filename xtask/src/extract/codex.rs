//! Codex: the app server prints its own schema; the SDK declares the events of `codex exec --json`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::typescript::{self, Comments};
use super::{ExtractedSchema, Installations};
use crate::cache::Installation;
use crate::definitions::check_required_types;
use crate::isolated;
use crate::recipes::InstallGroup;
use crate::schema_json::{PROSE_KEYWORDS, without_keywords};
use crate::source_toml::NativeProgram;

const AGENT_PACKAGE: &str = "@openai/codex";
const SDK_PACKAGE: &str = "@openai/codex-sdk";
const SCHEMA_URI: &str = "http://json-schema.org/draft-07/schema#";
/// The file with all types of v2 as flat definitions. Exists since 0.130.
const V2_BUNDLE: &str = "codex_app_server_protocol.v2.schemas.json";
/// Prefix of the files that contain all types.
const BUNDLE_PREFIX: &str = "codex_app_server_protocol.";

pub(super) fn extract(installations: &Installations) -> Result<ExtractedSchema> {
    let native = installations.get(InstallGroup::Native)?;
    let (binary, program) = find_program(native)?;
    let (app_server, mut notes) = extract_app_server(&program)?;
    let (exec, exec_notes) = extract_exec(installations)?;
    notes.extend(exec_notes);
    Ok(ExtractedSchema { documents: vec![app_server, exec], notes, described_agent: None, binary: Some(binary) })
}

/// Finds the native program. The `codex` that npm puts on the path is a script that only starts it.
pub(super) fn find_program(native: &Installation) -> Result<(NativeProgram, PathBuf)> {
    let scope = native.folder.join("node_modules/@openai");
    let mut packages: Vec<_> = std::fs::read_dir(&scope)
        .with_context(|| format!("cannot read {}", scope.display()))?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("codex"))
        .collect();
    packages.sort();
    for name in packages {
        if let Some(program) = find_program_below(&scope.join(&name).join("vendor")) {
            let package = format!("@openai/{name}");
            let resolved = native.resolved(&package)?;
            return Ok((NativeProgram { package, version: resolved.version, integrity: resolved.integrity }, program));
        }
    }
    anyhow::bail!("npm installed no program of {AGENT_PACKAGE} for this platform")
}

/// Finds the program below `vendor`. Its path differs between releases, and old releases have all platforms in one
/// package.
fn find_program_below(vendor: &Path) -> Option<PathBuf> {
    let system = if cfg!(target_os = "macos") { "apple" } else { std::env::consts::OS };
    let mut triples: Vec<_> = std::fs::read_dir(vendor).ok()?.flatten().map(|entry| entry.path()).collect();
    triples.sort();
    triples
        .into_iter()
        .filter(|path| {
            let triple = path.file_name().unwrap_or_default().to_string_lossy();
            triple.starts_with(std::env::consts::ARCH) && triple.contains(system)
        })
        .flat_map(|path| ["bin", "codex"].map(|folder| path.join(folder).join(program_name())))
        .find(|path| path.is_file())
}

const fn program_name() -> &'static str {
    if cfg!(windows) { "codex.exe" } else { "codex" }
}

fn extract_app_server(program: &Path) -> Result<(Value, Vec<String>)> {
    let folder = tempfile::tempdir().context("cannot create a temporary folder")?;
    let base = ["app-server", "generate-json-schema", "--out"].map(OsStr::new);
    let mut arguments = base.to_vec();
    arguments.push(folder.path().as_os_str());
    let mut notes = Vec::new();
    // The agent sends experimental fields even if the host does not enable them.
    let experimental = [arguments.as_slice(), &[OsStr::new("--experimental")]].concat();
    if let Err(error) = isolated::output(program, &experimental) {
        isolated::output(program, &arguments).map_err(|_| error)?;
        notes.push("this release does not support --experimental: the schema has no experimental fields".to_owned());
    }
    let (document, conflicts) = merge(&read_files(folder.path())?);
    notes.extend(conflicts);
    check_required_types(
        &document,
        "/definitions",
        &[
            "ServerNotification",
            "ServerRequest",
            "ClientRequest",
            "ClientNotification",
            "JSONRPCMessage",
            "RequestId",
            "InitializeParams",
            "InitializeResponse",
            "ThreadItem",
        ],
    )?;
    Ok((document, notes))
}

/// Reads every JSON file in `folder`, `v1` and `v2`, by its path without extension.
fn read_files(folder: &Path) -> Result<BTreeMap<String, Value>> {
    let mut files = BTreeMap::new();
    for subfolder in ["", "v1", "v2"] {
        let Ok(entries) = std::fs::read_dir(folder.join(subfolder)) else {
            continue;
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension() == Some(OsStr::new("json")) {
                let text = std::fs::read_to_string(&path)?;
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                let name = format!("{subfolder}/{name}");
                let document = serde_json::from_str(&text).with_context(|| format!("{name}.json is not JSON"))?;
                files.insert(name.trim_start_matches('/').to_owned(), document);
            }
        }
    }
    Ok(files)
}

/// Merges all files into one document with flat `definitions`. Also returns notes about conflicts.
///
/// The order is: the flat bundle; then the type of each file (the file is named after it); then the definitions in each
/// file. Files of v2 come before files without a version, and those before files of v1. The first definition of a name
/// is used. If two definitions of a name differ in more than prose, there is a note.
fn merge(files: &BTreeMap<String, Value>) -> (Value, Vec<String>) {
    let bundle = V2_BUNDLE.trim_end_matches(".json");
    let mut single_files: Vec<_> = files.iter().filter(|(name, _)| !name.starts_with(BUNDLE_PREFIX)).collect();
    single_files.sort_by_key(|(name, _)| (!name.starts_with("v2/"), name.contains('/'), name.as_str()));

    let mut merged = MergedDefinitions::default();
    let definitions_in =
        |document: &Value| document.get("definitions").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(document) = files.get(bundle) {
        for (name, schema) in definitions_in(document) {
            merged.add(&name, bundle, &schema);
        }
    }
    for (file, document) in &single_files {
        merged.add(file.rsplit('/').next().unwrap_or(file), file, document);
    }
    for (file, document) in &single_files {
        for (name, schema) in definitions_in(document) {
            merged.add(&name, file, &schema);
        }
    }
    let document = json!({
        "$schema": SCHEMA_URI,
        "title": "CodexAppServerProtocol",
        "type": "object",
        "definitions": merged.definitions,
    });
    (document, merged.conflicts)
}

#[derive(Default)]
struct MergedDefinitions {
    definitions: Map<String, Value>,
    origins: BTreeMap<String, String>,
    conflicts: Vec<String>,
}

impl MergedDefinitions {
    fn add(&mut self, name: &str, file: &str, schema: &Value) {
        let mut schema = schema.clone();
        if let Value::Object(map) = &mut schema {
            // These belong to the file, not to the type.
            map.remove("$schema");
            map.remove("definitions");
        }
        match self.definitions.get(name) {
            None => {
                self.definitions.insert(name.to_owned(), schema);
                self.origins.insert(name.to_owned(), file.to_owned());
            }
            Some(first) if without_keywords(first, &PROSE_KEYWORDS) != without_keywords(&schema, &PROSE_KEYWORDS) => {
                let origin = &self.origins[name];
                self.conflicts.push(format!(
                    "{name} is defined differently in {origin} and in {file}: the definition in {origin} is used"
                ));
            }
            Some(_) => {}
        }
    }
}

fn extract_exec(installations: &Installations) -> Result<(Value, Vec<String>)> {
    let types = installations.get(InstallGroup::Types)?;
    let mut file = typescript::read_declarations(&types.package_folder(SDK_PACKAGE), "dist/index.d.ts")?;
    // The same type in plain TypeScript. The generator fails on the original, which uses zod.
    file.redirect_import("ContentBlock", "@modelcontextprotocol/sdk/spec.types.js");
    file.add_roots(&["ThreadEvent"]);
    let (document, notes) =
        typescript::generate_schema(installations.get(InstallGroup::Tool)?, types, file, Comments::Keep, &[])?;
    check_required_types(&document, "/definitions", &["ThreadEvent", "ThreadItem", "ContentBlock", "TextContent"])?;
    Ok((document, notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, Value)]) -> BTreeMap<String, Value> {
        all.iter().map(|(name, document)| ((*name).to_owned(), document.clone())).collect()
    }

    #[test]
    fn missing_types_of_the_bundle_are_taken_from_the_other_files() {
        let (document, conflicts) = merge(&files(&[
            (
                "codex_app_server_protocol.v2.schemas",
                json!({"definitions": {"Thread": {"$schema": "x", "type": "object"}}}),
            ),
            ("codex_app_server_protocol.schemas", json!({"definitions": {"v2": {"Nested": {}}}})),
            ("RequestId", json!({"$schema": "x", "title": "RequestId", "type": "string"})),
            ("v2/Thread", json!({"title": "Thread", "type": "object", "definitions": {"Turn": {"type": "object"}}})),
        ]));
        assert_eq!(
            document["definitions"],
            json!({
                "RequestId": {"title": "RequestId", "type": "string"},
                "Thread": {"type": "object"},
                "Turn": {"type": "object"},
            })
        );
        assert_eq!(conflicts, [""; 0]);
    }

    #[test]
    fn conflicting_definitions_are_resolved_in_a_fixed_order_and_noted() {
        let (document, conflicts) = merge(&files(&[
            ("A", json!({"definitions": {"Shared": {"type": "string"}}})),
            ("v1/B", json!({"definitions": {"Shared": {"type": "number"}}})),
            ("v2/C", json!({"definitions": {"Shared": {"type": "boolean"}}})),
        ]));
        assert_eq!(document["definitions"]["Shared"], json!({"type": "boolean"}));
        assert_eq!(
            conflicts,
            [
                "Shared is defined differently in v2/C and in A: the definition in v2/C is used",
                "Shared is defined differently in v2/C and in v1/B: the definition in v2/C is used",
            ]
        );
    }
}
