//! `schema.json` is what the types say.

#[test]
fn schema_json_is_up_to_date() {
    let committed = include_str!("../schema.json");
    let generated = serde_json::to_string_pretty(&interlingua_schema::json_schema()).unwrap() + "\n";
    assert!(
        committed == generated,
        "crates/schema/schema.json is out of date; write it again with\n    cargo run -p interlingua-schema --example write-schema"
    );
}
