//! What changed between two models, and how bad that is.
//!
//! The classes are those of this repository, not of JSON Schema in general:
//!
//! * **breaking**: code here that relied on the old schema may no longer compile or no longer mean the same. Something
//!   is gone (a type, a field, a tag, an enum value), or a field holds something else than before. For types that *we
//!   write*, also: a field became required, or may no longer be null.
//! * **additive**: old code keeps working and may ignore it. Something is new; or a field that we *read* became
//!   required, optional or nullable, which the generated types do not notice, because every field but the tag and
//!   the ids is an `Option` there.
//! * **cosmetic**: descriptions, titles, limits, patterns, defaults, order.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Field, Model, OR_NULL, Shape};

/// How much a change matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Class {
    Breaking,
    Additive,
    Cosmetic,
}

/// One difference.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) class: Class,
    /// The type that has it.
    pub(crate) of: String,
    /// The path below that type; empty when it is the type itself.
    pub(crate) at: String,
    /// What is different.
    pub(crate) what: String,
    /// The tag that it is about, when it is about one.
    pub(crate) tag: Option<String>,
}

/// Every difference between `old` and `new`, by type. `written` are the types that we write.
pub(crate) fn compare(old: &Model, new: &Model, written: &BTreeSet<String>) -> Vec<Change> {
    let names: BTreeSet<&String> = old.types.keys().chain(new.types.keys()).collect();
    let mut changes = Vec::new();
    for name in names {
        let mut of_type = Changes { of: name, found: Vec::new() };
        match (old.types.get(name), new.types.get(name)) {
            (Some(_), None) => of_type.push(Class::Breaking, "", "type removed"),
            (None, Some(_)) => of_type.push(Class::Additive, "", "type added"),
            (Some(old), Some(new)) => of_type.shapes(old, new, written.contains(name)),
            (None, None) => {}
        }
        changes.extend(of_type.found);
    }
    changes
}

struct Changes<'a> {
    of: &'a str,
    found: Vec<Change>,
}

impl Changes<'_> {
    fn push(&mut self, class: Class, at: &str, what: impl Into<String>) {
        let (of, what, tag) = (self.of.to_owned(), what.into(), tag_in(at));
        self.found.push(Change { class, of, at: at.to_owned(), what, tag });
    }

    fn push_tag(&mut self, class: Class, at: &str, tag: &str, what: String) {
        let (of, at) = (self.of.to_owned(), at.to_owned());
        self.found.push(Change { class, of, at, what, tag: Some(tag.to_owned()) });
    }

    fn shapes(&mut self, old: &Shape, new: &Shape, written: bool) {
        if old.is != new.is {
            self.types("", &old.is, &new.is, written);
        }
        self.fields(old, new, written);
        for (at, old, new) in in_both(&old.unions, &new.unions) {
            self.tags(at, old, new);
        }
        for (at, old, new) in in_both(&old.enums, &new.enums) {
            for value in old.difference(new) {
                self.push(Class::Breaking, at, format!("enum value {value:?} removed"));
            }
            for value in new.difference(old) {
                self.push(Class::Additive, at, format!("enum value {value:?} added"));
            }
        }
        if self.found.is_empty() && old.raw != new.raw {
            self.push(Class::Cosmetic, "", "descriptions, limits or order only");
        }
    }

    fn fields(&mut self, old: &Shape, new: &Shape, written: bool) {
        let renamed = renamed(old, new);
        for (at, field) in &old.fields {
            match new.fields.get(at) {
                None if let Some(name) = renamed.get(at.as_str()) => {
                    self.push(Class::Breaking, at, format!("field probably renamed to `{name}` ({})", field.is));
                }
                None if !comes_with_its_parent(at, old, new) => {
                    self.push(Class::Breaking, at, format!("field removed (was {})", field.is));
                }
                None => {}
                Some(now) => self.field(at, field, now, written),
            }
        }
        for (at, field) in new.fields.iter().filter(|(at, _)| !old.fields.contains_key(*at)) {
            if comes_with_its_parent(at, new, old) || renamed.values().any(|name| name == at) {
                continue;
            }
            let class = if field.required && written { Class::Breaking } else { Class::Additive };
            let kind = if field.required { "required" } else { "optional" };
            self.push(class, at, format!("{kind} field added: {}", field.is));
        }
    }

    fn field(&mut self, at: &str, old: &Field, new: &Field, written: bool) {
        if old.is != new.is {
            self.types(at, &old.is, &new.is, written);
        }
        match (old.required, new.required) {
            (false, true) if written => {
                self.push(Class::Breaking, at, "became required, and we write it");
            }
            (false, true) => self.push(Class::Additive, at, "became required"),
            (true, false) => self.push(Class::Additive, at, "became optional"),
            _ => {}
        }
    }

    fn types(&mut self, at: &str, old: &str, new: &str, written: bool) {
        let without_null = |is: &str| is.strip_suffix(OR_NULL).unwrap_or(is).to_owned();
        let narrowed = old.ends_with(OR_NULL) && !new.ends_with(OR_NULL);
        let class = if without_null(old) == without_null(new) && !(written && narrowed) {
            Class::Additive
        } else {
            Class::Breaking
        };
        self.push(class, at, format!("was {old}, is {new}"));
    }

    fn tags(&mut self, at: &str, old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) {
        for (tag, is) in old {
            match new.get(tag) {
                None => self.push_tag(Class::Breaking, at, tag, format!("tag {tag:?} removed")),
                Some(now) if now != is => {
                    self.push_tag(Class::Breaking, at, tag, format!("tag {tag:?} was {is}, is {now}"));
                }
                Some(_) => {}
            }
        }
        for tag in new.keys().filter(|tag| !old.contains_key(*tag)) {
            self.push_tag(Class::Additive, at, tag, format!("tag {tag:?} added"));
        }
    }
}

