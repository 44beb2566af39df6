//! What a person decides about a module's types; the `[types.*]` tables of a `source.toml`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Settings for one generated module.
#[derive(Debug, Clone, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// The schema file, beside `source.toml`.
    pub schema: String,
    /// The definitions that callers decode into; what they do not reach is not generated.
    pub roots: Vec<String>,
    /// Further roots that have no definition of their own, such as HTTP bodies: a Rust name for a JSON pointer.
    pub inline: BTreeMap<String, String>,
    /// For a union by method, or for an object, by definition: the tags or fields to generate. Without an entry, all of
    /// them.
    pub only: BTreeMap<String, Vec<String>>,
    /// The definition that answers a request, by the request's name on the wire.
    pub responses: BTreeMap<String, String>,
    /// The definition that the host answers a request of the agent with, by the request's name on the wire.
    pub replies: BTreeMap<String, String>,
    /// Types that are written as well as read, by their Rust names. What they reach gets constructors that take the
    /// fields which the schema requires.
    pub sent: Vec<String>,
    /// For a union that is sent, by its Rust name: the tags that a host sends. Without an entry, all of them.
    pub sent_tags: BTreeMap<String, Vec<String>>,
    /// Operations of an HTTP API that are called, as `POST /path/{parameter}`, by the name that their types begin with.
    pub http: BTreeMap<String, String>,
    /// Fields that stay required, as `Type.field`; a union's name stands for all of its members.
    pub ids: Vec<String>,
    /// Fields without which an object has lost its meaning, as `Type.field`; a union's name stands for all of its
    /// members. An object in which such a field does not fit its type does not decode; neither does one in which it is
    /// missing or null, if the schema requires it and does not let it be null. The Rust field stays optional.
    pub needed: Vec<String>,
    /// Fields that the schema requires and that are reported where they are missing or null, as `Type.field`. The object
    /// decodes.
    pub expected: Vec<String>,
    /// Lists that may also be written as a plain string, as `Type.field`. The type of such a field is a union of both.
    pub short_forms: Vec<String>,
    /// Prefixes of definition names that Rust names do without.
    pub strip_prefixes: Vec<String>,
    /// Better Rust names, for a definition or for the name that a type without one would get.
    pub names: BTreeMap<String, String>,
    /// Whether the schema's descriptions become doc comments; its licence decides.
    pub docs: bool,
}
