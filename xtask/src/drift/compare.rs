//! Compares two models and classifies the changes.
//!
//! The classes are specific to this repository:
//!
//! * **breaking**: code that relies on the old schema may no longer compile or may change its meaning. Something was
//!   removed (a type, a field, a tag, an enum value), or a field has another type. For types that are *sent*, also: a
//!   field became required, or may no longer be null.
//! * **additive**: existing code keeps working and may ignore the change. Something was added; or a field that is
//!   *received* became required, optional or nullable, which does not affect the generated types, because every field
//!   except tags and ids is an `Option` there.
//! * **cosmetic**: descriptions, titles, limits, patterns, defaults, order.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Field, Model, OR_NULL, Shape};

/// The effect of a change on this repository, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum ChangeClass {
    Breaking,
    Additive,
    Cosmetic,
}

/// One difference.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) class: ChangeClass,
    /// The changed type.
    pub(crate) type_name: String,
    /// Path in the type. Empty if the type itself changed.
    pub(crate) path: String,
    /// Description of the change.
    pub(crate) description: String,
    /// The tag of the changed union member, if a member changed.
    pub(crate) tag: Option<String>,
}

/// All changes from `old` to `new`, by type. `sent` are the types that are sent.
pub(crate) fn compare(old: &Model, new: &Model, sent: &BTreeSet<String>) -> Vec<Change> {
    let names: BTreeSet<&String> = old.types.keys().chain(new.types.keys()).collect();
    let mut changes = Vec::new();
    for name in names {
        let mut collector = ChangeCollector { type_name: name, changes: Vec::new() };
        match (old.types.get(name), new.types.get(name)) {
            (Some(_), None) => collector.push(ChangeClass::Breaking, "", "type removed"),
            (None, Some(_)) => collector.push(ChangeClass::Additive, "", "type added"),
            (Some(old), Some(new)) => collector.compare_shapes(old, new, sent.contains(name)),
            (None, None) => {}
        }
        changes.extend(collector.changes);
    }
    changes
}

/// Collects the changes of one type.
struct ChangeCollector<'a> {
    type_name: &'a str,
    changes: Vec<Change>,
}

impl ChangeCollector<'_> {
    fn push(&mut self, class: ChangeClass, path: &str, description: impl Into<String>) {
        let (type_name, path, tag) = (self.type_name.to_owned(), path.to_owned(), innermost_tag(path));
        self.changes.push(Change { class, type_name, path, description: description.into(), tag });
    }

    fn push_tag(&mut self, class: ChangeClass, path: &str, tag: &str, description: String) {
        let (type_name, path) = (self.type_name.to_owned(), path.to_owned());
        self.changes.push(Change { class, type_name, path, description, tag: Some(tag.to_owned()) });
    }

    fn compare_shapes(&mut self, old: &Shape, new: &Shape, is_sent: bool) {
        if old.printed_type != new.printed_type {
            self.compare_types("", &old.printed_type, &new.printed_type, is_sent);
        }
        self.compare_fields(old, new, is_sent);
        for (path, old, new) in in_both(&old.unions, &new.unions) {
            self.compare_tags(path, old, new);
        }
        for (path, old, new) in in_both(&old.enums, &new.enums) {
            for value in old.difference(new) {
                self.push(ChangeClass::Breaking, path, format!("enum value {value:?} removed"));
            }
            for value in new.difference(old) {
                self.push(ChangeClass::Additive, path, format!("enum value {value:?} added"));
            }
        }
        if self.changes.is_empty() && old.raw != new.raw {
            self.push(ChangeClass::Cosmetic, "", "only descriptions, limits or order changed");
        }
    }

    fn compare_fields(&mut self, old: &Shape, new: &Shape, is_sent: bool) {
        let renamed = find_renamed(old, new);
        for (path, field) in &old.fields {
            match (new.fields.get(path), renamed.get(path.as_str())) {
                (Some(new_field), _) => self.compare_field(path, field, new_field, is_sent),
                (None, Some(name)) => {
                    let printed_type = &field.printed_type;
                    let description = format!("field probably renamed to `{name}` ({printed_type})");
                    self.push(ChangeClass::Breaking, path, description);
                }
                (None, None) if !is_implied_by_parent(path, old, new) => {
                    self.push(ChangeClass::Breaking, path, format!("field removed (was {})", field.printed_type));
                }
                (None, None) => {}
            }
        }
        for (path, field) in new.fields.iter().filter(|(path, _)| !old.fields.contains_key(*path)) {
            if is_implied_by_parent(path, new, old) || renamed.values().any(|name| name == path) {
                continue;
            }
            let class = if field.required && is_sent { ChangeClass::Breaking } else { ChangeClass::Additive };
            let kind = if field.required { "required" } else { "optional" };
            self.push(class, path, format!("{kind} field added: {}", field.printed_type));
        }
    }

    fn compare_field(&mut self, path: &str, old: &Field, new: &Field, is_sent: bool) {
        if old.printed_type != new.printed_type {
            self.compare_types(path, &old.printed_type, &new.printed_type, is_sent);
        }
        match (old.required, new.required) {
            (false, true) if is_sent => {
                self.push(ChangeClass::Breaking, path, "became required in a type that is sent");
            }
            (false, true) => self.push(ChangeClass::Additive, path, "became required"),
            (true, false) => self.push(ChangeClass::Additive, path, "became optional"),
            _ => {}
        }
    }

    fn compare_types(&mut self, path: &str, old: &str, new: &str, is_sent: bool) {
        let without_null = |printed: &str| printed.strip_suffix(OR_NULL).unwrap_or(printed).to_owned();
        let is_narrowed = old.ends_with(OR_NULL) && !new.ends_with(OR_NULL);
        let class = if without_null(old) == without_null(new) && !(is_sent && is_narrowed) {
            ChangeClass::Additive
        } else {
            ChangeClass::Breaking
        };
        self.push(class, path, format!("type changed from {old} to {new}"));
    }

    fn compare_tags(&mut self, path: &str, old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) {
        for (tag, old_type) in old {
            match new.get(tag) {
                None => self.push_tag(ChangeClass::Breaking, path, tag, format!("tag {tag:?} removed")),
                Some(new_type) if new_type != old_type => {
                    self.push_tag(
                        ChangeClass::Breaking,
                        path,
                        tag,
                        format!("tag {tag:?}: type changed from {old_type} to {new_type}"),
                    );
                }
                Some(_) => {}
            }
        }
        for tag in new.keys().filter(|tag| !old.contains_key(*tag)) {
            self.push_tag(ChangeClass::Additive, path, tag, format!("tag {tag:?} added"));
        }
    }
}

