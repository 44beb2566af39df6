//! The folder of a pulled schema: `schema.json`, `source.toml` and `overlay.json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::document::Document;
use crate::error::{Error, Result};
use crate::overlay::{self, Correction};
use crate::settings::Settings;

/// The name of the settings whose types are at the top level of the agent's module.
const MAIN: &str = "main";
const SOURCE: &str = "source.toml";
const OVERLAY: &str = "overlay.json";

/// The schemas of one folder, with their corrections applied.
#[derive(Debug)]
pub struct SchemaFolder {
    /// The modules to generate, the main one first.
    pub modules: Vec<SchemaModule>,
    /// The corrections in `overlay.json`.
    pub corrections: Vec<Correction>,
}

/// One module to generate.
#[derive(Debug)]
pub struct SchemaModule {
    /// Name of the submodule; `None` for the main types.
    pub name: Option<String>,
    /// Name of the schema file, for error messages.
    pub file: String,
    /// The corrected schema.
    pub document: Document,
    /// The settings of the module.
    pub settings: Settings,
}

/// The part of `source.toml` with the settings.
#[derive(Deserialize)]
struct SourceFile {
    types: BTreeMap<String, Settings>,
}

impl SchemaFolder {
    /// Parses the files of a folder, given as pairs of name and text. `folder` is the name of the folder in errors.
    ///
    /// # Errors
    /// If a file is missing or invalid, or a correction no longer applies.
    pub fn parse(folder: &str, files: &[(&str, &str)]) -> Result<Self> {
        let find = |name: &str| files.iter().find(|(file, _)| *file == name).map(|(_, text)| *text);
        let path = |name: &str| format!("{folder}/{name}");
        let read = |name: &str| {
            let missing = || Error::new(&path(name), "", "the file does not exist", "restore the file");
            find(name).ok_or_else(missing)
        };
        let source: SourceFile = toml::from_str(read(SOURCE)?).map_err(|error| {
            let advice = "the table `[types.main]` must describe what to generate";
            Error::new(&path(SOURCE), "", format!("not a valid source.toml: {error}"), advice)
        })?;
        let corrections = match find(OVERLAY) {
            Some(text) => overlay::parse(&path(OVERLAY), text)?,
            None => Vec::new(),
        };
        let mut modules = Vec::new();
        for (name, settings) in source.types {
            let file = path(&settings.schema);
            let mut root: Value = serde_json::from_str(read(&settings.schema)?).map_err(|error| {
                Error::new(&file, "", format!("not JSON: {error}"), "pull it again with `cargo xtask refresh-schemas`")
            })?;
            overlay::apply(&mut root, &corrections, &settings.schema, &path(OVERLAY))?;
            let document = Document::from_value(&file, root)?;
            modules.push(SchemaModule { name: (name != MAIN).then_some(name), file, document, settings });
        }
        modules.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(Self { modules, corrections })
    }
}
