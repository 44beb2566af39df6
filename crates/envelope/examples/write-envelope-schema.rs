//! Writes `schema.json`, the JSON Schema of the envelope: `cargo run -p interlingua-envelope --example write-envelope-schema`.

use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema.json");
    fs::write(path, serde_json::to_string_pretty(&interlingua_envelope::json_schema())? + "\n")?;
    Ok(())
}