/// Finds fields that were probably renamed: removed fields for which exactly one field of the same type and presence
/// was added to the same object. Maps the old path to the new one.
fn find_renamed<'a>(old: &'a Shape, new: &'a Shape) -> BTreeMap<&'a str, &'a str> {
    let only_in = |here: &'a Shape, there: &'a Shape| {
        let fields = here.fields.iter().filter(move |(path, _)| !there.fields.contains_key(*path));
        let fields = fields.filter(move |(path, _)| !is_implied_by_parent(path, here, there));
        // The status codes of an HTTP response are not names.
        fields.filter(|(path, _)| !path.ends_with(|last: char| last.is_ascii_digit())).collect::<Vec<_>>()
    };
    let (removed, added) = (only_in(old, new), only_in(new, old));
    let is_alike = |(one_at, one): &(&String, &Field), (other_at, other): &(&String, &Field)| {
        parent_path(one_at) == parent_path(other_at) && one == other
    };
    let mut renamed = BTreeMap::new();
    for field in &removed {
        let candidates: Vec<_> = added.iter().filter(|other| is_alike(field, other)).collect();
        let rivals = removed.iter().filter(|other| is_alike(field, other)).count();
        if let ([(path, _)], 1) = (candidates.as_slice(), rivals) {
            renamed.insert(field.0.as_str(), path.as_str());
        }
    }
    renamed
}

/// The path of the object that contains a field.
fn parent_path(path: &str) -> &str {
    path.rfind('.').map_or("", |end| &path[..end])
}

/// The entries that both maps have. An entry of only one map is visible as a change of the type of its field.
fn in_both<'a, T>(
    old: &'a BTreeMap<String, T>,
    new: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = (&'a str, &'a T, &'a T)> {
    old.iter().filter_map(|(path, value)| Some((path.as_str(), value, new.get(path)?)))
}

/// Whether the field at `path`, which only `here` has, is inside of something that only `here` has. Then only the outer
/// change is reported.
fn is_implied_by_parent(path: &str, here: &Shape, there: &Shape) -> bool {
    let below_field = positions(path, &['.', '<', '[', '{']).any(|end| {
        let parent = &path[..end];
        match (here.fields.get(parent), there.fields.get(parent)) {
            (Some(one), Some(other)) => one.printed_type != other.printed_type,
            (Some(_), None) => true,
            (None, _) => false,
        }
    });
    let below_tag = positions(path, &['<']).any(|start| {
        let Some(length) = path[start..].find('>') else {
            return false;
        };
        let tag = &path[start + 1..start + length];
        there.unions.get(&path[..start]).is_none_or(|members| !members.contains_key(tag))
    });
    below_field || below_tag
}

fn positions(text: &str, characters: &[char]) -> impl Iterator<Item = usize> {
    text.char_indices().filter(|(_, c)| characters.contains(c)).map(|(position, _)| position)
}

/// The innermost tag in a path: `b` in `x<a>.y<b>.z`.
fn innermost_tag(path: &str) -> Option<String> {
    let end = path.rfind('>')?;
    let start = path[..end].rfind('<')?;
    Some(path[start + 1..end].to_owned())
}
