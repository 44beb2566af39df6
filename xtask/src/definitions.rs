//! Normalizes the definitions of a schema that `ts-json-schema-generator` made.
//!
//! The generator names an anonymous type after its source text: `Record<string,string>`, or
//! `Record<string,structure-sdk.d.ts-217264-…>` with byte offsets that change with every release. Such definitions are
//! inlined where they are used. The others have names that the vendor chose; these become plain identifiers.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};

const DEFINITIONS_POINTER: &str = "#/definitions/";

/// Normalizes the `definitions` of `document`: removes `root` and the top-level `$ref` to it, inlines generic instances
/// and the definitions named in `inlined`, and turns the other names into identifiers.
pub(crate) fn normalize(document: &Value, root: &str, inlined: &[&str]) -> Result<Value> {
    let definitions = document
        .get("definitions")
        .and_then(Value::as_object)
        .context("the generated schema has no \"definitions\"")?;
    let normalizer = Normalizer { definitions, inlined };

    let mut named: BTreeMap<String, Value> = BTreeMap::new();
    for (name, schema) in definitions {
        if name == root || normalizer.is_inlined(name) {
            continue;
        }
        let schema = normalizer.schema(schema, &mut Vec::new())?;
        if named.insert(identifier(name), schema).is_some() {
            bail!("two definitions have the same identifier {}", identifier(name));
        }
    }

    let mut result = Map::new();
    if let Some(schema_uri) = document.get("$schema") {
        result.insert("$schema".to_owned(), schema_uri.clone());
    }
    result.insert("definitions".to_owned(), Value::Object(named.into_iter().collect()));
    Ok(Value::Object(result))
}

struct Normalizer<'a> {
    definitions: &'a Map<String, Value>,
    inlined: &'a [&'a str],
}

impl Normalizer<'_> {
    fn is_inlined(&self, name: &str) -> bool {
        name.contains('<') || self.inlined.contains(&name)
    }

    /// Inlines or renames the references in `schema`. `within` lists the definitions that are being inlined, to detect
    /// one that contains itself.
    fn schema(&self, schema: &Value, within: &mut Vec<String>) -> Result<Value> {
        match schema {
            Value::Object(map) => match map.get("$ref").and_then(Value::as_str) {
                Some(pointer) => self.reference(map, pointer, within),
                None => map
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), self.schema(value, within)?)))
                    .collect::<Result<Map<_, _>>>()
                    .map(Value::Object),
            },
            Value::Array(items) => {
                items.iter().map(|item| self.schema(item, within)).collect::<Result<Vec<_>>>().map(Value::Array)
            }
            scalar => Ok(scalar.clone()),
        }
    }

    /// Replaces the reference in `map` by its definition if that is inlined, and renames it otherwise. Keywords beside
    /// the reference (a description of this use) take precedence over those of the definition.
    fn reference(&self, map: &Map<String, Value>, pointer: &str, within: &mut Vec<String>) -> Result<Value> {
        let name =
            pointer.strip_prefix(DEFINITIONS_POINTER).with_context(|| format!("unexpected reference {pointer}"))?;
        let target = self
            .definitions
            .get(name)
            .with_context(|| format!("the target of the reference {pointer} does not exist"))?;
        let mut schema = map.clone();
        if self.is_inlined(name) {
            if within.iter().any(|outer| outer == name) {
                bail!("{name} contains itself, so it cannot be inlined");
            }
            within.push(name.to_owned());
            schema.remove("$ref");
            if let Value::Object(definition) = self.schema(target, within)? {
                for (key, value) in definition {
                    schema.entry(key).or_insert(value);
                }
            }
            within.pop();
        } else {
            schema.insert("$ref".to_owned(), Value::String(format!("{DEFINITIONS_POINTER}{}", identifier(name))));
        }
        Ok(Value::Object(schema))
    }
}

