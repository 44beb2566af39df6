//! TypeScript declarations → JSON Schema, by `ts-json-schema-generator`.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::declarations::{Declarations, ROOTS};
use crate::cache::Installed;
use crate::{definitions, isolated};

/// What to do with the vendor's comments.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Comments {
    /// They become descriptions.
    Keep,
    /// They are not even read.
    Drop,
}

/// The file `path` of an installed package, to be edited.
pub(super) fn declarations(package: &Path, path: &str) -> Result<Declarations> {
    let path = package.join(path);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Declarations::new(text))
}

/// The schema of everything that the file's roots reach, with the definitions in `stand_ins` put in place.
///
/// Also says what the file imports that is not installed: TypeScript takes such a type for `any` without a word.
pub(super) fn schema(
    tool: &Installed,
    types: &Installed,
    file: Declarations,
    comments: Comments,
    stand_ins: &[&str],
) -> Result<(Value, Vec<String>)> {
    let missing: Vec<_> = file
        .imported_packages()
        .into_iter()
        .filter(|name| !types.package(name).is_dir())
        .map(|name| format!("{name} is imported and not installed: what the wire uses of it is typed as anything"))
        .collect();
    let (text, mut notes) = file.finish();
    notes.extend(missing);

    // Beside node_modules, so that imports resolve as they do in the package.
    let scratch = tempfile::Builder::new().prefix("declarations-").tempdir_in(&types.folder);
    let scratch = scratch.context("cannot make a temporary folder in the cache")?;
    let input = scratch.path().join("wire.d.ts");
    let output = scratch.path().join("schema.json");
    std::fs::write(&input, text).context("cannot write to the cache")?;

    let script = tool.package("ts-json-schema-generator").join("bin/ts-json-schema-generator.js");
    let comments = if comments == Comments::Keep { "extended" } else { "none" };
    let arguments = [
        script.as_os_str(),
        "--path".as_ref(),
        input.as_os_str(),
        "--out".as_ref(),
        output.as_os_str(),
        "--type".as_ref(),
        ROOTS.as_ref(),
        "--jsDoc".as_ref(),
        comments.as_ref(),
        // Types that are not exported keep their names too.
        "--expose".as_ref(),
        "all".as_ref(),
        "--no-type-check".as_ref(),
        "--no-ref-encode".as_ref(),
    ];
    isolated::output(Path::new("node"), &arguments).context("ts-json-schema-generator")?;
    let text = std::fs::read_to_string(&output).context("ts-json-schema-generator wrote no schema")?;
    let document = serde_json::from_str(&text).context("ts-json-schema-generator wrote no JSON")?;
    Ok((definitions::tidy(&document, ROOTS, stand_ins)?, notes))
}
