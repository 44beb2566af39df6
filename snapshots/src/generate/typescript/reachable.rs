//! Which schemas only requests contain.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::shape::reference_name;

/// The names of the schemas that are part of a request body, and of no response.
pub(super) fn request_only(document: &Value, schemas: &Map<String, Value>) -> BTreeSet<String> {
    let (mut requests, mut responses) = (BTreeSet::new(), BTreeSet::new());
    let paths = document["paths"].as_object();
    for operation in paths.into_iter().flat_map(Map::values).filter_map(Value::as_object).flat_map(Map::values) {
        collect(&operation["requestBody"], schemas, &mut requests);
        collect(&operation["parameters"], schemas, &mut requests);
        collect(&operation["responses"], schemas, &mut responses);
    }
    // Events are the content of streams, whose schema is a plain string.
    if let Some(event) = schemas.get("UniversalEvent") {
        collect(event, schemas, &mut responses);
    }
    requests.difference(&responses).cloned().collect()
}

/// Adds the names of all schemas that are reachable from this one.
fn collect(schema: &Value, schemas: &Map<String, Value>, found: &mut BTreeSet<String>) {
    if let Some(name) = reference_name(schema)
        && found.insert(name.to_owned())
        && let Some(target) = schemas.get(name)
    {
        collect(target, schemas, found);
    }
    match schema {
        Value::Object(fields) => fields.values().for_each(|value| collect(value, schemas, found)),
        Value::Array(values) => values.iter().for_each(|value| collect(value, schemas, found)),
        _ => {}
    }
}
