//! Which types of a schema are generated here, and their names in Rust.
//!
//! Both are configured in the `[types.*]` tables of `source.toml`, which the code generator reads. Here they are read
//! leniently: drift must work with a file that the generator rejects. It then reports less.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use heck::ToUpperCamelCase as _;
use toml::{Table, Value};

use super::model::Model;
use super::reader::{OperationPart, operation_name};

/// The modules that are generated from an agent's schemas.
pub(crate) struct Scope {
    modules: Vec<Module>,
}

struct Module {
    /// Prefix of the names of its types in the model.
    prefix: String,
    roots: Vec<String>,
    /// The generated tags of a union. If a union is not in the map, all its tags are generated.
    only: BTreeMap<String, Vec<String>>,
    /// Rust names of types that are sent, with all types that they contain.
    sent: Vec<String>,
    /// Types and requests of operations that are sent, by their names in the model.
    sent_roots: Vec<String>,
    /// The sent tags of a union, by its Rust name. If a union is not in the map, all its tags are sent.
    sent_tags: BTreeMap<String, Vec<String>>,
    strip_prefixes: Vec<String>,
    names: BTreeMap<String, String>,
}

impl Scope {
    /// Reads the scope from the `source.toml` at `path`. `None` if the file is missing or invalid, or has no roots.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let table: Table = std::fs::read_to_string(path).ok()?.parse().ok()?;
        let modules = table.get("types")?.as_table()?;
        let modules: Vec<_> = modules.values().filter_map(Value::as_table).map(Module::new).collect();
        modules.iter().any(|module| !module.roots.is_empty()).then_some(Self { modules })
    }

    /// The types that are reachable from the roots in one of the `models`.
    pub(crate) fn reachable_types(&self, models: [&Model; 2]) -> BTreeSet<String> {
        let roots = || {
            let modules = self.modules.iter();
            modules.flat_map(|module| module.roots.iter().map(|root| format!("{}{root}", module.prefix)))
        };
        models
            .iter()
            .flat_map(|model| model.reachable_types(roots(), |union, tag| self.includes_member(union, tag)))
            .collect()
    }

    /// Whether the member `tag` of a union is generated.
    pub(crate) fn includes_member(&self, union: &str, tag: &str) -> bool {
        let only = self.modules.iter().find_map(|module| module.only.get(union.strip_prefix(&module.prefix)?));
        only.is_none_or(|tags| tags.iter().any(|generated| generated == tag))
    }

    /// The types that are sent, in one of the `models`: the types in `sent` and `replies`, the requests of `http`, and
    /// all types that these reference.
    pub(crate) fn sent_types(&self, models: [&Model; 2]) -> BTreeSet<String> {
        let mut sent = BTreeSet::new();
        for model in models {
            let named = model.types.keys().filter(|name| self.is_sent(name)).cloned();
            let listed = self
                .modules
                .iter()
                .flat_map(|module| module.sent_roots.iter().map(|root| format!("{}{root}", module.prefix)));
            let roots: Vec<String> = named.chain(listed).collect();
            sent.extend(model.reachable_types(roots, |union, tag| {
                self.includes_member(union, tag) && self.sends_member(union, tag)
            }));
        }
        sent
    }

    /// Whether the type is listed in `sent`.
    fn is_sent(&self, name: &str) -> bool {
        self.modules.iter().any(|module| {
            name.starts_with(&module.prefix)
                && self.has_rust_name(name, |rust_name| module.sent.iter().any(|sent| sent == rust_name))
        })
    }

    /// Whether the member `tag` of a union that is sent is sent.
    fn sends_member(&self, union: &str, tag: &str) -> bool {
        self.modules.iter().flat_map(|module| &module.sent_tags).all(|(listed, tags)| {
            !self.has_rust_name(union, |rust_name| rust_name == listed) || tags.iter().any(|sent| sent == tag)
        })
    }

    /// Whether the predicate is true for one of the names that a type may have in Rust.
    fn has_rust_name(&self, name: &str, predicate: impl Fn(&str) -> bool) -> bool {
        let original = name.rsplit("::").next().unwrap_or(name).to_owned();
        self.rust_names(name).into_iter().chain([original]).any(|name| predicate(&name.to_upper_camel_case()))
    }

    /// The configured Rust names of the type `name`.
    pub(crate) fn rust_names(&self, name: &str) -> Vec<String> {
        let mut candidates = Vec::new();
        for module in &self.modules {
            let Some(name) = name.strip_prefix(&module.prefix) else {
                continue;
            };
            candidates.extend(module.names.get(name).cloned());
            let stripped = module.strip_prefixes.iter().find_map(|prefix| name.strip_prefix(prefix.as_str()));
            candidates.extend(stripped.map(str::to_owned));
        }
        candidates
    }
}

