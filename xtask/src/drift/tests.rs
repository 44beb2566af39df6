//! Tests of the comparison and of the report.

use serde_json::{Value, json};

use super::*;

fn model(definitions: &Value) -> Model {
    let mut model = Model::default();
    model.add("", &json!({ "definitions": definitions }));
    model
}

/// The changes as `class type|path: description`. `In` is a type that is sent.
fn changes(old: &Value, new: &Value) -> Vec<String> {
    let (old, new) = (model(old), model(new));
    let sent = new.reachable_types(["In".to_owned()], |_, _| true);
    let line = |change: compare::Change| {
        format!("{:?} {}|{}: {}", change.class, change.type_name, change.path, change.description)
    };
    compare(&old, &new, &sent).into_iter().map(line).collect()
}

#[test]
fn equal_schemas_have_no_changes() {
    let schema = json!({"A": {"type": "object", "properties": {"a": {"type": "string"}}}});
    assert_eq!(changes(&schema, &schema), [""; 0]);
}

#[test]
fn a_removed_type_is_breaking_and_a_new_one_is_additive() {
    let found = changes(&json!({"A": {}, "B": {}}), &json!({"B": {}, "C": {}}));
    assert_eq!(found, ["Breaking A|: type removed", "Additive C|: type added"]);
}

#[test]
fn changes_of_fields_are_found_at_every_depth() {
    let shape = |inner: Value| json!({"A": {"properties": {"m": {"properties": {"list": {"items": inner}}}}}});
    let found = changes(
        &shape(json!({"properties": {"gone": {"type": "string"}, "same": {}}})),
        &shape(json!({"properties": {"new": {"type": "integer"}, "same": {}}})),
    );
    assert_eq!(
        found,
        [
            "Breaking A|m.list[].gone: field removed (was string)",
            "Additive A|m.list[].new: optional field added: integer",
        ]
    );
}

#[test]
fn a_removed_field_with_one_matching_new_field_is_reported_as_renamed() {
    let schema = |fields: Value| json!({"A": {"properties": {"m": {"properties": fields}}}});
    let text = || json!({"type": "string"});
    let found = changes(&schema(json!({"cwd": text(), "x": {}})), &schema(json!({"directory": text(), "x": {}})));
    assert_eq!(found, ["Breaking A|m.cwd: field probably renamed to `m.directory` (string)"]);
    // With two candidates it is ambiguous.
    let found = changes(&schema(json!({"cwd": text()})), &schema(json!({"directory": text(), "folder": text()})));
    assert_eq!(found.len(), 3, "{found:?}");
}

#[test]
fn a_new_object_is_one_change_and_not_one_per_field() {
    let found = changes(
        &json!({"A": {"properties": {"x": {}}}}),
        &json!({"A": {"properties": {"x": {}, "usage": {"properties": {"input": {}, "output": {}}}}}}),
    );
    assert_eq!(found, ["Additive A|usage: optional field added: object"]);
}

#[test]
fn another_type_is_breaking_and_nullability_is_additive() {
    let schema = |field: Value| json!({"A": {"properties": {"a": field}}});
    let string = || schema(json!({"type": "string"}));
    assert_eq!(
        changes(&string(), &schema(json!({"type": "integer"}))),
        ["Breaking A|a: type changed from string to integer"]
    );
    assert_eq!(
        changes(&string(), &schema(json!({"type": ["string", "null"]}))),
        ["Additive A|a: type changed from string to string | null"]
    );
    let nullable = schema(json!({"anyOf": [{"type": "null"}, {"type": "string"}]}));
    assert_eq!(changes(&nullable, &string()), ["Additive A|a: type changed from string | null to string"]);
}

#[test]
fn a_field_that_became_required_is_breaking_only_in_sent_types() {
    let schema =
        |name: &str, required: Value| json!({name: {"properties": {"a": {"type": "string"}}, "required": required}});
    assert_eq!(changes(&schema("Out", json!([])), &schema("Out", json!(["a"]))), ["Additive Out|a: became required"]);
    assert_eq!(
        changes(&schema("In", json!([])), &schema("In", json!(["a"]))),
        ["Breaking In|a: became required in a type that is sent"]
    );
    assert_eq!(changes(&schema("Out", json!(["a"])), &schema("Out", json!([]))), ["Additive Out|a: became optional"]);
}

#[test]
fn sent_types_include_referenced_types() {
    let schema = |required: Value| {
        json!({
            "In": {"properties": {"part": {"$ref": "#/definitions/Part"}}},
            "Part": {"properties": {"a": {"type": "string"}}, "required": required},
        })
    };
    assert_eq!(
        changes(&schema(json!([])), &schema(json!(["a"]))),
        ["Breaking Part|a: became required in a type that is sent"]
    );
}

#[test]
fn removed_tags_are_breaking_and_new_tags_are_additive() {
    let member = |tag: &str, payload: &str| json!({"properties": {"method": {"enum": [tag]}, "params": {"$ref": format!("#/definitions/{payload}")}}});
    let schema = |members: Vec<Value>| json!({"N": {"oneOf": members}, "P": {}, "Q": {}});
    let found = changes(
        &schema(vec![member("a", "P"), member("b", "P"), member("c", "P")]),
        &schema(vec![member("b", "Q"), member("c", "P"), member("d", "P")]),
    );
    assert_eq!(
        found,
        [
            "Breaking N|<b>.params: type changed from P to Q",
            "Breaking N|: tag \"a\" removed",
            "Additive N|: tag \"d\" added"
        ]
    );
}

