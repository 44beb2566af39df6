//! Normalisation: the values that a schema node allows, as a flat list of alternatives.
//!
//! References are resolved, nested `anyOf` and `oneOf` are flattened, `allOf` is merged, `const` becomes an enum with one
//! value, and properties beside a union are added to each of its objects. The result for a union is a plain list in which
//! tags are easy to find.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::document::{Document, Node};
use crate::error::Result;

/// Keywords that define the structure of a value. Each is handled below.
const STRUCTURAL_KEYWORDS: [&str; 14] = [
    "$ref",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "items",
    "not",
    "nullable",
    "oneOf",
    "prefixItems",
    "properties",
    "required",
    "type",
];

/// Keywords that only describe or restrict a value. Forward-compatible types ignore them.
const IGNORED_KEYWORDS: [&str; 30] = [
    "$comment",
    "$defs",
    "$id",
    "$schema",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "deprecated",
    "description",
    "discriminator",
    "example",
    "examples",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "pattern",
    "propertyNames",
    "readOnly",
    "uniqueItems",
];

/// Maximum nesting depth of references and unions. A schema that exceeds it has a cycle.
const MAX_DEPTH: usize = 64;

/// One of the alternatives that a node allows.
#[derive(Debug, Clone)]
pub(crate) struct Alternative<'a> {
    pub(crate) shape: Shape<'a>,
    /// The definition that has exactly this shape.
    pub(crate) origin: Option<String>,
    pub(crate) title: Option<&'a str>,
    pub(crate) doc: Option<&'a str>,
}

#[derive(Debug, Clone)]
pub(crate) enum Shape<'a> {
    Any,
    Null,
    Boolean,
    Integer,
    Unsigned,
    Number,
    String,
    Strings(Vec<&'a str>),
    List(Option<Node<'a>>),
    /// An object that is used as a map. Without a node, its values can be anything.
    Map(Option<Node<'a>>),
    Object(Object<'a>),
}

/// An object with known keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object<'a> {
    /// The schemas of each key. There are several if objects were merged.
    pub(crate) properties: BTreeMap<&'a str, Vec<Node<'a>>>,
    pub(crate) required: BTreeSet<&'a str>,
}

impl Object<'_> {
    /// Merges two alternatives. Only keys that both require are required.
    pub(crate) fn or(mut self, other: Self) -> Self {
        self.required.retain(|key| other.required.contains(key));
        for (key, nodes) in other.properties {
            let existing = self.properties.entry(key).or_default();
            for node in nodes {
                if !existing.iter().any(|other| other.value == node.value) {
                    existing.push(node);
                }
            }
        }
        self
    }

    /// Merges two objects that both apply. For a key that both have, `other` wins.
    fn and(mut self, other: &Self) -> Self {
        self.properties.extend(other.properties.iter().map(|(key, nodes)| (*key, nodes.clone())));
        self.required.extend(&other.required);
        self
    }

    fn is_empty(&self) -> bool {
        self.properties.is_empty() && self.required.is_empty()
    }
}

/// All alternatives that `node` allows.
pub(crate) fn alternatives<'a>(document: &'a Document, node: &Node<'a>) -> Result<Vec<Alternative<'a>>> {
    Normalizer { document }.read(node, 0)
}

struct Normalizer<'a> {
    document: &'a Document,
}

