//! The generated files of this repository, behind `cargo xtask generate`.

mod capabilities;

use serde::Serialize;

use crate::coverage::Coverage;

/// Something that generates files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generator {
    /// The JSON Schema of the universal event.
    UniversalSchema,
    /// The JSON Schema of the envelope.
    EnvelopeSchema,
    /// What the envelope is advertised for.
    Capabilities,
    /// What the recordings prove: the page, and the table of the product.
    Coverage,
}

/// A generated file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GeneratedFile {
    /// The name of its generator.
    pub generator: &'static str,
    /// Its path below the repository's root.
    pub path: &'static str,
    /// What it should hold.
    pub text: String,
}

impl Generator {
    /// Every generator.
    pub const ALL: [Self; 4] = [Self::UniversalSchema, Self::EnvelopeSchema, Self::Capabilities, Self::Coverage];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UniversalSchema => "universal-schema",
            Self::EnvelopeSchema => "envelope-schema",
            Self::Capabilities => "capabilities",
            Self::Coverage => "coverage",
        }
    }

    /// Whether it needs to know what the recordings prove.
    #[must_use]
    pub const fn needs_coverage(self) -> bool {
        matches!(self, Self::Capabilities | Self::Coverage)
    }

    /// The files. `coverage` may be empty for generators that do not need it.
    ///
    /// # Errors
    /// When a schema cannot be written as JSON.
    pub fn generate(self, coverage: &Coverage) -> serde_json::Result<Vec<GeneratedFile>> {
        let file = |path, text| GeneratedFile { generator: self.name(), path, text };
        Ok(match self {
            Self::UniversalSchema => {
                vec![file("crates/schema/schema.json", pretty(&interlingua_schema::json_schema())?)]
            }
            Self::EnvelopeSchema => {
                vec![file("crates/envelope/schema.json", pretty(&interlingua_envelope::envelope_json_schema())?)]
            }
            Self::Capabilities => vec![file("docs/envelope-capabilities.md", capabilities::page(coverage))],
            Self::Coverage => vec![
                file("docs/coverage.md", coverage.page()),
                file("crates/convert/src/coverage/proven.rs", coverage.table()),
            ],
        })
    }
}

fn pretty(schema: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(schema)? + "\n")
}
