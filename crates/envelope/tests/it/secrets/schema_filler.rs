//! Generates JSON that fits a schema, with a secret in every string.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

/// Generates values for a schema. The same seed makes the same choices.
pub(super) struct SchemaFiller<'a> {
    root: &'a Value,
    names: &'a [&'a str],
    state: u64,
    /// The fields that have got a secret.
    pub(super) reached: BTreeSet<String>,
}

impl<'a> SchemaFiller<'a> {
    pub(super) fn new(root: &'a Value, names: &'a [&'a str], seed: u64) -> Self {
        Self { root, names, state: seed, reached: BTreeSet::new() }
    }

    /// An event of the type that `kind`, a member of the schema's `oneOf`, describes.
    pub(super) fn event(&mut self, kind: &Value) -> Value {
        let Value::Object(mut event) = self.object("", self.root) else { unreachable!("an event is an object") };
        let Value::Object(of_kind) = self.object("", kind) else { unreachable!("an event is an object") };
        event.extend(of_kind);
        event.into()
    }

    /// A pseudo-random number below the limit.
    fn choose(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.state >> 33).unwrap() % limit
    }

    fn value(&mut self, path: &str, schema: &Value) -> Value {
        if let Some(constant) = schema.get("const") {
            return constant.clone();
        }
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            let target = self.root.pointer(reference.trim_start_matches('#')).unwrap();
            return self.value(path, target);
        }
        if let Some(choices) = choices(schema) {
            let choice = self.choose(choices.len());
            return self.value(path, &choices[choice]);
        }
        let types = match &schema["type"] {
            Value::String(one) => vec![one.as_str()],
            Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
            _ => return self.anything(path),
        };
        // A null cannot leak anything, so it is chosen rarely.
        match types[if self.choose(8) == 0 { types.len() - 1 } else { 0 }] {
            "null" => Value::Null,
            "boolean" => json!(self.choose(2) == 1),
            "integer" | "number" => json!(1 + self.choose(3)),
            "string" if schema.get("pattern").is_some() => json!("1970-01-01T00:00:00.000Z"),
            "string" => self.string(path),
            "object" => self.object(path, schema),
            "array" => self.list(path, &schema["items"]),
            other => panic!("{path}: unknown type {other}"),
        }
    }

    fn object(&mut self, path: &str, schema: &Value) -> Value {
        let fields: Map<String, Value> = schema["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.clone(), self.value(&format!("{path}/{name}"), schema)))
            .collect();
        fields.into()
    }

    /// One element of each alternative, in rotated order; two elements if there are no alternatives.
    fn list(&mut self, path: &str, element: &Value) -> Value {
        let target = element.get("$ref").and_then(Value::as_str);
        let element = target.map_or(element, |target| self.root.pointer(target.trim_start_matches('#')).unwrap());
        let two = [element.clone(), element.clone()];
        let all = choices(element).map_or(two.as_slice(), Vec::as_slice);
        let first = self.choose(all.len());
        (0..all.len()).map(|index| self.value(path, &all[(first + index) % all.len()])).collect()
    }

    fn string(&mut self, path: &str) -> Value {
        let field = path.rsplit('/').next().unwrap();
        if self.names.contains(&field) {
            return json!(format!("a-{field}"));
        }
        self.reached.extend(path.split('/').map(str::to_owned));
        json!(format!("SECRET:{path}:END"))
    }

    /// A value without a schema: a string, or an object with keys that a projector might read.
    fn anything(&mut self, path: &str) -> Value {
        let secret = self.string(&format!("{path}/anything"));
        if self.choose(4) == 0 {
            return secret;
        }
        let keys = [
            "call_id",
            "cwd",
            "exit_code",
            "input",
            "label",
            "message",
            "model",
            "name",
            "native_type",
            "output",
            "path",
            "scope",
            "status",
            "text",
            "tool",
            "tool_name",
            "tool_use_id",
        ];
        keys.into_iter()
            .map(|key| (key.to_owned(), json!([secret.clone(), [secret]])[self.choose(2)].clone()))
            .collect()
    }
}

fn choices(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()
}
