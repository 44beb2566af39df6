//! What a schema describes, as far as TypeScript tells it apart.

use serde_json::{Map, Value};

/// Members of a schema that contain nothing but documentation.
const ANNOTATIONS: [&str; 6] = ["description", "default", "example", "examples", "title", "deprecated"];

pub(super) enum Shape<'a> {
    /// One of several strings.
    Enum(Vec<&'a str>),
    TaggedUnion(TaggedUnion<'a>),
    Union(&'a [Value]),
    Intersection(&'a [Value]),
    /// A list of JSON types, such as a string or null.
    Types(Vec<&'a str>),
    Object(&'a Map<String, Value>),
    Array(Option<&'a Value>),
    /// The TypeScript name of a primitive type.
    Primitive(&'static str),
    Any,
}

/// A union of objects that one property tells apart.
pub(super) struct TaggedUnion<'a> {
    /// Name of the property.
    pub(super) tag: &'a str,
    /// Name of the other property that every variant has, if each has exactly one.
    pub(super) content: Option<&'a str>,
    /// Properties that all variants share.
    pub(super) common: &'a Map<String, Value>,
    /// Tags and variants.
    pub(super) variants: Vec<(&'a str, &'a Value)>,
}

static NO_PROPERTIES: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);

impl<'a> Shape<'a> {
    pub(super) fn of(schema: &'a Value) -> Self {
        if let Some(alternatives) = alternatives(schema) {
            return alternatives_shape(schema, alternatives);
        }
        if let Some(parts) = schema["allOf"].as_array() {
            return Self::Intersection(parts);
        }
        if let Some(values) = schema["enum"].as_array() {
            let strings: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            if strings.len() == values.len() {
                return Self::Enum(strings);
            }
        }
        match &schema["type"] {
            Value::Array(types) => match types.iter().filter_map(Value::as_str).collect::<Vec<_>>().as_slice() {
                [single] => Self::of_type(schema, single),
                types => Self::Types(types.to_vec()),
            },
            Value::String(name) => Self::of_type(schema, name),
            _ if schema["properties"].is_object() => Self::of_type(schema, "object"),
            _ => Self::Any,
        }
    }

    fn of_type(schema: &'a Value, name: &str) -> Self {
        match name {
            "object" => Self::Object(schema["properties"].as_object().unwrap_or(&NO_PROPERTIES)),
            "array" => Self::Array(schema.get("items")),
            "string" => Self::Primitive("string"),
            "integer" | "number" => Self::Primitive("number"),
            "boolean" => Self::Primitive("boolean"),
            "null" => Self::Primitive("null"),
            _ => Self::Any,
        }
    }
}

fn alternatives(schema: &Value) -> Option<&[Value]> {
    ["oneOf", "anyOf"].iter().find_map(|key| schema[*key].as_array()).map(Vec::as_slice)
}

fn alternatives_shape<'a>(schema: &'a Value, alternatives: &'a [Value]) -> Shape<'a> {
    let strings: Vec<&str> = alternatives.iter().filter_map(super::constant_string).collect();
    if strings.len() == alternatives.len() {
        return Shape::Enum(strings);
    }
    match tagged_union(schema, alternatives) {
        Some(union) => Shape::TaggedUnion(union),
        None => Shape::Union(alternatives),
    }
}

/// A union is tagged if every variant is an object with a constant string under the same name.
fn tagged_union<'a>(schema: &'a Value, variants: &'a [Value]) -> Option<TaggedUnion<'a>> {
    let properties = |variant: &'a Value| variant["properties"].as_object();
    let first = properties(variants.first()?)?;
    let tag = first.iter().find(|(_, property)| super::constant_string(property).is_some())?.0.as_str();
    let tagged = |variant: &'a Value| Some((super::constant_string(properties(variant)?.get(tag)?)?, variant));
    let variants: Vec<_> = variants.iter().map(tagged).collect::<Option<_>>()?;
    let mut others = first.keys().filter(|name| *name != tag);
    let content = others.next().map(String::as_str).filter(|content| {
        others.next().is_none()
            && variants.iter().all(|(_, variant)| {
                properties(variant).is_some_and(|found| found.len() == 2 && found.contains_key(*content))
            })
    });
    let common = schema["properties"].as_object().unwrap_or(&NO_PROPERTIES);
    Some(TaggedUnion { tag, content, common, variants })
}

/// The name of the schema that this one refers to. Annotations beside the reference do not matter.
pub(super) fn reference_name(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next())
}

/// The only value that a schema admits.
pub(super) fn constant(schema: &Value) -> Option<&Value> {
    schema.get("const").or_else(|| match schema["enum"].as_array().map(Vec::as_slice) {
        Some([single]) => Some(single),
        _ => None,
    })
}

/// The alternative to null of a schema that admits null and one other thing.
pub(super) fn optional_inner(schema: &Value) -> Option<&Value> {
    match alternatives(schema)? {
        [inner, null] | [null, inner] if is_null(null) && !is_null(inner) => Some(inner),
        _ => None,
    }
}

fn is_null(schema: &Value) -> bool {
    schema["type"] == "null"
        && schema
            .as_object()
            .is_some_and(|fields| fields.keys().all(|key| key == "type" || ANNOTATIONS.contains(&key.as_str())))
}
