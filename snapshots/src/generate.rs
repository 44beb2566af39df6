//! The generators behind `cargo xtask generate`.

mod capabilities;
mod typescript;

use serde::Serialize;

use crate::coverage::Coverage;

/// A generator of one or more files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generator {
    /// The JSON Schema of the universal event.
    UniversalSchema,
    /// The JSON Schema of the envelope.
    EnvelopeSchema,
    /// The page of the capabilities of the envelope.
    Capabilities,
    /// Which recording proves which feature: the page, and the table in `interlingua_convert`.
    Coverage,
    /// The types of the TypeScript SDK.
    TypeScript,
}

/// A generated file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GeneratedFile {
    /// Name of the generator.
    pub generator: &'static str,
    /// Path below the root of the repository.
    pub path: &'static str,
    /// The generated text.
    pub text: String,
}

impl Generator {
    /// Every generator.
    pub const ALL: [Self; 5] =
        [Self::UniversalSchema, Self::EnvelopeSchema, Self::Capabilities, Self::Coverage, Self::TypeScript];

    /// The name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::UniversalSchema => "universal-schema",
            Self::EnvelopeSchema => "envelope-schema",
            Self::Capabilities => "capabilities",
            Self::Coverage => "coverage",
            Self::TypeScript => "typescript",
        }
    }

    /// Whether [`generate`](Self::generate) reads its `coverage` argument.
    #[must_use]
    pub const fn needs_coverage(self) -> bool {
        matches!(self, Self::Capabilities | Self::Coverage)
    }

    /// Generates the files. `coverage` may be empty unless [`needs_coverage`](Self::needs_coverage).
    ///
    /// # Errors
    /// If a schema cannot be written as JSON.
    pub fn generate(self, coverage: &Coverage) -> serde_json::Result<Vec<GeneratedFile>> {
        let file = |path, text| GeneratedFile { generator: self.name(), path, text };
        Ok(match self {
            Self::UniversalSchema => {
                vec![file("crates/schema/schema.json", to_pretty_json(&interlingua_schema::json_schema())?)]
            }
            Self::EnvelopeSchema => {
                vec![file(
                    "crates/envelope/schema.json",
                    to_pretty_json(&interlingua_envelope::envelope_json_schema())?,
                )]
            }
            Self::Capabilities => vec![file("docs/envelope-capabilities.md", capabilities::render(coverage))],
            Self::Coverage => vec![
                file("docs/coverage.md", coverage.render_page()),
                file("crates/convert/src/coverage/proven.rs", coverage.render_rust_table()),
            ],
            Self::TypeScript => vec![file(
                "sdks/typescript/src/generated/types.ts",
                typescript::render(&interlingua_server::openapi_document()),
            )],
        })
    }
}

fn to_pretty_json(schema: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(schema)? + "\n")
}
