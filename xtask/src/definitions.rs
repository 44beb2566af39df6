//! Clean names for the definitions of a generated schema.
//!
//! `ts-json-schema-generator` names what has no name of its own by how it was written: `Record<string,string>`, or
//! `Record<string,structure-sdk.d.ts-217264-…>` with byte offsets that move with every release. Those are put in
//! place where they are used; what is left are the names the vendor chose, made into plain identifiers.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value};

const POINTER: &str = "#/definitions/";

/// Rewrites `definitions` of `document`: drops `root` (and the top `$ref` to it), puts generic instances and the
/// definitions named in `stand_ins` in place, and gives the others identifiers.
pub(crate) fn tidy(document: &Value, root: &str, stand_ins: &[&str]) -> Result<Value> {
    let definitions = document
        .get("definitions")
        .and_then(Value::as_object)
        .context("the generated schema has no \"definitions\"")?;
    let tidy = Tidy { definitions, stand_ins };

    let mut named: BTreeMap<String, Value> = BTreeMap::new();
    for (name, schema) in definitions {
        if name == root || tidy.is_anonymous(name) {
            continue;
        }
        let schema = tidy.schema(schema, &mut Vec::new())?;
        if named.insert(identifier(name), schema).is_some() {
            bail!("two definitions would both be called {}", identifier(name));
        }
    }

    let mut clean = Map::new();
    if let Some(dialect) = document.get("$schema") {
        clean.insert("$schema".to_owned(), dialect.clone());
    }
    clean.insert("definitions".to_owned(), Value::Object(named.into_iter().collect()));
    Ok(Value::Object(clean))
}

struct Tidy<'a> {
    definitions: &'a Map<String, Value>,
    stand_ins: &'a [&'a str],
}

impl Tidy<'_> {
    fn is_anonymous(&self, name: &str) -> bool {
        name.contains('<') || self.stand_ins.contains(&name)
    }

    /// `schema` with its references resolved or renamed. `within` lists the anonymous definitions being put in
    /// place, to notice one that contains itself.
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

    /// What stands where `map` holds a `$ref`: the definition itself when it is anonymous, else the reference.
    /// Keywords beside the reference (a description of this use) win over the definition's.
    fn reference(&self, map: &Map<String, Value>, pointer: &str, within: &mut Vec<String>) -> Result<Value> {
        let name = pointer.strip_prefix(POINTER).with_context(|| format!("unexpected reference {pointer}"))?;
        let target = self.definitions.get(name).with_context(|| format!("{pointer} points nowhere"))?;
        let mut here = map.clone();
        if self.is_anonymous(name) {
            if within.iter().any(|outer| outer == name) {
                bail!("{name} contains itself and so cannot be put in place of its uses");
            }
            within.push(name.to_owned());
            here.remove("$ref");
            if let Value::Object(inlined) = self.schema(target, within)? {
                for (key, value) in inlined {
                    here.entry(key).or_insert(value);
                }
            }
            within.pop();
        } else {
            here.insert("$ref".to_owned(), Value::String(format!("{POINTER}{}", identifier(name))));
        }
        Ok(Value::Object(here))
    }
}

/// `name` without the characters an identifier cannot have: `BetaRawMessageDeltaEvent.Delta` loses its dot.
fn identifier(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

/// Fails when a reference inside `document` points nowhere, naming the reference.
pub(crate) fn check_references(document: &Value) -> Result<()> {
    let mut pending = vec![document];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(map) => {
                if let Some(pointer) = map.get("$ref").and_then(Value::as_str) {
                    let found = pointer.strip_prefix('#').and_then(|path| document.pointer(path));
                    if found.is_none() {
                        bail!("the extracted schema has a reference to nowhere: {pointer}");
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

/// Fails when one of the `anchors` is not among the definitions at `pointer`.
///
/// TypeScript turns a type it cannot resolve into `any` without a word; a missing anchor is how we notice that a
/// package moved its types.
pub(crate) fn check_anchors(document: &Value, pointer: &str, anchors: &[&str]) -> Result<()> {
    let definitions = document.pointer(pointer).and_then(Value::as_object);
    for anchor in anchors {
        let found = definitions.and_then(|all| all.get(*anchor)).and_then(Value::as_object);
        if found.is_none_or(Map::is_empty) {
            bail!(
                "the extracted schema does not define {anchor}: the package's layout has changed, \
                 and its reader in xtask/src/extract/ has to follow"
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
    fn generic_instances_are_put_in_place_and_names_become_identifiers() {
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
            tidy(&document, "WireRoots", &["UUID"]).unwrap(),
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
    fn a_generic_that_contains_itself_is_refused_by_name() {
        let document = json!({"definitions": {
            "Tree<string>": {"items": {"$ref": "#/definitions/Tree<string>"}},
            "Use": {"$ref": "#/definitions/Tree<string>"},
        }});
        let error = tidy(&document, "", &[]).unwrap_err();
        assert!(error.to_string().starts_with("Tree<string> contains itself"), "{error}");
    }

    #[test]
    fn colliding_identifiers_are_refused() {
        let document = json!({"definitions": {"A.B": {}, "AB": {}}});
        assert_eq!(tidy(&document, "", &[]).unwrap_err().to_string(), "two definitions would both be called AB");
    }

    #[test]
    fn a_reference_to_nowhere_is_named() {
        let document = json!({"definitions": {"A": {"items": {"$ref": "#/definitions/B"}}}});
        let error = check_references(&document).unwrap_err();
        assert!(error.to_string().ends_with("#/definitions/B"), "{error}");
    }

    #[test]
    fn an_anchor_that_became_any_is_noticed() {
        let document = json!({"definitions": {"A": {}, "B": {"type": "string"}}});
        assert!(check_anchors(&document, "/definitions", &["B"]).is_ok());
        assert!(check_anchors(&document, "/definitions", &["A"]).is_err());
        assert!(check_anchors(&document, "/definitions", &["C"]).is_err());
    }
}
