//! A schema reduced to what matters when two of them are compared.
//!
//! Every definition becomes a [`Shape`]: its fields with a printed type, the tags of its unions, the values of its
//! enums. Types that are written in place are flattened into paths (`message.content[]<text>.text`), so that a change
//! deep inside is found where it is. Draft-07 `definitions`, 2020-12 `$defs` and the components and operations of
//! `OpenAPI` all end up as the same thing. Descriptions, limits and the order of things are left out on purpose.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::reader;

/// Ends the printed type of something that may be null.
pub(super) const OR_NULL: &str = " | null";

/// All named types of one agent.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) types: BTreeMap<String, Shape>,
}

/// One named type.
#[derive(Default)]
pub(crate) struct Shape {
    /// The type itself, printed: `object`, `union`, `enum`, `string` …
    pub(crate) is: String,
    /// Path → field.
    pub(crate) fields: BTreeMap<String, Field>,
    /// Path of a union (empty: the type itself) → tag → printed type of that member.
    pub(crate) unions: BTreeMap<String, BTreeMap<String, String>>,
    /// Path of an enum (empty: the type itself) → its values.
    pub(crate) enums: BTreeMap<String, BTreeSet<String>>,
    /// Named types that this one refers to.
    pub(crate) refers: BTreeSet<String>,
    /// Of these, what each member of the type itself refers to, when it is a union.
    pub(crate) member_refers: BTreeMap<String, BTreeSet<String>>,
    /// The schema as it was, to notice changes that the rest of the shape does not show. Operations have none: the
    /// two halves of one would show each other's prose.
    pub(crate) raw: Value,
}

/// One field of a type.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// Its type, printed.
    pub(crate) is: String,
    /// Whether the schema promises it.
    pub(crate) required: bool,
}

impl Model {
    /// Adds every type of `document`, its name starting with `prefix`.
    pub(crate) fn add(&mut self, prefix: &str, document: &Value) {
        self.types.extend(reader::shapes(prefix, document));
    }

    /// The requests of all operations, with what they refer to: what is sent, where no scope says more.
    pub(crate) fn requests(&self) -> BTreeSet<String> {
        let requests = self.types.keys().filter(|name| name.ends_with(reader::REQUEST)).cloned();
        self.reached(requests, |_, _| true)
    }

    /// The `roots` and everything that they refer to, through those union members that `takes` (type, tag) takes.
    pub(crate) fn reached(
        &self,
        roots: impl IntoIterator<Item = String>,
        takes: impl Fn(&str, &str) -> bool,
    ) -> BTreeSet<String> {
        let mut pending: Vec<String> = roots.into_iter().collect();
        let mut reached = BTreeSet::new();
        while let Some(name) = pending.pop() {
            let Some(shape) = self.types.get(&name) else {
                reached.insert(name);
                continue;
            };
            if reached.contains(&name) {
                continue;
            }
            let outside = shape.member_refers.iter().filter(|(tag, _)| !takes(&name, tag));
            let outside: BTreeSet<_> = outside.flat_map(|(_, refers)| refers).collect();
            let inside = shape.member_refers.iter().filter(|(tag, _)| takes(&name, tag));
            pending.extend(inside.flat_map(|(_, refers)| refers).cloned());
            pending.extend(shape.refers.iter().filter(|name| !outside.contains(name)).cloned());
            reached.insert(name);
        }
        reached
    }

    /// The union members (type of the union, tag) through which a value of type `name` is met, nearest first.
    pub(crate) fn members_with(&self, name: &str) -> Vec<(&str, &str)> {
        let mut level = BTreeSet::from([name]);
        let mut seen = level.clone();
        while !level.is_empty() {
            let found: Vec<_> = level.iter().flat_map(|inner| self.direct_members(inner)).collect();
            if !found.is_empty() {
                return found;
            }
            let users = self.types.iter().filter(|(_, shape)| level.iter().any(|inner| shape.refers.contains(*inner)));
            level = users.map(|(user, _)| user.as_str()).filter(|user| seen.insert(user)).collect();
        }
        Vec::new()
    }

    /// The union members that are of type `name`, or that have a field of type `name` written in place.
    fn direct_members(&self, name: &str) -> Vec<(&str, &str)> {
        let mut found = Vec::new();
        for (union, shape) in &self.types {
            for (path, members) in &shape.unions {
                for (tag, is) in members {
                    let inside = format!("{path}<{tag}>");
                    let mut fields = shape.fields.iter().filter(|(at, _)| at.starts_with(&inside));
                    if is == name || fields.any(|(_, field)| field.is == name) {
                        found.push((union.as_str(), tag.as_str()));
                    }
                }
            }
        }
        found
    }
}
