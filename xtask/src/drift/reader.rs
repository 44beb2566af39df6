//! Reads the [`Shape`]s of a schema document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::model::{Field, OR_NULL, Shape};
use super::tags;

/// JSON pointers to the named types of a document.
const DEFINITION_POINTERS: [&str; 3] = ["/definitions", "/$defs", "/components/schemas"];

/// The part of an HTTP operation that a pseudo-type describes.
#[derive(Clone, Copy)]
pub(super) enum OperationPart {
    Request,
    Response,
}

/// The name of the pseudo-type for one part of an operation.
pub(super) fn operation_name(method: &str, path: &str, part: OperationPart) -> String {
    let suffix = match part {
        OperationPart::Request => REQUEST_SUFFIX,
        OperationPart::Response => " (response)",
    };
    format!("{} {path}{suffix}", method.to_uppercase())
}

/// Suffix of the pseudo-type of the request of an operation.
pub(super) const REQUEST_SUFFIX: &str = " (request)";

/// Reads every named type and every operation of `document`, with `prefix` before their names.
pub(super) fn read_shapes(prefix: &str, document: &Value) -> Vec<(String, Shape)> {
    let reader = Reader { prefix, document };
    let mut shapes = Vec::new();
    for definitions in DEFINITION_POINTERS.iter().filter_map(|pointer| document.pointer(pointer)?.as_object()) {
        for (name, schema) in definitions {
            let mut shape = Shape { raw: schema.clone(), ..Shape::default() };
            shape.printed_type = reader.read_schema(schema, "", &mut shape);
            shapes.push((format!("{prefix}{name}"), shape));
        }
    }
    for (path, item) in document.get("paths").and_then(Value::as_object).into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            if operation.get("responses").is_some() {
                let name = |part| format!("{prefix}{}", operation_name(method, path, part));
                shapes.push((name(OperationPart::Request), reader.read_request(operation)));
                shapes.push((name(OperationPart::Response), reader.read_response(operation)));
            }
        }
    }
    shapes
}

struct Reader<'a> {
    prefix: &'a str,
    document: &'a Value,
}

