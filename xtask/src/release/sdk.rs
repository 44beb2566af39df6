//! The npm package of the TypeScript SDK.
//!
//! What is published depends on the platform packages, optionally, so that `start` finds the program. The manifest in the
//! repository does not, because `npm ci` fails for a version that is not published yet.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Map, Value};

use super::execute;
use super::npm::{copy, write_manifest};
use crate::repository::Repository;

/// Folder of the package in the repository.
const FOLDER: &str = "sdks/typescript";

/// Builds the SDK, and puts what is published into a folder. `platforms` are the platform packages with their version.
pub(super) fn write_package(
    repository: &Repository,
    folder: &Path,
    version: &str,
    platforms: Map<String, Value>,
) -> Result<()> {
    let source = repository.root().join(FOLDER);
    let prefix = source.display().to_string();
    if !source.join("node_modules").is_dir() {
        execute(repository, "npm", &["ci", "--prefix", &prefix, "--ignore-scripts", "--no-audit", "--no-fund"])?;
    }
    execute(repository, "npm", &["run", "--prefix", &prefix, "--silent", "build"])?;
    let path = source.join("package.json");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let manifest = published_manifest(&text, version, platforms).with_context(|| path.display().to_string())?;
    write_manifest(folder, &manifest)?;
    let files = manifest["files"].as_array().into_iter().flatten().filter_map(Value::as_str);
    for file in files.chain(["README.md"]) {
        copy_all(&source.join(file), &folder.join(file))?;
    }
    Ok(())
}

/// The manifest without what only the repository needs, and with the platform packages.
fn published_manifest(text: &str, version: &str, platforms: Map<String, Value>) -> Result<Value> {
    let mut manifest: Map<String, Value> = serde_json::from_str(text).context("the manifest is not a JSON object")?;
    let found = manifest.get("version").and_then(Value::as_str).unwrap_or_default();
    ensure!(found == version, "expected the version {version} of the workspace, found {found:?}");
    for field in ["scripts", "devDependencies"] {
        manifest.remove(field);
    }
    manifest.insert("optionalDependencies".to_owned(), platforms.into());
    Ok(manifest.into())
}

/// Copies a file, or a folder with everything in it.
fn copy_all(from: &Path, to: &Path) -> Result<()> {
    if !from.is_dir() {
        return copy(from, to);
    }
    for entry in from.read_dir().with_context(|| format!("cannot read {}", from.display()))? {
        let name = entry.with_context(|| format!("cannot read {}", from.display()))?.file_name();
        copy_all(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_manifest_depends_on_the_platform_packages_and_runs_nothing() {
        let text =
            r#"{"name": "interlingua", "version": "1.2.3", "scripts": {"test": "x"}, "devDependencies": {"a": "1"}}"#;
        let platforms = Map::from_iter([("@interlingua/cli-linux-x64".to_owned(), Value::from("1.2.3"))]);
        let manifest = published_manifest(text, "1.2.3", platforms.clone()).unwrap();
        let expected =
            serde_json::json!({ "name": "interlingua", "version": "1.2.3", "optionalDependencies": platforms });
        assert_eq!(manifest, expected);
        let error = published_manifest(text, "1.3.0", platforms).unwrap_err().to_string();
        assert!(error.contains("1.3.0") && error.contains("1.2.3"), "{error}");
    }
}
