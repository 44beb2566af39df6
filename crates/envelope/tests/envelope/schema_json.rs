//! `schema.json` is what the types say.

#[test]
fn schema_json_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/schema.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    let generated = serde_json::to_string_pretty(&interlingua_envelope::json_schema()).unwrap() + "\n";
    assert!(
        committed == generated,
        "crates/envelope/schema.json is out of date; write it again with\n    cargo run -p interlingua-envelope --example write-envelope-schema"
    );
}
