//! Generates a JSON Schema from TypeScript declarations with `ts-json-schema-generator`.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::declarations::{Declarations, ROOTS_INTERFACE};
use crate::cache::Installation;
use crate::{definitions, isolated};

/// What happens to the vendor's comments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    /// They become descriptions in the schema.
    Keep,
    /// They are ignored.
    Drop,
}

/// Reads the declaration file `path` of an installed package.
pub(super) fn read_declarations(package: &Path, path: &str) -> Result<Declarations> {
    let path = package.join(path);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Declarations::new(text))
}

/// Generates the schema of all types that are reachable from the roots of `file`. The definitions in `inlined` are
/// inlined.
///
/// The notes name packages that the file imports but that are not installed, because TypeScript silently replaces their
/// types by `any`.
pub(super) fn generate_schema(
    generator: &Installation,
    types: &Installation,
    file: Declarations,
    comments: Comments,
    inlined: &[&str],
) -> Result<(Value, Vec<String>)> {
    let missing: Vec<_> = file
        .imported_packages()
        .into_iter()
        .filter(|name| !types.package_folder(name).is_dir())
        .map(|name| format!("the package {name} is imported but not installed: its types become `any` in the schema"))
        .collect();
    let (text, mut notes) = file.finish();
    notes.extend(missing);

    // In the folder that contains node_modules, so that imports resolve as in the package.
    let folder = tempfile::Builder::new().prefix("declarations-").tempdir_in(&types.folder);
    let folder = folder.context("cannot create a temporary folder in the cache")?;
    let input = folder.path().join("wire.d.ts");
    let output = folder.path().join("schema.json");
    std::fs::write(&input, text).context("cannot write to the cache")?;

    let script = generator.package_folder("ts-json-schema-generator").join("bin/ts-json-schema-generator.js");
    let comments = if comments == Comments::Keep { "extended" } else { "none" };
    let arguments = [
        script.as_os_str(),
        "--path".as_ref(),
        input.as_os_str(),
        "--out".as_ref(),
        output.as_os_str(),
        "--type".as_ref(),
        ROOTS_INTERFACE.as_ref(),
        "--jsDoc".as_ref(),
        comments.as_ref(),
        // Types that are not exported also keep their names.
        "--expose".as_ref(),
        "all".as_ref(),
        "--no-type-check".as_ref(),
        "--no-ref-encode".as_ref(),
    ];
    isolated::output(Path::new("node"), &arguments).context("ts-json-schema-generator failed")?;
    let text = std::fs::read_to_string(&output).context("ts-json-schema-generator wrote no schema file")?;
    let document = serde_json::from_str(&text).context("the schema from ts-json-schema-generator is not JSON")?;
    Ok((definitions::normalize(&document, ROOTS_INTERFACE, inlined)?, notes))
}
