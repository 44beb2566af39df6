//! A pulled schema with what belongs to it: `schema.json`, `source.toml`, `overlay.json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::document::Document;
use crate::error::{Error, Result};
use crate::overlay::{self, Correction};
use crate::settings::Settings;

/// The name of the settings whose types stand at the top of the module.
const MAIN: &str = "main";
const SOURCE: &str = "source.toml";
const OVERLAY: &str = "overlay.json";

/// The schemas of one folder, corrected.
#[derive(Debug)]
pub struct SchemaFolder {
    /// The modules to generate, the main one first.
    pub modules: Vec<SchemaModule>,
    /// The corrections.
    pub corrections: Vec<Correction>,
}

/// One module of a folder.
#[derive(Debug)]
pub struct SchemaModule {
    /// The submodule; `None` for the folder's main types.
    pub name: Option<String>,
    /// The schema file, for error messages.
    pub file: String,
    /// The schema with its corrections.
    pub document: Document,
    /// What to generate of it.
    pub settings: Settings,
}

/// The part of `source.toml` that says what to generate.
#[derive(Deserialize)]
struct SourceFile {
    types: BTreeMap<String, Settings>,
}

impl SchemaFolder {
    /// Parses the files of a folder, given as pairs of name and text. `folder` is what errors call the folder.
    ///
    /// # Errors
    /// When a file is missing or is not what it should be, or a correction no longer applies.
    pub fn parse(folder: &str, files: &[(&str, &str)]) -> Result<Self> {
        let find = |name: &str| files.iter().find(|(file, _)| *file == name).map(|(_, text)| *text);
        let path = |name: &str| format!("{folder}/{name}");
        let read = |name: &str| {
            let missing = || Error::new(&path(name), "", "there is no such file", "restore the file");
            find(name).ok_or_else(missing)
        };
        let source: SourceFile = toml::from_str(read(SOURCE)?).map_err(|error| {
            let advice = "its `[types.main]` table says what to generate";
            Error::new(&path(SOURCE), "", format!("no source.toml: {error}"), advice)
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