impl<'a> Normalizer<'a> {
    fn read(&self, node: &Node<'a>, depth: usize) -> Result<Vec<Alternative<'a>>> {
        if depth > MAX_DEPTH {
            let advice = "break the cycle in overlay.json";
            return Err(self.document.error(&node.pointer, "the type is defined by itself", advice));
        }
        let Value::Object(map) = node.value else {
            return match node.value {
                Value::Bool(true) => Ok(vec![alternative(Shape::Any)]),
                Value::Bool(false) => Ok(Vec::new()),
                other => {
                    let problem = format!("expected a schema, found `{other}`");
                    Err(self.document.error(&node.pointer, problem, "a schema is an object, `true` or `false`"))
                }
            };
        };
        self.check_keywords(node, map)?;
        let title = node.text("title");
        let doc = node.text("description");
        let mut found = self.read_structure(node, depth)?;
        if map.get("nullable") == Some(&Value::Bool(true)) {
            found.push(alternative(Shape::Null));
        }
        if let [only] = found.as_mut_slice() {
            only.title = title.or(only.title);
            only.doc = doc.or(only.doc);
        }
        Ok(found)
    }

    fn read_structure(&self, node: &Node<'a>, depth: usize) -> Result<Vec<Alternative<'a>>> {
        if let Some(reference) = node.text("$ref") {
            let found = self.read_reference(reference, node, depth)?;
            return Ok(Self::add_properties(found, &Self::own_object(node)));
        }
        if node.get("const").is_some() || node.get("enum").is_some() {
            return Ok(Self::read_literals(node));
        }
        for key in ["anyOf", "oneOf"] {
            if node.get(key).is_some() {
                let mut found = Vec::new();
                for member in node.list(key) {
                    found.extend(self.read(&member, depth + 1)?);
                }
                return Ok(Self::add_properties(found, &Self::own_object(node)));
            }
        }
        if node.get("allOf").is_some() {
            return self.read_all_of(node, depth);
        }
        self.read_typed(node)
    }

    fn read_reference(&self, reference: &str, node: &Node<'a>, depth: usize) -> Result<Vec<Alternative<'a>>> {
        let (name, target) = self.document.resolve_ref(reference, node)?;
        let mut found = self.read(&target, depth + 1)?;
        if let [only] = found.as_mut_slice()
            && only.origin.is_none()
        {
            only.origin = Some(name);
        }
        Ok(found)
    }

    /// Merges `allOf`. Of several objects it makes one object; of a union and objects, a union with the properties of the
    /// objects in each member.
    fn read_all_of(&self, node: &Node<'a>, depth: usize) -> Result<Vec<Alternative<'a>>> {
        let mut found: Option<Vec<Alternative<'a>>> = None;
        for member in node.list("allOf") {
            let more = self.read(&member, depth + 1)?;
            found = Some(match found {
                None => more,
                Some(existing) => intersect(&existing, &more),
            });
        }
        Ok(Self::add_properties(found.unwrap_or_else(|| vec![alternative(Shape::Any)]), &Self::own_object(node)))
    }

    fn read_literals(node: &Node<'a>) -> Vec<Alternative<'a>> {
        let values: Vec<&Value> = match (node.value.get("const"), node.value.get("enum")) {
            (Some(only), _) => vec![only],
            (None, Some(Value::Array(list))) => list.iter().collect(),
            _ => Vec::new(),
        };
        let strings: Vec<&str> = values.iter().filter_map(|value| value.as_str()).collect();
        let mut found = Vec::new();
        if !strings.is_empty() {
            found.push(alternative(Shape::Strings(strings)));
        }
        let has = |is_kind: fn(&Value) -> bool| values.iter().any(|value| is_kind(value));
        let kinds = [
            (has(Value::is_null), Shape::Null),
            (has(Value::is_boolean), Shape::Boolean),
            (has(|value| value.is_i64() || value.is_u64()), Shape::Integer),
            (has(Value::is_f64), Shape::Number),
            (has(|value| value.is_object() || value.is_array()), Shape::Any),
        ];
        found.extend(kinds.into_iter().filter(|(has, _)| *has).map(|(_, shape)| alternative(shape)));
        found
    }

    fn read_typed(&self, node: &Node<'a>) -> Result<Vec<Alternative<'a>>> {
        let types: Vec<&str> = match node.value.get("type") {
            Some(Value::String(only)) => vec![only],
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
            _ if node.get("properties").is_some() => vec!["object"],
            _ if node.get("items").is_some() => vec!["array"],
            // TypeScript's `never` and `undefined` are `not: {}` in the schema.
            _ if node.get("not").is_some() => return Ok(Vec::new()),
            _ => return Ok(vec![alternative(Shape::Any)]),
        };
        types.into_iter().map(|name| self.read_type(name, node).map(alternative)).collect()
    }

    fn read_type(&self, name: &str, node: &Node<'a>) -> Result<Shape<'a>> {
        Ok(match name {
            "null" => Shape::Null,
            "boolean" => Shape::Boolean,
            "integer" if node.text("format") == Some("uint64") => Shape::Unsigned,
            "integer" => Shape::Integer,
            "number" => Shape::Number,
            "string" => Shape::String,
            // The elements of a tuple have different types, which a Rust list cannot express.
            "array" if node.get("prefixItems").is_some() => Shape::List(None),
            "array" => Shape::List(node.get("items").filter(|items| !items.value.is_array())),
            "object" if node.get("properties").is_some() => Shape::Object(Self::own_object(node)),
            "object" => Shape::Map(node.get("additionalProperties").filter(|values| is_restrictive(values.value))),
            other => {
                let problem = format!("unknown type `{other}`");
                return Err(self.document.error(&node.pointer, problem, "correct it in overlay.json"));
            }
        })
    }

    /// The properties of the node itself.
    fn own_object(node: &Node<'a>) -> Object<'a> {
        let mut object = Object::default();
        if let Some(properties) = node.get("properties")
            && let Value::Object(map) = properties.value
        {
            for (key, value) in map {
                object.properties.insert(key, vec![properties.child(key, value)]);
            }
        }
        if let Some(Value::Array(keys)) = node.value.get("required") {
            object.required.extend(keys.iter().filter_map(Value::as_str));
        }
        object
    }

    /// Adds properties to each alternative that is an object.
    fn add_properties(found: Vec<Alternative<'a>>, siblings: &Object<'a>) -> Vec<Alternative<'a>> {
        if siblings.is_empty() {
            return found;
        }
        found.into_iter().map(|alternative| alternative.with_properties(siblings)).collect()
    }

    fn check_keywords(&self, node: &Node<'a>, map: &serde_json::Map<String, Value>) -> Result<()> {
        let known = |key: &str| {
            STRUCTURAL_KEYWORDS.contains(&key)
                || IGNORED_KEYWORDS.contains(&key)
                || key == "title"
                || key == "writeOnly"
                || key.starts_with("x-")
        };
        match map.keys().find(|key| !known(key)) {
            None => Ok(()),
            Some(key) => {
                let pointer = format!("{}/{key}", node.pointer);
                let advice = "add support for the keyword to codegen/src/shape.rs, or replace the type in overlay.json";
                Err(self.document.error(&pointer, format!("unsupported keyword `{key}`"), advice))
            }
        }
    }
}

impl<'a> Alternative<'a> {
    /// Adds properties, if the alternative is an object. Then it no longer has exactly the shape of its definition.
    fn with_properties(mut self, siblings: &Object<'a>) -> Self {
        self.shape = match self.shape {
            Shape::Object(object) => Shape::Object(object.and(siblings)),
            Shape::Any | Shape::Map(None) => Shape::Object(siblings.clone()),
            other => return Self { shape: other, ..self },
        };
        self.origin = None;
        self
    }
}

/// The alternatives that satisfy both lists. Objects are merged pairwise; of other pairs, the more specific one is kept.
fn intersect<'a>(left: &[Alternative<'a>], right: &[Alternative<'a>]) -> Vec<Alternative<'a>> {
    let mut found = Vec::new();
    for one in left {
        for other in right {
            found.push(match (&one.shape, &other.shape) {
                (_, Shape::Object(object)) if matches!(one.shape, Shape::Object(_)) => {
                    one.clone().with_properties(object)
                }
                (Shape::Any | Shape::Map(None), _) => other.clone(),
                _ => one.clone(),
            });
        }
    }
    found
}

/// An alternative without origin, title and description.
fn alternative(shape: Shape<'_>) -> Alternative<'_> {
    Alternative { shape, origin: None, title: None, doc: None }
}

/// Whether a schema restricts its value.
fn is_restrictive(schema: &Value) -> bool {
    !matches!(schema, Value::Bool(_)) && schema.as_object().is_none_or(|map| !map.is_empty())
}