impl Module {
    fn new(table: &Table) -> Self {
        let schema = table.get("schema").and_then(Value::as_str).unwrap_or_default();
        let mut roots = read_strings(table.get("roots"));
        roots.extend(read_map(table.get("responses"), |name| name.as_str().map(str::to_owned)).into_values());
        let pointers = read_map(table.get("inline"), |pointer| pointer.as_str().map(str::to_owned));
        roots.extend(pointers.values().filter_map(|pointer| operation_type(pointer)));
        let mut sent_roots: Vec<String> =
            read_map(table.get("replies"), |name| name.as_str().map(str::to_owned)).into_values().collect();
        for operation in read_map(table.get("http"), |operation| operation.as_str().map(str::to_owned)).into_values() {
            if let Some((method, path)) = operation.split_once(' ') {
                sent_roots.push(operation_name(method, path, OperationPart::Request));
                roots.push(operation_name(method, path, OperationPart::Response));
            }
        }
        roots.extend(sent_roots.iter().cloned());
        Self {
            prefix: type_prefix(schema),
            roots,
            only: read_map(table.get("only"), |tags| Some(read_strings(Some(tags)))),
            sent: read_strings(table.get("sent")),
            sent_roots,
            sent_tags: read_map(table.get("sent_tags"), |tags| Some(read_strings(Some(tags)))),
            strip_prefixes: read_strings(table.get("strip_prefixes")),
            names: read_map(table.get("names"), |name| name.as_str().map(str::to_owned)),
        }
    }
}

/// The prefix of the names of types in a schema file: `exec::` for `exec.schema.json`.
pub(crate) fn type_prefix(file: &str) -> String {
    file.strip_suffix(".schema.json").map_or(String::new(), |name| format!("{name}::"))
}

/// The pseudo-type of the operation that a JSON pointer points into.
fn operation_type(pointer: &str) -> Option<String> {
    let mut parts = pointer.strip_prefix("/paths/")?.split('/');
    let path = parts.next()?.replace("~1", "/").replace("~0", "~");
    let method = parts.next()?;
    let part = if parts.next()? == "responses" { OperationPart::Response } else { OperationPart::Request };
    Some(operation_name(method, &path, part))
}

fn read_strings(value: Option<&Value>) -> Vec<String> {
    let values = value.and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn read_map<T>(value: Option<&Value>, read: impl Fn(&Value) -> Option<T>) -> BTreeMap<String, T> {
    let entries = value.and_then(Value::as_table).into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), read(value)?))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SOURCE: &str = r#"
[types.main]
schema = "schema.json"
roots = ["SDKRequest"]
strip_prefixes = ["SDK"]
only.SDKRequest = ["start"]
sent = ["Request"]
sent_tags.Request = ["start"]
replies.ask = "Reply"
http.Rename = "PATCH /session/{id}"
responses.start = "StartResponse"
inline.Body = "/paths/~1session~1{id}/post/requestBody/content/application~1json/schema"
names.StartResponse = "Started"
[types.exec]
schema = "exec.schema.json"
roots = ["Event"]
"#;

    fn scope(text: &str) -> Option<Scope> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("source.toml");
        std::fs::write(&path, text).unwrap();
        Scope::read(&path)
    }

    #[test]
    fn only_types_that_are_reachable_from_roots_and_included_members_are_in_scope() {
        let scope = scope(SOURCE).unwrap();
        let member = |tag: &str, params: &str| json!({"properties": {"method": {"const": tag}, "params": {"$ref": format!("#/definitions/{params}")}}});
        let mut model = Model::default();
        model.add(
            "",
            &json!({"definitions": {
                "SDKRequest": {"oneOf": [member("start", "Start"), member("stop", "Stop")]},
                "Start": {"properties": {"deep": {"$ref": "#/definitions/Deep"}}},
                "Stop": {}, "Deep": {}, "Other": {},
            }}),
        );
        model.add("exec::", &json!({"definitions": {"Event": {}}}));
        let reachable = scope.reachable_types([&model, &Model::default()]);
        let expected = [
            "Deep",
            "PATCH /session/{id} (request)",
            "PATCH /session/{id} (response)",
            "POST /session/{id} (request)",
            "Reply",
            "SDKRequest",
            "Start",
            "StartResponse",
            "exec::Event",
        ];
        assert_eq!(reachable.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        let sent = scope.sent_types([&model, &Model::default()]);
        let expected = ["Deep", "PATCH /session/{id} (request)", "Reply", "SDKRequest", "Start"];
        assert_eq!(sent.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        assert!(scope.includes_member("SDKRequest", "start"));
        assert!(!scope.includes_member("SDKRequest", "stop"));
        assert!(scope.includes_member("exec::Event", "anything"));
    }

    #[test]
    fn rust_names_come_from_prefixes_and_names() {
        let scope = scope(SOURCE).unwrap();
        assert_eq!(scope.rust_names("SDKRequest"), ["Request"]);
        assert_eq!(scope.rust_names("StartResponse"), ["Started"]);
    }

    #[test]
    fn a_file_without_roots_has_no_scope() {
        assert!(scope("[types]\n").is_none());
        assert!(scope("not toml").is_none());
    }
}
