//! From a schema document to the neutral [`Shape`]s of a model.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::model::{Field, OR_NULL, Shape};
use super::tags;

/// Where a document keeps its named types.
const PLACES: [&str; 3] = ["/definitions", "/$defs", "/components/schemas"];

/// Which half of an HTTP operation a pseudo-type describes.
#[derive(Clone, Copy)]
pub(super) enum Half {
    Request,
    Response,
}

/// The name of the pseudo-type with one half of an operation.
pub(super) fn operation_name(method: &str, path: &str, half: Half) -> String {
    let half = match half {
        Half::Request => REQUEST,
        Half::Response => " (response)",
    };
    format!("{} {path}{half}", method.to_uppercase())
}

/// Ends the name of the pseudo-type with what an operation takes.
pub(super) const REQUEST: &str = " (request)";

/// Every named type of `document` and every operation, by name; each name starts with `prefix`.
pub(super) fn shapes(prefix: &str, document: &Value) -> Vec<(String, Shape)> {
    let reader = Reader { prefix, document };
    let mut shapes = Vec::new();
    for definitions in PLACES.iter().filter_map(|place| document.pointer(place)?.as_object()) {
        for (name, schema) in definitions {
            let mut shape = Shape { raw: schema.clone(), ..Shape::default() };
            shape.is = reader.read(schema, "", &mut shape);
            shapes.push((format!("{prefix}{name}"), shape));
        }
    }
    for (path, item) in document.get("paths").and_then(Value::as_object).into_iter().flatten() {
        for (method, operation) in item.as_object().into_iter().flatten() {
            if operation.get("responses").is_some() {
                let name = |half| format!("{prefix}{}", operation_name(method, path, half));
                shapes.push((name(Half::Request), reader.request(operation)));
                shapes.push((name(Half::Response), reader.response(operation)));
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
    /// Prints the type of `schema` and adds to `shape` what lies below `path`.
    fn read(&self, schema: &'a Value, path: &str, shape: &mut Shape) -> String {
        let Some(map) = schema.as_object() else {
            return if schema == &Value::Bool(false) { "nothing" } else { "anything" }.to_owned();
        };
        if let Some(pointer) = map.get("$ref").and_then(Value::as_str) {
            let name = self.name(pointer);
            shape.refers.insert(name.clone());
            return name;
        }
        let mut parts = Vec::new();
        for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            parts.push(self.read(part, path, shape));
        }
        for members in ["anyOf", "oneOf"].iter().filter_map(|key| map.get(*key)?.as_array()) {
            parts.push(self.union(members, path, shape));
        }
        if let Some(values) = values(map) {
            let null = values.iter().any(|value| value.is_null());
            let known = shape.enums.entry(path.to_owned()).or_default();
            known.extend(values.iter().filter(|value| !value.is_null()).map(|value| plain(value)));
            parts.push(with_null("enum", null));
        } else {
            parts.push(self.kinds(map, path, shape));
        }
        parts.retain(|part| part != "anything");
        parts.sort();
        parts.dedup();
        if parts.is_empty() { "anything".to_owned() } else { parts.join(" & ") }
    }

    /// The type by the keyword `type`, which may name several.
    fn kinds(&self, map: &'a Map<String, Value>, path: &str, shape: &mut Shape) -> String {
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
        let null = kinds.contains(&"null");
        let printed: Vec<_> = kinds
            .into_iter()
            .filter(|kind| *kind != "null")
            .map(|kind| match kind {
                "object" => self.object(map, path, shape),
                "array" => self.array(map, path, shape),
                scalar => match map.get("format").and_then(Value::as_str) {
                    Some(format) => format!("{scalar}({format})"),
                    None => scalar.to_owned(),
                },
            })
            .collect();
        if printed.is_empty() { "null".to_owned() } else { with_null(&printed.join(" | "), null) }
    }

    fn object(&self, map: &'a Map<String, Value>, path: &str, shape: &mut Shape) -> String {
        let required: Vec<_> = map.get("required").and_then(Value::as_array).into_iter().flatten().collect();
        let properties = map.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            let at = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let is = self.read(schema, &at, shape);
            let required = required.iter().any(|key| key.as_str() == Some(name));
            shape.fields.insert(at, Field { is, required });
        }
        match map.get("additionalProperties") {
            None if properties.is_none() => "map<anything>".to_owned(),
            Some(values) if values != &Value::Bool(false) && properties.is_none_or(Map::is_empty) => {
                format!("map<{}>", self.read(values, &format!("{path}{{}}"), shape))
            }
            _ => "object".to_owned(),
        }
    }

    fn array(&self, map: &'a Map<String, Value>, path: &str, shape: &mut Shape) -> String {
        match map.get("items") {
            Some(Value::Array(items)) => {
                let items = items.iter().enumerate();
                let items: Vec<_> = items.map(|(n, item)| self.read(item, &format!("{path}[{n}]"), shape)).collect();
                format!("[{}]", items.join(", "))
            }
            Some(items) => format!("{}[]", parenthesised(self.read(items, &format!("{path}[]"), shape))),
            None => "anything[]".to_owned(),
        }
    }

    fn union(&self, members: &'a [Value], path: &str, shape: &mut Shape) -> String {
        let is_null = |member: &Value| member.get("type").and_then(Value::as_str) == Some("null");
        let null = members.iter().any(is_null);
        let members: Vec<&Value> = members.iter().filter(|member| !is_null(member)).collect();
        if let [only] = members[..] {
            return with_null(&self.read(only, path, shape), null);
        }
        if members.iter().all(|member| member.as_object().is_some_and(|map| values(map).is_some())) {
            for member in &members {
                self.read(member, path, shape);
            }
            return with_null("enum", null);
        }
        let labels = tags::labels(&members, |member| self.resolve(member));
        let mut printed = BTreeSet::new();
        let mut tagged = BTreeMap::new();
        for (member, label) in members.iter().zip(labels) {
            let label = label.unwrap_or_else(|| self.untagged_label(member));
            let outside = std::mem::take(&mut shape.refers);
            let is = self.read(member, &format!("{path}<{label}>"), shape);
            let inside = std::mem::replace(&mut shape.refers, outside);
            shape.refers.extend(inside.iter().cloned());
            if path.is_empty() {
                shape.member_refers.entry(label.clone()).or_default().extend(inside);
            }
            printed.insert(is.clone());
            let label = if tagged.contains_key(&label) { format!("{label} ({is})") } else { label };
            tagged.insert(label, is);
        }
        let scalar = |is: &String| ["string", "number", "integer", "boolean"].iter().any(|kind| is.starts_with(kind));
        if printed.iter().all(scalar) {
            return with_null(&printed.into_iter().collect::<Vec<_>>().join(" | "), null);
        }
        shape.unions.entry(path.to_owned()).or_default().extend(tagged);
        with_null("union", null)
    }

    /// What a union member without a tag is called: its name, its fields or its type.
    fn untagged_label(&self, member: &Value) -> String {
        if let Some(pointer) = member.get("$ref").and_then(Value::as_str) {
            return self.name(pointer);
        }
        match member.get("properties").and_then(Value::as_object) {
            Some(properties) => format!("{{{}}}", properties.keys().cloned().collect::<Vec<_>>().join(", ")),
            None => member.get("type").and_then(Value::as_str).unwrap_or("(untagged)").to_owned(),
        }
    }

    fn request(&self, operation: &'a Value) -> Shape {
        let mut shape = Shape { is: "object".to_owned(), ..Shape::default() };
        for parameter in operation.get("parameters").and_then(Value::as_array).into_iter().flatten() {
            let parameter = self.resolve(parameter);
            let text = |key: &str| parameter.get(key).and_then(Value::as_str).unwrap_or("?");
            let at = format!("{}.{}", text("in"), text("name"));
            let is = parameter.get("schema").map_or("anything".to_owned(), |schema| self.read(schema, &at, &mut shape));
            let required = parameter.get("required") == Some(&Value::Bool(true));
            shape.fields.insert(at, Field { is, required });
        }
        if let Some(body) = operation.get("requestBody").map(|body| self.resolve(body)) {
            let is = self.content(body, "body", &mut shape);
            let required = body.get("required") == Some(&Value::Bool(true));
            shape.fields.insert("body".to_owned(), Field { is, required });
        }
        shape
    }

    fn response(&self, operation: &'a Value) -> Shape {
        let mut shape = Shape { is: "object".to_owned(), ..Shape::default() };
        for (code, response) in operation.get("responses").and_then(Value::as_object).into_iter().flatten() {
            let is = self.content(self.resolve(response), code, &mut shape);
            shape.fields.insert(code.clone(), Field { is, required: false });
        }
        shape
    }

    /// The type of a body; of several media types the first.
    fn content(&self, body: &'a Value, path: &str, shape: &mut Shape) -> String {
        let media = body.get("content").and_then(Value::as_object).and_then(|content| content.values().next());
        match media.and_then(|media| media.get("schema")) {
            Some(schema) => self.read(schema, path, shape),
            None => "nothing".to_owned(),
        }
    }

    /// `schema`, or what it refers to.
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let mut here = schema;
        // A chain of references this long is a circle.
        for _ in 0..16 {
            let pointer = here.get("$ref").and_then(Value::as_str).and_then(|pointer| pointer.strip_prefix('#'));
            match pointer.and_then(|pointer| self.document.pointer(pointer)) {
                Some(target) => here = target,
                None => break,
            }
        }
        here
    }

    fn name(&self, pointer: &str) -> String {
        let name = pointer.rsplit('/').next().unwrap_or(pointer).replace("~1", "/").replace("~0", "~");
        format!("{}{name}", self.prefix)
    }
}

/// The values of an enum, a `const` being an enum of one.
fn values(map: &Map<String, Value>) -> Option<Vec<&Value>> {
    match (map.get("const"), map.get("enum")) {
        (Some(only), _) => Some(vec![only]),
        (None, Some(Value::Array(values))) => Some(values.iter().collect()),
        _ => None,
    }
}

/// A value without the quotes of a string.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn with_null(is: &str, null: bool) -> String {
    if null && !is.ends_with(OR_NULL) { format!("{is}{OR_NULL}") } else { is.to_owned() }
}

fn parenthesised(is: String) -> String {
    if is.contains(' ') { format!("({is})") } else { is }
}