/// Fields that are gone where exactly one field of the same type and presence has come in the same object, with the path
/// of that one.
fn renamed<'a>(old: &'a Shape, new: &'a Shape) -> BTreeMap<&'a str, &'a str> {
    let only_in = |here: &'a Shape, there: &'a Shape| {
        let fields = here.fields.iter().filter(move |(at, _)| !there.fields.contains_key(*at));
        let fields = fields.filter(move |(at, _)| !comes_with_its_parent(at, here, there));
        // The statuses of an HTTP answer are no names.
        fields.filter(|(at, _)| !at.ends_with(|last: char| last.is_ascii_digit())).collect::<Vec<_>>()
    };
    let (gone, come) = (only_in(old, new), only_in(new, old));
    let is_alike = |(one_at, one): &(&String, &Field), (other_at, other): &(&String, &Field)| {
        parent(one_at) == parent(other_at) && one == other
    };
    let mut renamed = BTreeMap::new();
    for field in &gone {
        let candidates: Vec<_> = come.iter().filter(|other| is_alike(field, other)).collect();
        let rivals = gone.iter().filter(|other| is_alike(field, other)).count();
        if let ([(at, _)], 1) = (candidates.as_slice(), rivals) {
            renamed.insert(field.0.as_str(), at.as_str());
        }
    }
    renamed
}

/// The path of the object that a field is in.
fn parent(at: &str) -> &str {
    at.rfind('.').map_or("", |end| &at[..end])
}

/// The entries that both maps have. What only one has shows in the type of the field that holds it.
fn in_both<'a, T>(
    old: &'a BTreeMap<String, T>,
    new: &'a BTreeMap<String, T>,
) -> impl Iterator<Item = (&'a str, &'a T, &'a T)> {
    old.iter().filter_map(|(at, value)| Some((at.as_str(), value, new.get(at)?)))
}

/// Whether the field at `at`, which only `here` has, lies below something that only `here` has: then that is the news.
fn comes_with_its_parent(at: &str, here: &Shape, there: &Shape) -> bool {
    let below_field = positions(at, &['.', '<', '[', '{']).any(|end| {
        let parent = &at[..end];
        match (here.fields.get(parent), there.fields.get(parent)) {
            (Some(one), Some(other)) => one.is != other.is,
            (Some(_), None) => true,
            (None, _) => false,
        }
    });
    let below_tag = positions(at, &['<']).any(|start| {
        let Some(length) = at[start..].find('>') else {
            return false;
        };
        let tag = &at[start + 1..start + length];
        there.unions.get(&at[..start]).is_none_or(|members| !members.contains_key(tag))
    });
    below_field || below_tag
}

fn positions(text: &str, of: &[char]) -> impl Iterator<Item = usize> {
    text.char_indices().filter(|(_, c)| of.contains(c)).map(|(position, _)| position)
}

/// The innermost tag in a path: `b` of `x<a>.y<b>.z`.
fn tag_in(at: &str) -> Option<String> {
    let end = at.rfind('>')?;
    let start = at[..end].rfind('<')?;
    Some(at[start + 1..end].to_owned())
}
