//! From a vendor's JSON Schema to Rust types that survive the vendor's next release.
//!
//! The way of a schema: a [`Document`] is parsed and corrected by the entries of an [`overlay`]; what is reachable
//! from the roots is lowered to a [`Model`], in which every union has its tag and every type its Rust name; the model
//! is written as source. Structs are typify's work; unions and enums are written here, because they are where a
//! schema's next release would break a reader.
//!
//! This crate knows JSON Schema (draft-07, 2020-12, OpenAPI 3.1). It knows no agent. The generated source needs the crates
//! `interlingua-native-runtime`, which reads and writes its types, `serde` and `serde_json`.

mod digest;
mod document;
mod error;
mod lower;
mod model;
mod name;
pub mod overlay;
mod render;
mod schema_folder;
mod settings;
mod shape;
mod tags;
mod union;

pub use crate::document::Document;
pub use crate::error::{Error, Result};
pub use crate::model::{
    Adjacent, AdjacentVariant, Arm, Branch, Definition, Enum, Field, HttpRequest, JsonKind, Kind, KindVariant, Literal,
    Model, RpcMethod, Struct, Tagged, Type, Variant,
};
pub use crate::schema_folder::{SchemaFolder, SchemaModule};
pub use crate::settings::Settings;

/// One generated module.
#[derive(Debug, Clone)]
pub struct Generated {
    /// The Rust source.
    pub source: String,
    /// One line per type and field.
    pub digest: Vec<String>,
}

/// Lowers the document to the types its roots reach.
///
/// # Errors
/// When the schema has something in it that cannot become a type; the error says where and what to do.
pub fn build_model(document: &Document, settings: &Settings) -> Result<Model> {
    lower::lower(document, settings)
}

/// Generates the types that the settings' roots reach.
///
/// # Errors
/// As [`build_model`].
pub fn generate(file: &str, document: &Document, settings: &Settings) -> Result<Generated> {
    let model = build_model(document, settings)?;
    Ok(Generated { source: render::render(&model, file)?, digest: digest::digest(&model) })
}
