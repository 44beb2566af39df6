//! Settings of generated modules: the `[types.*]` tables of a `source.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Settings of one generated module.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The schema file, beside `source.toml`.
    pub schema: String,
    /// The definitions that callers decode into. Only types that are reachable from them are generated.
    pub roots: Vec<String>,
    /// Further roots that are not definitions, such as HTTP bodies: JSON pointers by Rust name.
    pub inline: BTreeMap<String, String>,
    /// The tags of a union by `method`, or the fields of an object, that are generated, by definition. Without an entry,
    /// all are generated.
    pub only: BTreeMap<String, Vec<String>>,
    /// The definition of the response to a request of the host, by method.
    pub responses: BTreeMap<String, String>,
    /// The definition of the host's response to a request of the agent, by method.
    pub replies: BTreeMap<String, String>,
    /// Rust names of the types that a host sends. These types and all types that they contain get constructors that take
    /// the fields that the schema requires.
    pub sent: Vec<String>,
    /// The tags of a sent union that a host sends, by the Rust name of the union. Without an entry, all of them.
    pub sent_tags: BTreeMap<String, Vec<String>>,
    /// HTTP operations that a host calls, as `POST /path/{parameter}`, by the prefix of their type names.
    pub http: BTreeMap<String, String>,
    /// Fields that are required in Rust, as `Type.field`. The name of a union means all of its members.
    pub ids: Vec<String>,
    /// Fields without which an object is meaningless, as `Type.field`. The name of a union means all of its members. An
    /// object does not decode if such a field does not fit its type, or if it is missing or null although the schema
    /// requires it and does not allow null. The Rust field is still optional.
    pub needed: Vec<String>,
    /// Required fields that are reported if they are missing or null, as `Type.field`. The object still decodes.
    pub expected: Vec<String>,
    /// Lists that may also be a plain string, as `Type.field`. The type of such a field is a union of both.
    pub short_forms: Vec<String>,
    /// Prefixes of definition names that are removed from Rust names.
    pub strip_prefixes: Vec<String>,
    /// Other Rust names, by definition or by generated name.
    pub names: BTreeMap<String, String>,
    /// Whether the schema's descriptions become doc comments. This depends on its licence.
    pub docs: bool,
}
