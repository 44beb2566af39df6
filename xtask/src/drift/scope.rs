//! What of a schema this repository uses, and what it calls it.
//!
//! Both are decided by hand in the `[types.*]` tables of `source.toml`, which the generator reads. Here they are read
//! loosely: drift must work on a file that the generator would refuse, and says a little less where it finds nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use heck::ToUpperCamelCase as _;
use toml::{Table, Value};

use super::model::Model;
use super::reader::{Half, operation_name};

/// The modules that are generated from an agent's schemas.
pub(crate) struct Scope {
    modules: Vec<Module>,
}

struct Module {
    /// Starts the names of its types, as in the model.
    prefix: String,
    roots: Vec<String>,
    /// Union → the tags that are generated; all if it is not here.
    only: BTreeMap<String, Vec<String>>,
    /// The Rust names of types that are sent, with everything that they contain.
    sent: Vec<String>,
    /// Types and halves of operations that are sent, by their names in the model.
    sent_roots: Vec<String>,
    /// Union, by its Rust name → the tags that are sent; all if it is not here.
    sent_tags: BTreeMap<String, Vec<String>>,
    strip_prefixes: Vec<String>,
    names: BTreeMap<String, String>,
}

impl Scope {
    /// The scope in the `source.toml` at `path`; `None` if there is none or it names no roots.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let table: Table = std::fs::read_to_string(path).ok()?.parse().ok()?;
        let modules = table.get("types")?.as_table()?;
        let modules: Vec<_> = modules.values().filter_map(Value::as_table).map(Module::new).collect();
        modules.iter().any(|module| !module.roots.is_empty()).then_some(Self { modules })
    }

    /// Every type that the roots reach in one of the `models`.
    pub(crate) fn reached(&self, models: [&Model; 2]) -> BTreeSet<String> {
        let roots = || {
            let modules = self.modules.iter();
            modules.flat_map(|module| module.roots.iter().map(|root| format!("{}{root}", module.prefix)))
        };
        models.iter().flat_map(|model| model.reached(roots(), |of, tag| self.takes(of, tag))).collect()
    }

    /// Whether the member `tag` of the union `of` is generated.
    pub(crate) fn takes(&self, of: &str, tag: &str) -> bool {
        let chosen = self.modules.iter().find_map(|module| module.only.get(of.strip_prefix(&module.prefix)?));
        chosen.is_none_or(|tags| tags.iter().any(|chosen| chosen == tag))
    }

    /// Every type that is sent, as one of the `models` has it: what `sent` and `replies` name, the requests of `http`, and
    /// what these refer to.
    pub(crate) fn sent(&self, models: [&Model; 2]) -> BTreeSet<String> {
        let mut sent = BTreeSet::new();
        for model in models {
            let named = model.types.keys().filter(|name| self.is_sent(name)).cloned();
            let listed = self
                .modules
                .iter()
                .flat_map(|module| module.sent_roots.iter().map(|root| format!("{}{root}", module.prefix)));
            let roots: Vec<String> = named.chain(listed).collect();
            sent.extend(model.reached(roots, |of, tag| self.takes(of, tag) && self.sends(of, tag)));
        }
        sent
    }

    /// Whether `sent` names the type.
    fn is_sent(&self, name: &str) -> bool {
        self.modules.iter().any(|module| {
            name.starts_with(&module.prefix)
                && self.is_called(name, |rust_name| module.sent.iter().any(|sent| sent == rust_name))
        })
    }

    /// Whether the member `tag` of the union `of` is sent, if the union is.
    fn sends(&self, of: &str, tag: &str) -> bool {
        self.modules.iter().flat_map(|module| &module.sent_tags).all(|(union, tags)| {
            !self.is_called(of, |rust_name| rust_name == union) || tags.iter().any(|sent| sent == tag)
        })
    }

    /// Whether one of the Rust names that a type may have is wanted.
    fn is_called(&self, name: &str, is_wanted: impl Fn(&str) -> bool) -> bool {
        let own = name.rsplit("::").next().unwrap_or(name).to_owned();
        self.rust_names(name).into_iter().chain([own]).any(|name| is_wanted(&name.to_upper_camel_case()))
    }

    /// What the type `name` may be called in Rust.
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
        let mut roots = strings(table.get("roots"));
        roots.extend(map(table.get("responses"), |answer| answer.as_str().map(str::to_owned)).into_values());
        let pointers = map(table.get("inline"), |pointer| pointer.as_str().map(str::to_owned));
        roots.extend(pointers.values().filter_map(|pointer| operation(pointer)));
        let mut sent_roots: Vec<String> =
            map(table.get("replies"), |answer| answer.as_str().map(str::to_owned)).into_values().collect();
        for operation in map(table.get("http"), |operation| operation.as_str().map(str::to_owned)).into_values() {
            if let Some((method, path)) = operation.split_once(' ') {
                sent_roots.push(operation_name(method, path, Half::Request));
                roots.push(operation_name(method, path, Half::Response));
            }
        }
        roots.extend(sent_roots.iter().cloned());
        Self {
            prefix: prefix(schema),
            roots,
            only: map(table.get("only"), |tags| Some(strings(Some(tags)))),
            sent: strings(table.get("sent")),
            sent_roots,
            sent_tags: map(table.get("sent_tags"), |tags| Some(strings(Some(tags)))),
            strip_prefixes: strings(table.get("strip_prefixes")),
            names: map(table.get("names"), |name| name.as_str().map(str::to_owned)),
        }
    }
}

/// What the names of the types in the schema file `name` start with: those of `exec.schema.json` with `exec::`.
pub(crate) fn prefix(file: &str) -> String {
    file.strip_suffix(".schema.json").map_or(String::new(), |name| format!("{name}::"))
}

/// The pseudo-type that a JSON pointer into an HTTP operation points into.
fn operation(pointer: &str) -> Option<String> {
    let mut parts = pointer.strip_prefix("/paths/")?.split('/');
    let path = parts.next()?.replace("~1", "/").replace("~0", "~");
    let method = parts.next()?;
    let half = if parts.next()? == "responses" { Half::Response } else { Half::Request };
    Some(operation_name(method, &path, half))
}

fn strings(value: Option<&Value>) -> Vec<String> {
    let values = value.and_then(Value::as_array).into_iter().flatten();
    values.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn map<T>(value: Option<&Value>, read: impl Fn(&Value) -> Option<T>) -> BTreeMap<String, T> {
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
    fn only_what_the_roots_and_the_chosen_members_reach_is_in_scope() {
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
        let reached = scope.reached([&model, &Model::default()]);
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
        assert_eq!(reached.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        let sent = scope.sent([&model, &Model::default()]);
        let expected = ["Deep", "PATCH /session/{id} (request)", "Reply", "SDKRequest", "Start"];
        assert_eq!(sent.iter().map(String::as_str).collect::<Vec<_>>(), expected);
        assert!(scope.takes("SDKRequest", "start"));
        assert!(!scope.takes("SDKRequest", "stop"));
        assert!(scope.takes("exec::Event", "anything"));
    }

    #[test]
    fn types_are_known_by_their_rust_names() {
        let scope = scope(SOURCE).unwrap();
        assert_eq!(scope.rust_names("SDKRequest"), ["Request"]);
        assert_eq!(scope.rust_names("StartResponse"), ["Started"]);
    }

    #[test]
    fn a_file_without_roots_gives_no_scope() {
        assert!(scope("[types]\n").is_none());
        assert!(scope("not toml").is_none());
    }
}
