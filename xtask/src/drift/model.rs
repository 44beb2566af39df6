//! A schema reduced to the parts that are compared.
//!
//! Every definition becomes a [`Shape`]: its fields with a printed type, the tags of its unions, the values of its
//! enums. Inline types are flattened into paths (`message.content[]<text>.text`), so that a change is reported at its
//! exact place. Draft-07 `definitions`, 2020-12 `$defs`, and the components and operations of `OpenAPI` all become
//! shapes. Descriptions, limits and order are left out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::reader;

/// Suffix of the printed type of a nullable value.
pub(super) const OR_NULL: &str = " | null";

/// All named types of one agent.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) types: BTreeMap<String, Shape>,
}

/// One named type.
#[derive(Default)]
pub(crate) struct Shape {
    /// The type as text: `object`, `union`, `enum`, `string` …
    pub(crate) printed_type: String,
    /// The fields by path.
    pub(crate) fields: BTreeMap<String, Field>,
    /// The printed type of each union member, by path of the union (empty for the type itself) and tag.
    pub(crate) unions: BTreeMap<String, BTreeMap<String, String>>,
    /// The values of each enum, by path (empty for the type itself).
    pub(crate) enums: BTreeMap<String, BTreeSet<String>>,
    /// Named types that this type references.
    pub(crate) references: BTreeSet<String>,
    /// If the type itself is a union: the references of each member, by tag.
    pub(crate) member_references: BTreeMap<String, BTreeSet<String>>,
    /// The original schema, to detect changes that the rest of the shape does not show. Null for operations, because
    /// the schema contains the descriptions of both the request and the response.
    pub(crate) raw: Value,
}

/// One field of a type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// The type as text.
    pub(crate) printed_type: String,
    /// Whether the schema requires it.
    pub(crate) required: bool,
}

impl Model {
    /// Adds every type of `document`, with `prefix` before its name.
    pub(crate) fn add(&mut self, prefix: &str, document: &Value) {
        self.types.extend(reader::read_shapes(prefix, document));
    }

    /// The requests of all operations and the types that they reference. These are sent, as far as is known without a
    /// scope.
    pub(crate) fn request_types(&self) -> BTreeSet<String> {
        let requests = self.types.keys().filter(|name| name.ends_with(reader::REQUEST_SUFFIX)).cloned();
        self.reachable_types(requests, |_, _| true)
    }

    /// The `roots` and all types that they reference, through union members for which `includes(type, tag)` is true.
    pub(crate) fn reachable_types(
        &self,
        roots: impl IntoIterator<Item = String>,
        includes: impl Fn(&str, &str) -> bool,
    ) -> BTreeSet<String> {
        let mut pending: Vec<String> = roots.into_iter().collect();
        let mut reachable = BTreeSet::new();
        while let Some(name) = pending.pop() {
            let Some(shape) = self.types.get(&name) else {
                reachable.insert(name);
                continue;
            };
            if reachable.contains(&name) {
                continue;
            }
            let left_out = shape.member_references.iter().filter(|(tag, _)| !includes(&name, tag));
            let left_out: BTreeSet<_> = left_out.flat_map(|(_, references)| references).collect();
            let kept = shape.member_references.iter().filter(|(tag, _)| includes(&name, tag));
            pending.extend(kept.flat_map(|(_, references)| references).cloned());
            pending.extend(shape.references.iter().filter(|name| !left_out.contains(name)).cloned());
            reachable.insert(name);
        }
        reachable
    }

    /// The union members (type of the union, tag) that contain a value of type `name`, directly or with the fewest
    /// types in between.
    pub(crate) fn members_containing(&self, name: &str) -> Vec<(&str, &str)> {
        let mut level = BTreeSet::from([name]);
        let mut visited = level.clone();
        while !level.is_empty() {
            let found: Vec<_> = level.iter().flat_map(|inner| self.direct_members(inner)).collect();
            if !found.is_empty() {
                return found;
            }
            let users =
                self.types.iter().filter(|(_, shape)| level.iter().any(|inner| shape.references.contains(*inner)));
            level = users.map(|(user, _)| user.as_str()).filter(|user| visited.insert(user)).collect();
        }
        Vec::new()
    }

    /// The union members that are of type `name`, or that are inline types with a field of type `name`.
    fn direct_members(&self, name: &str) -> Vec<(&str, &str)> {
        let mut found = Vec::new();
        for (union, shape) in &self.types {
            for (union_path, members) in &shape.unions {
                for (tag, printed_type) in members {
                    let member_path = format!("{union_path}<{tag}>");
                    let mut fields = shape.fields.iter().filter(|(path, _)| path.starts_with(&member_path));
                    if printed_type == name || fields.any(|(_, field)| field.printed_type == name) {
                        found.push((union.as_str(), tag.as_str()));
                    }
                }
            }
        }
        found
    }
}
