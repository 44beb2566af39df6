//! The one way a JSON document is written down here, and what is left out of it.
//!
//! Committed schemas have their keys sorted and are indented by two spaces, so that two pulls of the same thing are
//! the same bytes and two pulls of different things differ only where the things do. Arrays keep their order: in
//! JSON it carries meaning.

use serde_json::{Map, Value};

/// Keys of a schema whose value maps *names* to schemas, so that a name there is never a keyword.
const NAME_MAPS: [&str; 7] =
    ["properties", "patternProperties", "definitions", "$defs", "schemas", "dependentSchemas", "dependencies"];

/// Keys of a schema whose value is data rather than a schema.
const DATA: [&str; 5] = ["enum", "const", "default", "required", "mapping"];

/// Keywords that hold prose. They carry the vendor's words, so they go where the licence allows names and types only.
pub(crate) const PROSE: [&str; 6] = ["description", "markdownDescription", "title", "$comment", "example", "examples"];

/// The canonical text of `document`: sorted keys, two spaces, a newline at the end.
pub(crate) fn text(document: &Value) -> String {
    // The alternate form of `Value`'s `Display` is serde_json's pretty printer: two spaces, and it cannot fail.
    format!("{:#}\n", sorted(document))
}

/// `document` with the keys of every object in order.
///
/// A `serde_json::Map` is sorted already unless some crate of the build turns on `preserve_order`; the order of
/// committed files must not hang on that.
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
/// A *property* that happens to be called `description` is not a keyword and stays.
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
        data if DATA.contains(&keyword) => data.clone(),
        Value::Object(names) if NAME_MAPS.contains(&keyword) => {
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
    fn keys_are_sorted_arrays_are_not_and_the_file_ends_in_a_newline() {
        let document = json!({"b": [3, 1, {"z": 1, "a": {}}], "a": "é"});
        let expected =
            "{\n  \"a\": \"é\",\n  \"b\": [\n    3,\n    1,\n    {\n      \"a\": {},\n      \"z\": 1\n    }\n  ]\n}\n";
        assert_eq!(text(&document), expected);
    }

    #[test]
    fn canonical_text_is_a_fixed_point() {
        let document = json!({"z": {"y": [], "x": null}, "a": 1.5});
        let once = text(&document);
        assert_eq!(text(&serde_json::from_str(&once).unwrap()), once);
    }

    #[test]
    fn prose_goes_and_properties_that_share_its_name_stay() {
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
            without_keywords(&schema, &PROSE),
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
    fn code_samples_go_from_an_openapi_document() {
        let document = json!({"paths": {"/event": {"get": {"x-codeSamples": [{"lang": "js"}], "tags": ["a"]}}}});
        assert_eq!(
            without_keywords(&document, &["x-codeSamples"]),
            json!({"paths": {"/event": {"get": {"tags": ["a"]}}}})
        );
    }
}
