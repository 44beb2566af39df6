//! The software bill of materials: every crate in the programs, and every npm package in the page that they contain, in the
//! format `CycloneDX` 1.5.

mod npm;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use super::npm::PLATFORMS;
use crate::repository::Repository;

/// The package whose program is released.
const PACKAGE: &str = "interlingua";

/// The SBOM of the programs for all platforms of a release, from cargo's resolved dependencies, and the hashes in
/// `Cargo.lock` and in npm's lock file.
pub(super) fn render(repository: &Repository, version: &str) -> Result<String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["metadata", "--locked", "--format-version", "1"]).current_dir(repository.root());
    for platform in &PLATFORMS {
        command.args(["--filter-platform", platform.target]);
    }
    let output = command.output().context("cannot start cargo")?;
    if !output.status.success() {
        bail!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata = serde_json::from_slice(&output.stdout).context("the output of `cargo metadata` is not JSON")?;
    let read = |path: &str| {
        std::fs::read_to_string(repository.root().join(path)).with_context(|| format!("cannot read {path}"))
    };
    let page = npm::components(&read("inspector/package-lock.json")?)?;
    let sbom = build(&metadata, &parse_checksums(&read("Cargo.lock")?)?, &page, version)?;
    Ok(format!("{sbom:#}\n"))
}

/// Checksum of each package in `Cargo.lock`, by name and version.
fn parse_checksums(lock: &str) -> Result<BTreeMap<(String, String), String>> {
    let lock: toml::Table = lock.parse().context("Cargo.lock is invalid")?;
    let packages = lock.get("package").and_then(toml::Value::as_array).into_iter().flatten();
    let field = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let entry = |package| Some(((field(package, "name")?, field(package, "version")?), field(package, "checksum")?));
    Ok(packages.filter_map(entry).collect())
}

/// `page` are the components of the page. `version` is that of the release, which the workspace may not have yet.
fn build(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
    page: &[Value],
    version: &str,
) -> Result<Value> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages: BTreeMap<String, Value> =
        list(&metadata["packages"]).into_iter().filter_map(|it| described(it, version)).collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .filter_map(|it| Some((it["id"].as_str()?.to_owned(), it)))
        .collect();
    let root = packages.iter().find(|(_, package)| package["name"] == PACKAGE).map(|(id, _)| id.clone());
    let root = root.with_context(|| format!("the workspace has no package {PACKAGE}"))?;

    // What is linked into the program, and what its build runs. Tests are left out.
    let mut edges: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut waiting = vec![root.clone()];
    while let Some(id) = waiting.pop() {
        if edges.contains_key(&id) {
            continue;
        }
        let dependencies: Vec<String> = nodes
            .get(&id)
            .map(|node| list(&node["deps"]))
            .unwrap_or_default()
            .iter()
            .filter(|dependency| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"] != "dev"))
            .filter_map(|dependency| dependency["pkg"].as_str().map(str::to_owned))
            .collect();
        waiting.extend(dependencies.iter().cloned());
        edges.insert(id, dependencies);
    }
    let reference = |id: &str| packages.get(id).map_or_else(String::new, package_url);
    let crates = edges.keys().filter(|id| **id != root).filter_map(|id| Some(component(packages.get(id)?, checksums)));
    let components: Vec<Value> = crates.chain(page.iter().cloned()).collect();
    let dependencies: Vec<Value> = edges
        .iter()
        .map(|(id, dependencies)| {
            let page = page.iter().filter(|_| *id == root).filter_map(|it| it["bom-ref"].as_str()).map(str::to_owned);
            let on: BTreeSet<String> = dependencies.iter().map(|id| reference(id)).chain(page).collect();
            json!({ "ref": reference(id), "dependsOn": on })
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": reference(&root), "name": PACKAGE, "version": version,
                "purl": reference(&root), "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// The id of a package and its metadata. The packages of the workspace get the version of the release.
fn described(mut package: Value, version: &str) -> Option<(String, Value)> {
    let id = package["id"].as_str()?.to_owned();
    if package["source"].is_null() {
        package["version"] = json!(version);
    }
    Some((id, package))
}

fn package_url(package: &Value) -> String {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version").replace('+', "%2B"))
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let url = package_url(package);
    let mut component = json!({
        "type": "library", "bom-ref": url, "name": text("name"), "version": text("version"), "purl": url,
    });
    // Older manifests separate licences by a slash, which is no SPDX expression.
    let licence = text("license").replace('/', " OR ");
    if !licence.is_empty() {
        component["licenses"] = json!([{ "expression": licence }]);
    }
    if let Some(checksum) = checksums.get(&(text("name"), text("version"))) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sbom_has_what_is_in_the_program() {
        let package = |name: &str| {
            let source = if name == "interlingua" { Value::Null } else { json!("registry") };
            json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "source": source })
        };
        let edge = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let packages = ["interlingua", "used", "built", "tested"].map(package).to_vec();
        let metadata = json!({
            "packages": packages,
            "resolve": { "nodes": [
                { "id": "interlingua", "deps": [edge("used", Value::Null), edge("tested", json!("dev"))] },
                { "id": "used", "deps": [edge("built", json!("build"))] },
                { "id": "built", "deps": [] },
                { "id": "tested", "deps": [] },
            ] },
        });
        let lock = "[[package]]\nname = \"used\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n";
        let page = [json!({ "name": "preact", "bom-ref": "pkg:npm/preact@10.0.0" })];
        let sbom = build(&metadata, &parse_checksums(lock).unwrap(), &page, "1.1.0").unwrap();
        let names: Vec<&str> =
            sbom["components"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
        assert_eq!(names, ["built", "used", "preact"]);
        assert_eq!(sbom["components"][1]["hashes"][0]["content"], "ab");
        assert_eq!(sbom["components"][1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        let root = &sbom["dependencies"][1];
        assert_eq!(
            (&root["ref"], &root["dependsOn"]),
            (&json!("pkg:cargo/interlingua@1.1.0"), &json!(["pkg:cargo/used@1.0.0", "pkg:npm/preact@10.0.0"]))
        );
    }
}
