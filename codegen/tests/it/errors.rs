//! Errors: each names the file, the place in it, the problem and a remedy.

use interlingua_codegen::{Document, Result, SchemaFolder, Settings, generate};

const SOURCE: &str = r#"
    [types.main]
    schema = "schema.json"
    roots = ["Event"]
"#;
const SCHEMA: &str =
    r#"{ "definitions": { "Event": { "type": "object", "properties": { "at": { "type": "integer" } } } } }"#;

/// The error of a schema with this definition of `Event`.
fn event_error(event: &str) -> String {
    schema_error(&format!(r#"{{ "definitions": {{ "Event": {event} }} }}"#), r#"roots = ["Event"]"#)
}

/// The error of a schema with the settings of a `[types.*]` table.
fn schema_error(schema: &str, settings: &str) -> String {
    let settings: Settings = toml::from_str(settings).unwrap();
    let generated =
        Document::parse("schema.json", schema).and_then(|document| generate("schema.json", &document, &settings));
    generated.expect_err("types were generated").to_string()
}

/// The error of a schema folder, without the name of the folder.
fn folder_error(source: &str, schema: &str, overlay: &str) -> String {
    parse(source, schema, overlay).expect_err("the folder is valid").to_string().replace("agent/", "")
}

fn parse(source: &str, schema: &str, overlay: &str) -> Result<SchemaFolder> {
    SchemaFolder::parse("agent", &[("source.toml", source), ("schema.json", schema), ("overlay.json", overlay)])
}

/// The error of an overlay with one change.
fn change_error(change: &str) -> String {
    let entry = r#""name": "later", "reason": "sent, not declared", "recording": "a/1/simple", "shows": "at""#;
    folder_error(SOURCE, SCHEMA, &format!("[{{ {entry}, \"changes\": [{change}] }}]"))
}

#[test]
fn a_schema_that_is_not_json() {
    assert_eq!(
        schema_error("{ \"definitions\": ", r#"roots = ["Event"]"#),
        "schema.json#: not JSON: EOF while parsing a value at line 1 column 17\n  \
         help: pull the schema again, or restore the file"
    );
    assert_eq!(
        folder_error(SOURCE, "<html>", "[]"),
        "schema.json#: not JSON: expected value at line 1 column 1\n  \
         help: pull it again with `cargo xtask refresh-schemas`"
    );
}

#[test]
fn a_document_without_definitions() {
    assert_eq!(
        schema_error(r#"{ "type": "object" }"#, r#"roots = ["Event"]"#),
        "schema.json#: no definitions\n  \
         help: a schema document has its types under `definitions`, `$defs` or `components.schemas`"
    );
}

#[test]
fn a_reference_to_a_missing_definition() {
    let advice = "help: pull the schema again, or add the definition in overlay.json";
    assert_eq!(
        event_error(r##"{ "type": "object", "properties": { "a/b": { "$ref": "#/definitions/Gone" } } }"##),
        format!(
            "schema.json#/definitions/Event/properties/a~1b: `$ref` to `#/definitions/Gone`, which is not in this \
             file\n  {advice}"
        )
    );
    assert_eq!(
        event_error(r#"{ "oneOf": [{ "type": "string" }, { "$ref": "other.json#/definitions/Event" }] }"#),
        format!(
            "schema.json#/definitions/Event/oneOf/1: `$ref` to `other.json#/definitions/Event`, which is not in \
             this file\n  {advice}"
        )
    );
}

#[test]
fn an_unsupported_keyword() {
    assert_eq!(
        event_error(r#"{ "type": "object", "properties": { "at": { "if": { "type": "string" } } } }"#),
        "schema.json#/definitions/Event/properties/at/if: unsupported keyword `if`\n  \
         help: add support for the keyword to codegen/src/shape.rs, or replace the type in overlay.json"
    );
}

#[test]
fn an_unknown_type_and_a_value_that_is_not_a_schema() {
    assert_eq!(
        event_error(r#"{ "type": "object", "properties": { "at": { "type": "date" } } }"#),
        "schema.json#/definitions/Event/properties/at: unknown type `date`\n  help: correct it in overlay.json"
    );
    assert_eq!(
        event_error(r#"{ "type": "object", "properties": { "at": 5 } }"#),
        "schema.json#/definitions/Event/properties/at: expected a schema, found `5`\n  \
         help: a schema is an object, `true` or `false`"
    );
}

#[test]
fn a_type_that_is_defined_by_itself() {
    let error = event_error(r##"{ "anyOf": [{ "$ref": "#/definitions/Event" }, { "type": "string" }] }"##);
    assert_eq!(
        error,
        "schema.json#/definitions/Event/anyOf/0: the type is defined by itself\n  help: break the cycle in overlay.json"
    );
}

#[test]
fn an_unknown_root() {
    assert_eq!(
        schema_error(SCHEMA, r#"roots = ["Evnt"]"#),
        "schema.json#: the root `Evnt` is not defined\n  help: correct `roots` or `responses` in source.toml"
    );
    assert_eq!(
        schema_error(SCHEMA, "roots = [\"Event\"]\ninline = { Body = \"/paths/~1x/post\" }"),
        "schema.json#/paths/~1x/post: the root `Body` does not exist\n  help: correct `inline` in source.toml"
    );
    assert_eq!(
        schema_error(SCHEMA, "roots = [\"Event\"]\nresponses = { go = \"GoResponse\" }"),
        "schema.json#: the root `GoResponse` is not defined\n  help: correct `roots` or `responses` in source.toml"
    );
}

#[test]
fn settings_that_name_missing_fields() {
    for id in ["Event.id", "Gone.id", "at"] {
        assert_eq!(
            schema_error(SCHEMA, &format!("roots = [\"Event\"]\nids = [\"{id}\"]")),
            format!("schema.json#: `{id}` in `ids` is not a field\n  help: correct `ids` in source.toml")
        );
    }
    for list in ["needed", "expected", "short_forms"] {
        for name in ["Event.id", "Gone.at", "at"] {
            assert_eq!(
                schema_error(SCHEMA, &format!("roots = [\"Event\"]\n{list} = [\"{name}\"]")),
                format!("schema.json#: `{name}` in `{list}` is not a field\n  help: correct `{list}` in source.toml")
            );
        }
    }
    assert_eq!(
        schema_error(SCHEMA, "roots = [\"Event\"]\nexpected = [\"Event.at\"]"),
        "schema.json#: `Event.at` in `expected` is already needed, or the schema lets it be missing or null\n  \
         help: correct `expected` in source.toml"
    );
    assert_eq!(
        schema_error(SCHEMA, "roots = [\"Event\"]\nonly = { Event = [\"started\"] }"),
        "schema.json#: `only` names `started` of `Event`, which does not exist\n  \
         help: name a field of an object or a `method` of a union by `method` and `params` in source.toml"
    );
}

#[test]
fn settings_for_sending_that_name_missing_types_and_requests() {
    let schema = r##"{ "definitions": {
        "Event": { "oneOf": [
            { "type": "object", "properties": { "method": { "const": "go" }, "params": { "$ref": "#/definitions/Go" } }, "required": ["method"] },
            { "type": "object", "properties": { "method": { "const": "walk" }, "params": { "$ref": "#/definitions/Go" } }, "required": ["method"] }
        ] },
        "Go": { "type": "object", "properties": { "far": { "type": "boolean" } } }
    }, "paths": {} }"##;
    let cases = [
        ("sent = [\"Gone\"]", "#: `Gone` in `sent` is not a type\n  help: correct `sent` in source.toml"),
        (
            "sent = [\"Event\"]\nsent_tags = { Event = [\"run\"] }",
            "#: `sent_tags` names `run` of `Event`, which does not exist\n  \
             help: correct `sent_tags` in source.toml and the code that sends it",
        ),
        (
            "responses = { run = \"Go\" }",
            "#: `run` has a response, but no union has such a request\n  \
             help: correct `responses` or `replies` in source.toml",
        ),
        (
            "responses = { go = \"Go\", walk = \"Go\" }",
            "#: `walk` and `go` have the same parameters, `Go`\n  \
             help: remove one of them from `responses` or `replies` in source.toml",
        ),
        (
            "http = { Run = \"POST /run\" }",
            "#/paths/~1run: there is no operation `POST /run`\n  help: correct `http` in source.toml and the code that uses it",
        ),
    ];
    for (settings, error) in cases {
        assert_eq!(schema_error(schema, &format!("roots = [\"Event\"]\n{settings}")), format!("schema.json{error}"));
    }
}

#[test]
fn a_type_with_a_reserved_name() {
    let schema =
        r#"{ "definitions": { "Response": { "type": "object", "properties": { "x": { "type": "string" } } } } }"#;
    assert_eq!(
        schema_error(schema, "responses = { go = \"Response\" }"),
        "schema.json#: the schema has a type `Response`, but the generator adds a type with this name\n  \
         help: rename the schema's type with `names` in source.toml"
    );
}

#[test]
fn an_invalid_source_toml_and_a_missing_schema() {
    let error = folder_error("[types.main]\nrots = []", SCHEMA, "[]");
    assert!(error.starts_with("source.toml#: not a valid source.toml: "), "{error}");
    assert!(error.contains("unknown field `rots`"), "{error}");
    assert!(error.ends_with("\n  help: the table `[types.main]` must describe what to generate"), "{error}");
    let error = folder_error(&SOURCE.replace("schema.json", "gone.json"), SCHEMA, "[]");
    assert_eq!(error, "gone.json#: the file does not exist\n  help: restore the file");
}

#[test]
fn a_correction_that_is_no_longer_needed() {
    let advice = "help: remove the correction if the vendor has fixed the schema, or else adapt it";
    let at = "/definitions/Event/properties/at";
    let cases = [
        (
            r#"{ "add": { "at": "/definitions/Event/properties/at", "value": {} } }"#,
            format!("{at}: correction `later`: the value that it adds already exists"),
        ),
        (
            r#"{ "replace": { "at": "/definitions/Event/properties/at", "value": { "type": "integer" } } }"#,
            format!("{at}: correction `later`: it changes nothing"),
        ),
        (
            r#"{ "remove": { "at": "/definitions/Gone" } }"#,
            "/definitions/Gone: correction `later`: it changes nothing".to_owned(),
        ),
        (
            r#"{ "add": { "at": "/definitions/Gone/properties/at", "value": {} } }"#,
            "/definitions/Gone/properties/at: correction `later`: it changes nothing".to_owned(),
        ),
    ];
    for (change, problem) in cases {
        assert_eq!(change_error(change), format!("overlay.json#{problem}\n  {advice}"), "{change}");
    }
}

#[test]
fn an_invalid_overlay() {
    let error = folder_error(SOURCE, SCHEMA, r#"[{ "name": "no reason" }]"#);
    assert!(error.starts_with("overlay.json#: not an overlay: missing field `reason`"), "{error}");
    assert!(error.contains("help: an overlay is a list of {name, reason, recording, shows, changes"), "{error}");
}

#[test]
fn a_correction_for_another_file_is_not_applied() {
    let overlay = r#"[{
        "name": "elsewhere", "reason": "r", "recording": "a/1/simple", "shows": "at", "schema": "exec.schema.json",
        "changes": [{ "remove": { "at": "/definitions/Gone" } }]
    }]"#;
    assert_eq!(parse(SOURCE, SCHEMA, overlay).unwrap().corrections.len(), 1);
}