impl<'a> Reader<'a> {
    /// Returns the printed type of `schema`, and adds its fields, unions and enums to `shape`, with `path` before their
    /// paths.
    fn read_schema(&self, schema: &'a Value, path: &str, shape: &mut Shape) -> String {
        let Some(map) = schema.as_object() else {
            return if schema == &Value::Bool(false) { "nothing" } else { "anything" }.to_owned();
        };
        if let Some(pointer) = map.get("$ref").and_then(Value::as_str) {
            let name = self.type_name(pointer);
            shape.references.insert(name.clone());
            return name;
        }
        let mut parts = Vec::new();
        for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            parts.push(self.read_schema(part, path, shape));
        }
        for members in ["anyOf", "oneOf"].iter().filter_map(|key| map.get(*key)?.as_array()) {
            parts.push(self.read_union(members, path, shape));
        }
        if let Some(values) = enum_values(map) {
            let is_nullable = values.iter().any(|value| value.is_null());
            let known = shape.enums.entry(path.to_owned()).or_default();
            known.extend(values.iter().filter(|value| !value.is_null()).map(|value| unquoted(value)));
            parts.push(with_null("enum", is_nullable));
        } else {
            parts.push(self.read_by_type(map, path, shape));
        }
        parts.retain(|part| part != "anything");
        parts.sort();
        parts.dedup();
        if parts.is_empty() { "anything".to_owned() } else { parts.join(" & ") }
    }

    /// Reads a schema by its keyword `type`, which may have several values.
    fn read_by_type(&self, map: &'a Map<String, Value>, path: &str, shape: &mut Shape) -> String {
        let mut kinds: Vec<&str> = match map.get("type") {
            Some(Value::String(kind)) => vec![kind],
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
            _ if map.contains_key("properties") || map.contains_key("additionalProperties") => {
                vec!["object"]
            }
            _ if map.contains_key("items") => vec!["array"],
            _ => return "anything".to_owned(),
        };
        kinds.sort_unstable();
        let is_nullable = kinds.contains(&"null");
        let printed: Vec<_> = kinds
            .into_iter()
            .filter(|kind| *kind != "null")
            .map(|kind| match kind {
                "object" => self.read_object(map, path, shape),
                "array" => self.read_array(map, path, shape),
                scalar => match map.get("format").and_then(Value::as_str) {
                    Some(format) => format!("{scalar}({format})"),
                    None => scalar.to_owned(),
                },
            })
            .collect();
        if printed.is_empty() { "null".to_owned() } else { with_null(&printed.join(" | "), is_nullable) }
    }

    fn read_object(&self, map: &'a Map<String, Value>, path: &str, shape: &mut Shape) -> String {
        let required: Vec<_> = map.get("required").and_then(Value::as_array).into_iter().flatten().collect();
        let properties = map.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            let field_path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let printed_type = self.read_schema(schema, &field_path, shape);
            let required = required.iter().any(|key| key.as_str() == Some(name));
            shape.fields.insert(field_path, Field { printed_type, required });
        }
        match map.get("additionalProperties") {
            None if properties.is_none() => "map<anything>".to_owned(),
            Some(values) if values != &Value::Bool(false) && properties.is_none_or(Map::is_empty) => {
                format!("map<{}>", self.read_schema(values, &format!("{path}{{}}"), shape))
            }
            _ => "object".to_owned(),
        }
    }

    fn read_array(&self, map: &'a Map<String, Value>, path: &str, shape: &mut Shape) -> String {
        match map.get("items") {
            Some(Value::Array(items)) => {
                let items = items.iter().enumerate();
                let items: Vec<_> =
                    items.map(|(n, item)| self.read_schema(item, &format!("{path}[{n}]"), shape)).collect();
                format!("[{}]", items.join(", "))
            }
            Some(items) => format!("{}[]", parenthesised(self.read_schema(items, &format!("{path}[]"), shape))),
            None => "anything[]".to_owned(),
        }
    }

    fn read_union(&self, members: &'a [Value], path: &str, shape: &mut Shape) -> String {
        let is_null = |member: &Value| member.get("type").and_then(Value::as_str) == Some("null");
        let is_nullable = members.iter().any(is_null);
        let members: Vec<&Value> = members.iter().filter(|member| !is_null(member)).collect();
        if let [only] = members[..] {
            return with_null(&self.read_schema(only, path, shape), is_nullable);
        }
        if members.iter().all(|member| member.as_object().is_some_and(|map| enum_values(map).is_some())) {
            for member in &members {
                self.read_schema(member, path, shape);
            }
            return with_null("enum", is_nullable);
        }
        let labels = tags::find_tags(&members, |member| self.resolve(member));
        let mut printed = BTreeSet::new();
        let mut tagged = BTreeMap::new();
        for (member, label) in members.iter().zip(labels) {
            let label = label.unwrap_or_else(|| self.untagged_label(member));
            let other_references = std::mem::take(&mut shape.references);
            let printed_type = self.read_schema(member, &format!("{path}<{label}>"), shape);
            let member_references = std::mem::replace(&mut shape.references, other_references);
            shape.references.extend(member_references.iter().cloned());
            if path.is_empty() {
                shape.member_references.entry(label.clone()).or_default().extend(member_references);
            }
            printed.insert(printed_type.clone());
            let label = if tagged.contains_key(&label) { format!("{label} ({printed_type})") } else { label };
            tagged.insert(label, printed_type);
        }
        let is_scalar =
            |printed: &String| ["string", "number", "integer", "boolean"].iter().any(|kind| printed.starts_with(kind));
        if printed.iter().all(is_scalar) {
            return with_null(&printed.into_iter().collect::<Vec<_>>().join(" | "), is_nullable);
        }
        shape.unions.entry(path.to_owned()).or_default().extend(tagged);
        with_null("union", is_nullable)
    }

    /// The label of a union member without a tag: its name, its fields or its type.
    fn untagged_label(&self, member: &Value) -> String {
        if let Some(pointer) = member.get("$ref").and_then(Value::as_str) {
            return self.type_name(pointer);
        }
        match member.get("properties").and_then(Value::as_object) {
            Some(properties) => format!("{{{}}}", properties.keys().cloned().collect::<Vec<_>>().join(", ")),
            None => member.get("type").and_then(Value::as_str).unwrap_or("(untagged)").to_owned(),
        }
    }

    fn read_request(&self, operation: &'a Value) -> Shape {
        let mut shape = Shape { printed_type: "object".to_owned(), ..Shape::default() };
        for parameter in operation.get("parameters").and_then(Value::as_array).into_iter().flatten() {
            let parameter = self.resolve(parameter);
            let text = |key: &str| parameter.get(key).and_then(Value::as_str).unwrap_or("?");
            let path = format!("{}.{}", text("in"), text("name"));
            let printed_type = parameter
                .get("schema")
                .map_or("anything".to_owned(), |schema| self.read_schema(schema, &path, &mut shape));
            let required = parameter.get("required") == Some(&Value::Bool(true));
            shape.fields.insert(path, Field { printed_type, required });
        }
        if let Some(body) = operation.get("requestBody").map(|body| self.resolve(body)) {
            let printed_type = self.read_content(body, "body", &mut shape);
            let required = body.get("required") == Some(&Value::Bool(true));
            shape.fields.insert("body".to_owned(), Field { printed_type, required });
        }
        shape
    }

    fn read_response(&self, operation: &'a Value) -> Shape {
        let mut shape = Shape { printed_type: "object".to_owned(), ..Shape::default() };
        for (code, response) in operation.get("responses").and_then(Value::as_object).into_iter().flatten() {
            let printed_type = self.read_content(self.resolve(response), code, &mut shape);
            shape.fields.insert(code.clone(), Field { printed_type, required: false });
        }
        shape
    }

    /// Reads the type of a body. If there are several media types, the first counts.
    fn read_content(&self, body: &'a Value, path: &str, shape: &mut Shape) -> String {
        let media = body.get("content").and_then(Value::as_object).and_then(|content| content.values().next());
        match media.and_then(|media| media.get("schema")) {
            Some(schema) => self.read_schema(schema, path, shape),
            None => "nothing".to_owned(),
        }
    }

    /// Follows the references of `schema`.
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let mut target = schema;
        // A longer chain of references is a cycle.
        for _ in 0..16 {
            let pointer = target.get("$ref").and_then(Value::as_str).and_then(|pointer| pointer.strip_prefix('#'));
            match pointer.and_then(|pointer| self.document.pointer(pointer)) {
                Some(next) => target = next,
                None => break,
            }
        }
        target
    }

    fn type_name(&self, pointer: &str) -> String {
        let name = pointer.rsplit('/').next().unwrap_or(pointer).replace("~1", "/").replace("~0", "~");
        format!("{}{name}", self.prefix)
    }
}

/// The values of an enum. A `const` is an enum with one value.
fn enum_values(map: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (map.get("const"), map.get("enum")) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

/// The value as text. A string has no quotes.
fn unquoted(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn with_null(printed: &str, is_nullable: bool) -> String {
    if is_nullable && !printed.ends_with(OR_NULL) { format!("{printed}{OR_NULL}") } else { printed.to_owned() }
}

fn parenthesised(printed: String) -> String {
    if printed.contains(' ') { format!("({printed})") } else { printed }
}
