//! Writes `schema.json`, the JSON Schema of the universal event: `cargo run -p interlingua-schema --example write-schema`.

use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema.json");
    fs::write(path, serde_json::to_string_pretty(&interlingua_schema::json_schema())? + "\n")?;
    Ok(())
}
