//! The canonical text of a JSON Schema, and the removal of keywords from it.
//!
//! Committed schemas have sorted keys and are indented by two spaces. So two pulls of the same schema give the same
//! bytes, and a diff of two schemas shows only their differences. Arrays keep their order, which has a meaning in JSON.

use serde_json::{Map, Value};

/// Keywords whose value maps *names* to schemas. A name in such a map is never a keyword.
const NAME_MAP_KEYWORDS: [&str; 7] =
    ["properties", "patternProperties", "definitions", "$defs", "schemas", "dependentSchemas", "dependencies"];

/// Keywords whose value is data and not a schema.
const DATA_KEYWORDS: [&str; 5] = ["enum", "const", "default", "required", "mapping"];

/// Keywords whose value is text of the vendor. They are removed if the licence allows only names and types.
pub(crate) const PROSE_KEYWORDS: [&str; 6] =
    ["description", "markdownDescription", "title", "$comment", "example", "examples"];

/// The canonical text of `document`: sorted keys, indented by two spaces, with a newline at the end.
pub(crate) fn canonical_text(document: &Value) -> String {
    // The alternate form of `Value`'s `Display` is serde_json's pretty printer: two spaces, and it cannot fail.
    format!("{:#}\n", sorted(document))
}

/// `document` with the keys of every object sorted.
///
/// A `serde_json::Map` is sorted already unless a crate in the build enables `preserve_order`. The order in committed
/// files must not depend on that.
fn sorted(document: &Value) -> Value {
    match document {
        Value::Object(map) => {
            let mut entries: Vec<_> = map.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            Value::Object(entries.into_iter().map(|(key, value)| (key.clone(), sorted(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        scalar => scalar.clone(),
    }
}

/// `schema` without the given keywords, at every depth.
///
/// A *property* named `description` is not a keyword, and is kept.
pub(crate) fn without_keywords(schema: &Value, keywords: &[&str]) -> Value {
    match schema {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(key, _)| !keywords.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), keyword_value(key, value, keywords)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(|item| without_keywords(item, keywords)).collect()),
        scalar => scalar.clone(),
    }
}

fn keyword_value(keyword: &str, value: &Value, keywords: &[&str]) -> Value {
    match value {
        data if DATA_KEYWORDS.contains(&keyword) => data.clone(),
        Value::Object(names) if NAME_MAP_KEYWORDS.contains(&keyword) => {
            let inside: Map<String, Value> =
                names.iter().map(|(name, schema)| (name.clone(), without_keywords(schema, keywords))).collect();
            Value::Object(inside)
        }
        schema => without_keywords(schema, keywords),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_are_sorted_arrays_are_not_and_the_text_ends_with_a_newline() {
        let document = json!({"b": [3, 1, {"z": 1, "a": {}}], "a": "é"});
        let expected =
            "{\n  \"a\": \"é\",\n  \"b\": [\n    3,\n    1,\n    {\n      \"a\": {},\n      \"z\": 1\n    }\n  ]\n}\n";
        assert_eq!(canonical_text(&document), expected);
    }

    #[test]
    fn canonical_text_of_canonical_text_is_unchanged() {
        let document = json!({"z": {"y": [], "x": null}, "a": 1.5});
        let once = canonical_text(&document);
        assert_eq!(canonical_text(&serde_json::from_str(&once).unwrap()), once);
    }

    #[test]
    fn prose_is_removed_and_properties_of_the_same_name_are_kept() {
        let schema = json!({
            "title": "Tool",
            "description": "what a tool is",
            "required": ["description"],
            "properties": {
                "description": {"type": "string", "description": "prose", "examples": ["x"]},
                "title": {"anyOf": [{"type": "string", "$comment": "prose"}, {"type": "null"}]},
                "kind": {"const": "title", "enum": ["title", "description"], "default": {"title": "kept"}},
            },
        });
        assert_eq!(
            without_keywords(&schema, &PROSE_KEYWORDS),
            json!({
                "required": ["description"],
                "properties": {
                    "description": {"type": "string"},
                    "title": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                    "kind": {"const": "title", "enum": ["title", "description"], "default": {"title": "kept"}},
                },
            })
        );
    }

    #[test]
    fn code_samples_are_removed_from_an_openapi_document() {
        let document = json!({"paths": {"/event": {"get": {"x-codeSamples": [{"lang": "js"}], "tags": ["a"]}}}});
        assert_eq!(
            without_keywords(&document, &["x-codeSamples"]),
            json!({"paths": {"/event": {"get": {"tags": ["a"]}}}})
        );
    }
}
