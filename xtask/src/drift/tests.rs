//! What drift promises, one class after the other.

use serde_json::{Value, json};

use super::*;

fn model(definitions: &Value) -> Model {
    let mut model = Model::default();
    model.add("", &json!({ "definitions": definitions }));
    model
}

/// The changes as `class place: what`, with `In` being a type that we write.
fn changes(old: &Value, new: &Value) -> Vec<String> {
    let (old, new) = (model(old), model(new));
    let written = new.reached(["In".to_owned()], |_, _| true);
    let line = |change: compare::Change| format!("{:?} {}|{}: {}", change.class, change.of, change.at, change.what);
    compare(&old, &new, &written).into_iter().map(line).collect()
}

#[test]
fn equal_schemas_do_not_drift() {
    let schema = json!({"A": {"type": "object", "properties": {"a": {"type": "string"}}}});
    assert_eq!(changes(&schema, &schema), [""; 0]);
}

#[test]
fn a_type_that_is_gone_breaks_and_a_new_one_adds() {
    let found = changes(&json!({"A": {}, "B": {}}), &json!({"B": {}, "C": {}}));
    assert_eq!(found, ["Breaking A|: type removed", "Additive C|: type added"]);
}

#[test]
fn fields_at_every_depth_are_found() {
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
fn a_field_that_goes_where_another_comes_is_probably_renamed() {
    let of = |fields: Value| json!({"A": {"properties": {"m": {"properties": fields}}}});
    let text = || json!({"type": "string"});
    let found = changes(&of(json!({"cwd": text(), "x": {}})), &of(json!({"directory": text(), "x": {}})));
    assert_eq!(found, ["Breaking A|m.cwd: field probably renamed to `m.directory` (string)"]);
    // Two candidates: it is ambiguous.
    let found = changes(&of(json!({"cwd": text()})), &of(json!({"directory": text(), "folder": text()})));
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
fn a_field_of_another_type_breaks_and_one_that_may_be_null_adds() {
    let of = |is: Value| json!({"A": {"properties": {"a": is}}});
    let string = || of(json!({"type": "string"}));
    assert_eq!(changes(&string(), &of(json!({"type": "integer"}))), ["Breaking A|a: was string, is integer"]);
    assert_eq!(
        changes(&string(), &of(json!({"type": ["string", "null"]}))),
        ["Additive A|a: was string, is string | null"]
    );
    let nullable = of(json!({"anyOf": [{"type": "null"}, {"type": "string"}]}));
    assert_eq!(changes(&nullable, &string()), ["Additive A|a: was string | null, is string"]);
}

#[test]
fn a_field_that_became_required_breaks_only_what_we_write() {
    let of =
        |name: &str, required: Value| json!({name: {"properties": {"a": {"type": "string"}}, "required": required}});
    assert_eq!(changes(&of("Out", json!([])), &of("Out", json!(["a"]))), ["Additive Out|a: became required"]);
    assert_eq!(
        changes(&of("In", json!([])), &of("In", json!(["a"]))),
        ["Breaking In|a: became required, and we write it"]
    );
    assert_eq!(changes(&of("Out", json!(["a"])), &of("Out", json!([]))), ["Additive Out|a: became optional"]);
}

#[test]
fn what_we_write_reaches_through_references() {
    let of = |required: Value| {
        json!({
            "In": {"properties": {"part": {"$ref": "#/definitions/Part"}}},
            "Part": {"properties": {"a": {"type": "string"}}, "required": required},
        })
    };
    assert_eq!(changes(&of(json!([])), &of(json!(["a"]))), ["Breaking Part|a: became required, and we write it"]);
}

#[test]
fn tags_come_and_go() {
    let member = |tag: &str, payload: &str| json!({"properties": {"method": {"enum": [tag]}, "params": {"$ref": format!("#/definitions/{payload}")}}});
    let of = |members: Vec<Value>| json!({"N": {"oneOf": members}, "P": {}, "Q": {}});
    let found = changes(
        &of(vec![member("a", "P"), member("b", "P"), member("c", "P")]),
        &of(vec![member("b", "Q"), member("c", "P"), member("d", "P")]),
    );
    assert_eq!(
        found,
        ["Breaking N|<b>.params: was P, is Q", "Breaking N|: tag \"a\" removed", "Additive N|: tag \"d\" added"]
    );
}

#[test]
fn enum_values_come_and_go_and_a_const_is_an_enum_of_one() {
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
    assert_eq!(found, ["Cosmetic A|: descriptions, limits or order only"]);
}

#[test]
fn the_requests_of_http_operations_are_written_and_their_responses_are_read() {
    let of = |required: bool, code: &str| {
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
    let (old, new) = (of(false, "200"), of(true, "201"));
    let written = new.requests();
    assert!(written.contains("Body"));
    let found = compare(&old, &new, &written);
    let found: Vec<_> = found.iter().map(|c| format!("{:?} {} {} {}", c.class, c.of, c.at, c.what)).collect();
    assert_eq!(
        found,
        [
            "Breaking POST /session (request) query.dir became required, and we write it",
            "Breaking POST /session (response) 200 field removed (was string)",
            "Additive POST /session (response) 201 optional field added: string",
        ]
    );
}

#[test]
fn a_type_is_traced_to_the_union_members_that_carry_it() {
    let model = model(&json!({
        "N": {"oneOf": [
            {"properties": {"method": {"const": "turn/started"}, "params": {"$ref": "#/definitions/Params"}}},
            {"properties": {"method": {"const": "other"}}},
        ]},
        "Params": {"properties": {"turn": {"$ref": "#/definitions/Turn"}}},
        "Turn": {"type": "object"},
    }));
    assert_eq!(model.members_with("Turn"), [("N", "turn/started")]);
}

#[test]
fn the_report_names_the_arm_and_what_has_none() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("agent-schemas")).unwrap();
    std::fs::create_dir_all(folder.path().join("crates/convert/src")).unwrap();
    std::fs::write(folder.path().join("Cargo.toml"), "").unwrap();
    std::fs::write(folder.path().join("crates/convert/src/amp.rs"), "\nStreamMessage::User(m) => {}\n").unwrap();
    let repository = Repository::above(folder.path()).unwrap();

    let schemas = |fields: Value| {
        let mut schemas = Schemas::new("amp");
        schemas.add(
            "schema.json",
            &json!({"definitions": {
                "StreamMessage": {"anyOf": [{"$ref": "#/definitions/User"}, {"$ref": "#/definitions/Result"}]},
                "User": {"properties": {"type": {"const": "user"}, "message": {"$ref": "#/definitions/Message"}}},
                "Result": {"properties": {"type": {"const": "result"}}},
                "Message": {"properties": fields},
            }}),
        );
        schemas
    };
    let old = schemas(json!({"text": {"type": "string"}}));
    let new = schemas(json!({}));
    assert_eq!(
        report(&old, &new, &repository),
        "drift of amp: 1 breaking, 0 additive, 0 cosmetic\n\
         breaking:\n  \
         Message.text: field removed (was string)  [crates/convert/src/amp.rs:2]\n\
         StreamMessage: 1 of 2 members have no converter arm:\n  \
         result\n"
    );
}
