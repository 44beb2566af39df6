//! A schema that cannot become types: the error names the file, the place in it, what is wrong and what to do.

use interlingua_codegen::{Document, Result, SchemaFolder, Settings, generate};

const SOURCE: &str = r#"
    [types.main]
    schema = "schema.json"
    roots = ["Event"]
"#;
const SCHEMA: &str =
    r#"{ "definitions": { "Event": { "type": "object", "properties": { "at": { "type": "integer" } } } } }"#;

/// What is wrong with a schema whose `Event` is this.
fn of_event(event: &str) -> String {
    of_schema(&format!(r#"{{ "definitions": {{ "Event": {event} }} }}"#), r#"roots = ["Event"]"#)
}

/// What is wrong with a schema under the settings of a `[types.*]` table.
fn of_schema(schema: &str, settings: &str) -> String {
    let settings: Settings = toml::from_str(settings).unwrap();
    let generated =
        Document::parse("schema.json", schema).and_then(|document| generate("schema.json", &document, &settings));
    generated.expect_err("it became types").to_string()
}

/// What is wrong with the files of a schema folder, with the folder's own name left out.
fn of_folder(source: &str, schema: &str, overlay: &str) -> String {
    parse(source, schema, overlay).expect_err("it parses").to_string().replace("agent/", "")
}

fn parse(source: &str, schema: &str, overlay: &str) -> Result<SchemaFolder> {
    SchemaFolder::parse("agent", &[("source.toml", source), ("schema.json", schema), ("overlay.json", overlay)])
}

/// What is wrong with an overlay of one change.
fn of_change(change: &str) -> String {
    let entry = r#""name": "later", "reason": "sent, not declared", "recording": "a/1/simple", "shows": "at""#;
    of_folder(SOURCE, SCHEMA, &format!("[{{ {entry}, \"changes\": [{change}] }}]"))
}

#[test]
fn a_schema_that_is_not_json() {
    assert_eq!(
        of_schema("{ \"definitions\": ", r#"roots = ["Event"]"#),
        "schema.json#: not JSON: EOF while parsing a value at line 1 column 17\n  \
         help: pull the schema again, or restore the file"
    );
    assert_eq!(
        of_folder(SOURCE, "<html>", "[]"),
        "schema.json#: not JSON: expected value at line 1 column 1\n  \
         help: pull it again with `cargo xtask refresh-schemas`"
    );
}

#[test]
fn a_document_without_definitions() {
    assert_eq!(
        of_schema(r#"{ "type": "object" }"#, r#"roots = ["Event"]"#),
        "schema.json#: no definitions\n  \
         help: a schema document has its types under `definitions`, `$defs` or `components.schemas`"
    );
}

#[test]
fn a_reference_to_nowhere() {
    let advice = "help: pull the schema again, or add the definition in overlay.json";
    assert_eq!(
        of_event(r##"{ "type": "object", "properties": { "a/b": { "$ref": "#/definitions/Gone" } } }"##),
        format!(
            "schema.json#/definitions/Event/properties/a~1b: `$ref` to `#/definitions/Gone`, which is nowhere in this \
             file\n  {advice}"
        )
    );
    assert_eq!(
        of_event(r#"{ "oneOf": [{ "type": "string" }, { "$ref": "other.json#/definitions/Event" }] }"#),
        format!(
            "schema.json#/definitions/Event/oneOf/1: `$ref` to `other.json#/definitions/Event`, which is nowhere in \
             this file\n  {advice}"
        )
    );
}

#[test]
fn an_unsupported_keyword() {
    assert_eq!(
        of_event(r#"{ "type": "object", "properties": { "at": { "if": { "type": "string" } } } }"#),
        "schema.json#/definitions/Event/properties/at/if: unsupported keyword `if`\n  \
         help: teach codegen/src/shape.rs the keyword, or replace the type in overlay.json"
    );
}

#[test]
fn an_unknown_type_and_a_schema_that_is_none() {
    assert_eq!(
        of_event(r#"{ "type": "object", "properties": { "at": { "type": "date" } } }"#),
        "schema.json#/definitions/Event/properties/at: unknown type `date`\n  help: correct it in overlay.json"
    );
    assert_eq!(
        of_event(r#"{ "type": "object", "properties": { "at": 5 } }"#),
        "schema.json#/definitions/Event/properties/at: `5` where a schema should be\n  \
         help: a schema is an object, `true` or `false`"
    );
}

#[test]
fn a_type_that_is_only_itself() {
    let error = of_event(r##"{ "anyOf": [{ "$ref": "#/definitions/Event" }, { "type": "string" }] }"##);
    assert_eq!(
        error,
        "schema.json#/definitions/Event/anyOf/0: a type that is defined by itself\n  help: break the cycle in overlay.json"
    );
}

#[test]
fn an_unknown_root() {
    assert_eq!(
        of_schema(SCHEMA, r#"roots = ["Evnt"]"#),
        "schema.json#: the root `Evnt` is not defined\n  help: correct `roots` or `responses` in source.toml"
    );
    assert_eq!(
        of_schema(SCHEMA, "roots = [\"Event\"]\ninline = { Body = \"/paths/~1x/post\" }"),
        "schema.json#/paths/~1x/post: the root `Body` is not there\n  help: correct `inline` in source.toml"
    );
    assert_eq!(
        of_schema(SCHEMA, "roots = [\"Event\"]\nresponses = { go = \"GoResponse\" }"),
        "schema.json#: the root `GoResponse` is not defined\n  help: correct `roots` or `responses` in source.toml"
    );
}

#[test]
fn settings_that_name_what_is_not_there() {
    for id in ["Event.id", "Gone.id", "at"] {
        assert_eq!(
            of_schema(SCHEMA, &format!("roots = [\"Event\"]\nids = [\"{id}\"]")),
            format!("schema.json#: `{id}` in `ids` names no field\n  help: correct `ids` in source.toml")
        );
    }
    for list in ["needed", "expected", "short_forms"] {
        for name in ["Event.id", "Gone.at", "at"] {
            assert_eq!(
                of_schema(SCHEMA, &format!("roots = [\"Event\"]\n{list} = [\"{name}\"]")),
                format!("schema.json#: `{name}` in `{list}` names no field\n  help: correct `{list}` in source.toml")
            );
        }
    }
    assert_eq!(
        of_schema(SCHEMA, "roots = [\"Event\"]\nexpected = [\"Event.at\"]"),
        "schema.json#: `Event.at` in `expected` is needed anyway, or may be missing or null by the schema\n  \
         help: correct `expected` in source.toml"
    );
    assert_eq!(
        of_schema(SCHEMA, "roots = [\"Event\"]\nonly = { Event = [\"started\"] }"),
        "schema.json#: `only` keeps `started` of `Event`, which is not there\n  \
         help: name a field of an object or a `method` of a union by `method` and `params` in source.toml"
    );
}

#[test]
fn what_is_sent_and_is_not_there() {
    let schema = r##"{ "definitions": {
        "Event": { "oneOf": [
            { "type": "object", "properties": { "method": { "const": "go" }, "params": { "$ref": "#/definitions/Go" } }, "required": ["method"] },
            { "type": "object", "properties": { "method": { "const": "walk" }, "params": { "$ref": "#/definitions/Go" } }, "required": ["method"] }
        ] },
        "Go": { "type": "object", "properties": { "far": { "type": "boolean" } } }
    }, "paths": {} }"##;
    let cases = [
        ("sent = [\"Gone\"]", "#: `Gone` in `sent` names no type\n  help: correct `sent` in source.toml"),
        (
            "sent = [\"Event\"]\nsent_tags = { Event = [\"run\"] }",
            "#: `sent_tags` names `run` of `Event`, which is not there\n  \
             help: correct `sent_tags` in source.toml, and what sends it",
        ),
        (
            "responses = { run = \"Go\" }",
            "#: `run` has an answer, but no union has such a request\n  \
             help: correct `responses` or `replies` in source.toml",
        ),
        (
            "responses = { go = \"Go\", walk = \"Go\" }",
            "#: `walk` and `go` have the same parameters, `Go`\n  \
             help: take one of them out of `responses` or `replies` in source.toml",
        ),
        (
            "http = { Run = \"POST /run\" }",
            "#/paths/~1run: there is no operation `POST /run`\n  help: correct `http` in source.toml, and what calls it",
        ),
    ];
    for (settings, error) in cases {
        assert_eq!(of_schema(schema, &format!("roots = [\"Event\"]\n{settings}")), format!("schema.json{error}"));
    }
}

#[test]
fn a_type_under_a_name_that_is_taken() {
    let schema =
        r#"{ "definitions": { "Response": { "type": "object", "properties": { "x": { "type": "string" } } } } }"#;
    assert_eq!(
        of_schema(schema, "responses = { go = \"Response\" }"),
        "schema.json#: a type is called `Response`, which is the name of a type that is always generated\n  \
         help: give it another name with `names` in source.toml"
    );
}

#[test]
fn a_source_that_does_not_say_what_to_generate() {
    let error = of_folder("[types.main]\nrots = []", SCHEMA, "[]");
    assert!(error.starts_with("source.toml#: no source.toml: "), "{error}");
    assert!(error.contains("unknown field `rots`"), "{error}");
    assert!(error.ends_with("\n  help: its `[types.main]` table says what to generate"), "{error}");
    let error = of_folder(&SOURCE.replace("schema.json", "gone.json"), SCHEMA, "[]");
    assert_eq!(error, "gone.json#: there is no such file\n  help: restore the file");
}

#[test]
fn a_correction_that_is_no_longer_needed() {
    let advice = "help: remove the entry if the vendor has corrected the schema, or correct it";
    let at = "/definitions/Event/properties/at";
    let cases = [
        (
            r#"{ "add": { "at": "/definitions/Event/properties/at", "value": {} } }"#,
            format!("{at}: correction `later`: what it adds is there already"),
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
        assert_eq!(of_change(change), format!("overlay.json#{problem}\n  {advice}"), "{change}");
    }
}

#[test]
fn an_overlay_that_is_none() {
    let error = of_folder(SOURCE, SCHEMA, r#"[{ "name": "no reason" }]"#);
    assert!(error.starts_with("overlay.json#: no overlay: missing field `reason`"), "{error}");
    assert!(error.contains("help: an overlay is a list of {name, reason, recording, shows, changes"), "{error}");
}

#[test]
fn a_correction_for_another_file_waits_for_that_file() {
    let overlay = r#"[{
        "name": "elsewhere", "reason": "r", "recording": "a/1/simple", "shows": "at", "schema": "exec.schema.json",
        "changes": [{ "remove": { "at": "/definitions/Gone" } }]
    }]"#;
    assert_eq!(parse(SOURCE, SCHEMA, overlay).unwrap().corrections.len(), 1);
}
