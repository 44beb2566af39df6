//! Codex: the app-server prints its own schema; the SDK declares the events of `codex exec --json`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use super::typescript::{self, Comments};
use super::{Extracted, Installations};
use crate::cache::Installed;
use crate::canonical::{PROSE, without_keywords};
use crate::definitions::check_anchors;
use crate::isolated;
use crate::recipes::Group;
use crate::source_toml::Binary;

const PACKAGE: &str = "@openai/codex";
const SDK: &str = "@openai/codex-sdk";
const DIALECT: &str = "http://json-schema.org/draft-07/schema#";
/// All of v2 with flat definitions; since 0.130.
const BUNDLE: &str = "codex_app_server_protocol.v2.schemas.json";
const BUNDLES: &str = "codex_app_server_protocol.";

pub(super) fn extract(from: &Installations) -> Result<Extracted> {
    let native = from.get(Group::Native)?;
    let (binary, program) = program(native)?;
    let (app_server, mut notes) = app_server(&program)?;
    let (exec, exec_notes) = exec(from)?;
    notes.extend(exec_notes);
    Ok(Extracted { documents: vec![app_server, exec], notes, describes: None, binary: Some(binary) })
}

/// The native program; the `codex` on npm's path is a script that only starts it.
pub(super) fn program(native: &Installed) -> Result<(Binary, PathBuf)> {
    let scope = native.folder.join("node_modules/@openai");
    let mut packages: Vec<_> = std::fs::read_dir(&scope)
        .with_context(|| format!("cannot read {}", scope.display()))?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("codex"))
        .collect();
    packages.sort();
    for name in packages {
        if let Some(program) = program_below(&scope.join(&name).join("vendor")) {
            let package = format!("@openai/{name}");
            let resolved = native.resolved(&package)?;
            return Ok((Binary { package, version: resolved.version, integrity: resolved.integrity }, program));
        }
    }
    anyhow::bail!("{PACKAGE} brought no program for this platform")
}

/// Its place has moved between releases, and old ones have all platforms in one package.
fn program_below(vendor: &Path) -> Option<PathBuf> {
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

fn app_server(program: &Path) -> Result<(Value, Vec<String>)> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let plain = ["app-server", "generate-json-schema", "--out"].map(OsStr::new);
    let mut arguments = plain.to_vec();
    arguments.push(folder.path().as_os_str());
    let mut notes = Vec::new();
    // The agent sends experimental fields whether or not one asked for them.
    let experimental = [arguments.as_slice(), &[OsStr::new("--experimental")]].concat();
    if let Err(error) = isolated::output(program, &experimental) {
        isolated::output(program, &arguments).map_err(|_| error)?;
        notes.push("this release has no --experimental: its schema is the plain one".to_owned());
    }
    let (document, conflicts) = merge(&read_files(folder.path())?);
    notes.extend(conflicts);
    check_anchors(
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

/// Path below `folder` (with `/`) → document, for every JSON file.
fn read_files(folder: &Path) -> Result<BTreeMap<String, Value>> {
    let mut files = BTreeMap::new();
    for below in ["", "v1", "v2"] {
        let Ok(entries) = std::fs::read_dir(folder.join(below)) else {
            continue;
        };
        for entry in entries {
            let path = entry?.path();
            if path.extension() == Some(OsStr::new("json")) {
                let text = std::fs::read_to_string(&path)?;
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                let name = format!("{below}/{name}");
                let document = serde_json::from_str(&text).with_context(|| format!("{name}.json is not JSON"))?;
                files.insert(name.trim_start_matches('/').to_owned(), document);
            }
        }
    }
    Ok(files)
}

/// One document with flat `definitions` out of all the files, and what had to be decided on the way.
///
/// The flat bundle comes first. Then each file's own type (the file is named after it), then the definitions it
/// carries; v2 before the unversioned before v1. The first to define a name wins. That matters only where two
/// definitions of a name differ in more than prose, and such a name is reported.
fn merge(files: &BTreeMap<String, Value>) -> (Value, Vec<String>) {
    let bundle = BUNDLE.trim_end_matches(".json");
    let mut single: Vec<_> = files.iter().filter(|(name, _)| !name.starts_with(BUNDLES)).collect();
    single.sort_by_key(|(name, _)| (!name.starts_with("v2/"), name.contains('/'), name.as_str()));

    let mut merged = Merged::default();
    let carried =
        |document: &Value| document.get("definitions").and_then(Value::as_object).cloned().unwrap_or_default();
    if let Some(document) = files.get(bundle) {
        for (name, schema) in carried(document) {
            merged.add(&name, bundle, &schema);
        }
    }
    for (file, document) in &single {
        merged.add(file.rsplit('/').next().unwrap_or(file), file, document);
    }
    for (file, document) in &single {
        for (name, schema) in carried(document) {
            merged.add(&name, file, &schema);
        }
    }
    let document = json!({
        "$schema": DIALECT,
        "title": "CodexAppServerProtocol",
        "type": "object",
        "definitions": merged.definitions,
    });
    (document, merged.conflicts)
}

#[derive(Default)]
struct Merged {
    definitions: Map<String, Value>,
    origins: BTreeMap<String, String>,
    conflicts: Vec<String>,
}

impl Merged {
    fn add(&mut self, name: &str, file: &str, schema: &Value) {
        let mut schema = schema.clone();
        if let Value::Object(map) = &mut schema {
            // A file's frame, not part of the type.
            map.remove("$schema");
            map.remove("definitions");
        }
        match self.definitions.get(name) {
            None => {
                self.definitions.insert(name.to_owned(), schema);
                self.origins.insert(name.to_owned(), file.to_owned());
            }
            Some(first) if without_keywords(first, &PROSE) != without_keywords(&schema, &PROSE) => {
                let origin = &self.origins[name];
                self.conflicts.push(format!("{name} is one thing in {origin} and another in {file}: took the former"));
            }
            Some(_) => {}
        }
    }
}

fn exec(from: &Installations) -> Result<(Value, Vec<String>)> {
    let types = from.get(Group::Types)?;
    let mut file = typescript::declarations(&types.package(SDK), "dist/index.d.ts")?;
    // The same type in plain TypeScript: the generator dies on the zod behind the original.
    file.import_from("ContentBlock", "@modelcontextprotocol/sdk/spec.types.js");
    file.add_roots(&["ThreadEvent"]);
    let (document, notes) = typescript::schema(from.get(Group::Tool)?, types, file, Comments::Keep, &[])?;
    check_anchors(&document, "/definitions", &["ThreadEvent", "ThreadItem", "ContentBlock", "TextContent"])?;
    Ok((document, notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, Value)]) -> BTreeMap<String, Value> {
        all.iter().map(|(name, document)| ((*name).to_owned(), document.clone())).collect()
    }

    #[test]
    fn the_bundle_is_completed_from_the_other_files() {
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
    fn two_shapes_under_one_name_are_decided_the_same_way_every_time_and_told() {
        let (document, conflicts) = merge(&files(&[
            ("A", json!({"definitions": {"Shared": {"type": "string"}}})),
            ("v1/B", json!({"definitions": {"Shared": {"type": "number"}}})),
            ("v2/C", json!({"definitions": {"Shared": {"type": "boolean"}}})),
        ]));
        assert_eq!(document["definitions"]["Shared"], json!({"type": "boolean"}));
        assert_eq!(
            conflicts,
            [
                "Shared is one thing in v2/C and another in A: took the former",
                "Shared is one thing in v2/C and another in v1/B: took the former",
            ]
        );
    }
}