/// `name` without characters that are not allowed in an identifier: `BetaRawMessageDeltaEvent.Delta` loses its dot.
fn identifier(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

/// Fails if the target of a reference in `document` does not exist.
pub(crate) fn check_references(document: &Value) -> Result<()> {
    let mut pending = vec![document];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(map) => {
                if let Some(pointer) = map.get("$ref").and_then(Value::as_str) {
                    let found = pointer.strip_prefix('#').and_then(|path| document.pointer(path));
                    if found.is_none() {
                        bail!("the extracted schema has a reference without a target: {pointer}");
                    }
                }
                pending.extend(map.values());
            }
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
    Ok(())
}

/// Fails if one of the types `names` is missing or empty in the definitions at `pointer`.
///
/// TypeScript silently replaces a type that it cannot resolve by `any`. This check detects that a package has moved its
/// types.
pub(crate) fn check_required_types(document: &Value, pointer: &str, names: &[&str]) -> Result<()> {
    let definitions = document.pointer(pointer).and_then(Value::as_object);
    for name in names {
        let found = definitions.and_then(|all| all.get(*name)).and_then(Value::as_object);
        if found.is_none_or(Map::is_empty) {
            bail!(
                "the extracted schema does not define {name}: the layout of the package has changed; \
                 adapt its extraction in xtask/src/extract/"
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn generic_instances_are_inlined_and_names_become_identifiers() {
        let document = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$ref": "#/definitions/WireRoots",
            "definitions": {
                "WireRoots": {"type": "object"},
                "Record<string,Record<string,unknown>>":
                    {"type": "object", "additionalProperties": {"$ref": "#/definitions/Record<string,unknown>"}},
                "Record<string,unknown>": {"type": "object", "additionalProperties": {}},
                "Event.Delta": {"type": "object"},
                "UUID": {"type": "string"},
                "Event": {"properties": {
                    "id": {"$ref": "#/definitions/UUID", "description": "this one"},
                    "delta": {"$ref": "#/definitions/Event.Delta"},
                    "extra": {"$ref": "#/definitions/Record<string,Record<string,unknown>>"},
                }},
            },
        });
        assert_eq!(
            normalize(&document, "WireRoots", &["UUID"]).unwrap(),
            json!({
                "$schema": "http://json-schema.org/draft-07/schema#",
                "definitions": {
                    "EventDelta": {"type": "object"},
                    "Event": {"properties": {
                        "id": {"type": "string", "description": "this one"},
                        "delta": {"$ref": "#/definitions/EventDelta"},
                        "extra": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": {}}},
                    }},
                },
            })
        );
    }

    #[test]
    fn a_generic_that_contains_itself_is_an_error_with_its_name() {
        let document = json!({"definitions": {
            "Tree<string>": {"items": {"$ref": "#/definitions/Tree<string>"}},
            "Use": {"$ref": "#/definitions/Tree<string>"},
        }});
        let error = normalize(&document, "", &[]).unwrap_err();
        assert!(error.to_string().starts_with("Tree<string> contains itself"), "{error}");
    }

    #[test]
    fn colliding_identifiers_are_an_error() {
        let document = json!({"definitions": {"A.B": {}, "AB": {}}});
        assert_eq!(
            normalize(&document, "", &[]).unwrap_err().to_string(),
            "two definitions have the same identifier AB"
        );
    }

    #[test]
    fn a_reference_without_a_target_is_named() {
        let document = json!({"definitions": {"A": {"items": {"$ref": "#/definitions/B"}}}});
        let error = check_references(&document).unwrap_err();
        assert!(error.to_string().ends_with("#/definitions/B"), "{error}");
    }

    #[test]
    fn a_required_type_that_became_any_is_an_error() {
        let document = json!({"definitions": {"A": {}, "B": {"type": "string"}}});
        assert!(check_required_types(&document, "/definitions", &["B"]).is_ok());
        assert!(check_required_types(&document, "/definitions", &["A"]).is_err());
        assert!(check_required_types(&document, "/definitions", &["C"]).is_err());
    }
}
