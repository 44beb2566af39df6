//! A folder with a pulled schema: `schema.json`, `source.toml`, `overlay.json`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::document::Document;
use crate::error::{Error, Result};
use crate::overlay::{self, Entry};
use crate::settings::Settings;

/// The name of the settings whose types stand at the top of the module.
const MAIN: &str = "main";

/// Everything in one schema folder.
#[derive(Debug)]
pub struct Source {
    /// The modules to generate, the main one first.
    pub modules: Vec<SourceModule>,
    /// The corrections.
    pub overlay: Vec<Entry>,
    /// The packages that the schemas were pulled from, with their versions.
    pub packages: Vec<(String, String)>,
    /// The files that were read.
    pub files: Vec<PathBuf>,
}

/// One module of a folder.
#[derive(Debug)]
pub struct SourceModule {
    /// The submodule; `None` for the folder's main types.
    pub name: Option<String>,
    /// The schema file, for error messages.
    pub file: String,
    /// The schema with its corrections.
    pub document: Document,
    /// What to generate of it.
    pub settings: Settings,
}

/// The parts of `source.toml` that matter for types.
#[derive(Deserialize)]
struct SourceFile {
    types: BTreeMap<String, Settings>,
    package: BTreeMap<String, Package>,
}

#[derive(Deserialize)]
struct Package {
    version: String,
}

impl Source {
    /// Reads a folder.
    ///
    /// # Errors
    /// When a file is missing or is not what it should be, or a correction no longer applies.
    pub fn load(folder: &Path) -> Result<Self> {
        let mut files = Vec::new();
        let source_path = folder.join("source.toml");
        let source: SourceFile = toml::from_str(&read(&source_path, &mut files)?).map_err(|error| {
            let advice = "its `[types.main]` table says what to generate";
            Error::new(&display(&source_path), "", format!("no source.toml: {error}"), advice)
        })?;
        let overlay_path = folder.join("overlay.json");
        let overlay = if overlay_path.exists() {
            overlay::parse(&display(&overlay_path), &read(&overlay_path, &mut files)?)?
        } else {
            Vec::new()
        };
        let mut modules = Vec::new();
        for (name, settings) in source.types {
            let path = folder.join(&settings.schema);
            let file = display(&path);
            let mut root: Value = serde_json::from_str(&read(&path, &mut files)?).map_err(|error| {
                Error::new(&file, "", format!("not JSON: {error}"), "pull it again with `cargo xtask refresh-schemas`")
            })?;
            overlay::apply(&mut root, &overlay, &settings.schema, &display(&overlay_path))?;
            let document = Document::from_value(&file, root)?;
            modules.push(SourceModule { name: (name != MAIN).then_some(name), file, document, settings });
        }
        modules.sort_by(|one, other| one.name.cmp(&other.name));
        let packages = source.package.into_iter().map(|(name, package)| (name, package.version)).collect();
        Ok(Self { modules, overlay, packages, files })
    }
}

fn read(path: &Path, files: &mut Vec<PathBuf>) -> Result<String> {
    files.push(path.to_owned());
    fs::read_to_string(path)
        .map_err(|error| Error::new(&display(path), "", format!("cannot be read: {error}"), "restore the file"))
}

fn display(path: &Path) -> String {
    path.display().to_string()
}
