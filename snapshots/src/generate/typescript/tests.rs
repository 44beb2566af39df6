use serde_json::json;

use super::*;

/// Renders a document with these schemas and without the header. `Request` is the body of a request.
fn declarations(schemas: &Value) -> String {
    let body = json!({"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Request"}}}});
    let document = json!({
        "paths": {"/v1/things": {"post": {"requestBody": body}}},
        "components": {"schemas": schemas},
    });
    render(&document).strip_prefix(HEADER).expect("the header comes first").trim().to_owned()
}

#[test]
fn an_enum_of_a_response_admits_other_strings() {
    let enumeration = json!({"oneOf": [{"type": "string", "const": "on"}, {"type": "string", "const": "off"}]});
    assert_eq!(declarations(&json!({"State": enumeration})), r#"export type State = "on" | "off" | (string & {});"#);
    let enumeration = json!({"type": "string", "enum": ["on", "off"]});
    assert_eq!(declarations(&json!({"State": enumeration})), r#"export type State = "on" | "off" | (string & {});"#);
}

#[test]
fn an_enum_that_only_requests_contain_is_closed() {
    let schemas = json!({
        "Request": {"type": "object", "required": ["reply"], "properties": {"reply": {"$ref": "#/components/schemas/Reply"}}},
        "Reply": {"type": "string", "enum": ["yes", "no"]},
    });
    assert!(declarations(&schemas).contains(r#"export type Reply = "yes" | "no";"#));
}

#[test]
fn properties_that_are_not_required_are_optional() {
    let schema = json!({
        "description": "A thing.",
        "type": "object",
        "required": ["id", "parent", "data-x"],
        "properties": {
            "id": {"description": "The id.", "type": "string"},
            "data-x": {},
            "parent": {"anyOf": [{"$ref": "#/components/schemas/Thing"}, {"type": "null"}]},
            "count": {"type": ["integer", "null"]},
            "tags": {"type": "array", "items": {"type": ["string", "null"]}},
            "env": {"type": "object", "additionalProperties": {"type": "string"}},
            "native": {"type": "object"},
        },
    });
    let expected = "\
/** A thing. */
export interface Thing {
  count?: number | null;
  \"data-x\": unknown;
  env?: { [key: string]: string };
  /** The id. */
  id: string;
  native?: JsonObject;
  parent: Thing | null;
  tags?: (string | null)[];
}";
    assert_eq!(declarations(&json!({"Thing": schema})), expected);
}

#[test]
fn a_tagged_union_has_a_variant_for_unknown_tags() {
    let variant = |tag: &str, data: Value| json!({"type": "object", "required": ["type", "data"], "properties": {"type": {"const": tag}, "data": data}});
    let schema = json!({
        "type": "object",
        "required": ["id"],
        "properties": {"id": {"type": "string"}},
        "oneOf": [variant("turn.ended", json!({"type": "string"})), variant("error", json!({"type": "integer"}))],
    });
    // The name of the second variant is taken.
    let rendered = declarations(&json!({"UniversalEvent": schema, "ErrorEvent": {"type": "object"}}));
    for expected in [
        "export interface UniversalEventBase {\n  id: string;\n}",
        "export interface TurnEndedEvent extends UniversalEventBase {\n  data: string;\n  type: \"turn.ended\";\n}",
        "export interface ErrorUniversalEvent extends UniversalEventBase {\n  data: number;\n  type: \"error\";\n}",
        "export interface UnknownEvent extends UniversalEventBase {\n  type: UnknownTag;\n  data: unknown;\n}",
        "export type KnownUniversalEvent =\n  | TurnEndedEvent\n  | ErrorUniversalEvent;",
        "export type UniversalEvent = KnownUniversalEvent | UnknownEvent;",
    ] {
        assert!(rendered.contains(expected), "{expected}\nis not in\n{rendered}");
    }
}

#[test]
fn variants_with_different_properties_leave_unknown_ones_open() {
    let variant = |tag: &str, name: &str| json!({"type": "object", "required": ["type"], "properties": {"type": {"const": tag}, name: {"type": "string"}}});
    let (text, image) = (variant("text", "text"), variant("image", "path"));
    let rendered = declarations(&json!({"ContentPart": {"anyOf": [text, image]}}));
    assert!(rendered.contains("export interface ImagePart {\n  path?: string;\n  type: \"image\";\n}"), "{rendered}");
    assert!(rendered.contains("export interface UnknownPart {\n  type: UnknownTag;\n  [key: string]: unknown;\n}"));
}

#[test]
fn a_long_union_has_one_alternative_per_line() {
    let values: Vec<String> = (0..5).map(|number| format!("a rather long value of number {number}")).collect();
    let rendered = declarations(&json!({"Request": {"type": "string", "enum": values}}));
    assert!(rendered.starts_with("export type Request =\n  | \"a rather long value of number 0\"\n  | "), "{rendered}");
    let union = json!({"anyOf": [{"type": "object", "properties": {"a": {"enum": values}}}, {"type": "null"}]});
    assert_eq!(declarations(&json!({"Thing": union})).lines().count(), 1);
}

#[test]
fn descriptions_cannot_end_their_comment() {
    let schema = json!({"description": "Ends */ here.\nSecond line.", "type": "string"});
    assert_eq!(
        declarations(&json!({"Name": schema})),
        "/**\n * Ends *\\/ here.\n * Second line.\n */\nexport type Name = string;"
    );
}

#[test]
fn a_declared_schema_is_rendered_once() {
    let rendered = render(&interlingua_server::openapi_document());
    for name in ["UniversalEvent", "SessionInfo", "CreateSession", "ToolCallPart", "Problem"] {
        let count = ["interface", "type"].map(|word| rendered.matches(&format!("export {word} {name} ")).count());
        assert_eq!(count.iter().sum::<usize>(), 1, "{name}");
    }
    assert!(!rendered.contains(": any;"), "no type is `any`");
}