#[test]
fn removed_enum_values_are_breaking_and_a_const_is_an_enum_of_one() {
    let found = changes(&json!({"E": {"enum": ["a", "b"]}}), &json!({"E": {"enum": ["b", "c"]}}));
    assert_eq!(found, ["Breaking E|: enum value \"a\" removed", "Additive E|: enum value \"c\" added"]);
    let documented = json!({"E": {"oneOf": [{"const": "a", "description": "first"}, {"enum": ["b"]}]}});
    let found = changes(&json!({"E": {"enum": ["a"]}}), &documented);
    assert_eq!(found, ["Additive E|: enum value \"b\" added"]);
}

#[test]
fn prose_limits_and_order_are_cosmetic() {
    let found = changes(
        &json!({"A": {"description": "x", "anyOf": [{"type": "string"}, {"type": "integer"}]}}),
        &json!({"A": {"description": "y", "anyOf": [{"type": "integer"}, {"type": "string", "pattern": "^a"}]}}),
    );
    assert_eq!(found, ["Cosmetic A|: only descriptions, limits or order changed"]);
}

#[test]
fn requests_of_http_operations_are_sent_and_responses_are_received() {
    let schema = |required: bool, code: &str| {
        let mut model = Model::default();
        model.add(
            "",
            &json!({"paths": {"/session": {"post": {
                "parameters": [{"in": "query", "name": "dir", "required": required, "schema": {"type": "string"}}],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Body"}}}},
                "responses": {code: {"content": {"application/json": {"schema": {"type": "string"}}}}},
            }}}, "components": {"schemas": {"Body": {"type": "object"}}}}),
        );
        model
    };
    let (old, new) = (schema(false, "200"), schema(true, "201"));
    let sent = new.request_types();
    assert!(sent.contains("Body"));
    let found = compare(&old, &new, &sent);
    let found: Vec<_> =
        found.iter().map(|c| format!("{:?} {} {} {}", c.class, c.type_name, c.path, c.description)).collect();
    assert_eq!(
        found,
        [
            "Breaking POST /session (request) query.dir became required in a type that is sent",
            "Breaking POST /session (response) 200 field removed (was string)",
            "Additive POST /session (response) 201 optional field added: string",
        ]
    );
}

#[test]
fn the_union_members_that_contain_a_type_are_found() {
    let model = model(&json!({
        "N": {"oneOf": [
            {"properties": {"method": {"const": "turn/started"}, "params": {"$ref": "#/definitions/Params"}}},
            {"properties": {"method": {"const": "other"}}},
        ]},
        "Params": {"properties": {"turn": {"$ref": "#/definitions/Turn"}}},
        "Turn": {"type": "object"},
    }));
    assert_eq!(model.members_containing("Turn"), [("N", "turn/started")]);
}

/// A repository with a converter, and the settings of its agent.
fn repository(converter: &str) -> (tempfile::TempDir, Repository) {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("Cargo.toml", "");
    let settings = "[types.main]\nschema = \"schema.json\"\nroots = [\"StreamMessage\"]\nstrip_prefixes = [\"SDK\"]\n";
    write("agent-schemas/amp/source.toml", settings);
    write("crates/convert/src/amp.rs", converter);
    let repository = Repository::containing(folder.path()).unwrap();
    (folder, repository)
}

fn schemas(message_fields: &Value, tags: &[&str]) -> Schemas {
    let mut definitions = json!({
        "StreamMessage": {"anyOf": tags.iter().map(|tag| json!({"$ref": format!("#/definitions/{tag}")})).collect::<Vec<_>>()},
        "SDKMessage": {"type": "object", "properties": message_fields},
    });
    for tag in tags {
        let properties = json!({"type": {"const": tag}, "message": {"$ref": "#/definitions/SDKMessage"}});
        definitions[*tag] = json!({"type": "object", "properties": properties, "required": ["type"]});
    }
    let mut schemas = Schemas::new("amp");
    schemas.add("schema.json", &json!({"definitions": definitions}).to_string());
    schemas
}

#[test]
fn the_report_names_the_affected_place_and_the_tags_without_an_arm() {
    let converter = [
        "use interlingua_native::amp::{Message, StreamMessage};",
        "fn convert(message: StreamMessage) {",
        "    match message {",
        "        StreamMessage::User(user) => text(user.message),",
        "        StreamMessage::System(_) | StreamMessage::Unknown { .. } => {}",
        "    }",
        "}",
        "fn text(message: &Message) -> &str {",
        "    message.text",
        "}",
    ];
    let (_folder, repository) = repository(&converter.join("\n"));
    let old = schemas(&json!({"text": {"type": "string"}}), &["user", "system"]);
    let new = schemas(&json!({}), &["user", "system", "result"]);
    assert_eq!(
        report(&old, &new, &repository),
        "schema changes of amp: 1 breaking, 2 additive, 0 cosmetic\n\
         breaking:\n  \
         SDKMessage.text: field removed (was string)\n    \
         check the converter: crates/convert/src/amp.rs:9\n\
         additive:\n  \
         StreamMessage: tag \"result\" added\n    \
         check the converter: crates/convert/src/amp.rs:3\n  \
         result: type added\n    \
         check the converter: crates/convert/src/amp.rs:3\n\
         StreamMessage: 1 of 3 tags have no arm in crates/convert/src/amp.rs:3:\n  \
         result\n"
    );
}

#[test]
fn a_schema_that_the_generator_rejects_is_reported_with_the_reason() {
    let (_folder, repository) = repository("");
    let old = schemas(&json!({}), &["user"]);
    let mut new = Schemas::new("amp");
    new.add("schema.json", &json!({"definitions": {"Other": {}}}).to_string());
    let text = report(&old, &new, &repository);
    assert!(text.contains("the code generator rejects the new schema: "), "{text}");
    assert!(text.contains("the root `StreamMessage` is not defined"), "{text}");
}
