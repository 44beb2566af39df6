//! Tagged unions: their variants, the decision tree from tags to variants, and boxing of recursive and large variants.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::lower::{Lowering, unique_name};
use crate::model::{Arm, Branch, Kind, Model, Tagged, Type, Variant};
use crate::name;
use crate::shape::{Alternative, Object};
use crate::tags::{self, Constants, Group, Split};

/// The tagged union of `members`; `None` if no key distinguishes them.
pub(crate) fn tagged_union<'a>(
    lowering: &mut Lowering<'a>,
    members: &[(Alternative<'a>, Object<'a>)],
    union: &str,
) -> Result<Option<Tagged>> {
    let mut constants = Vec::new();
    for (_, object) in members {
        let mut found = Constants::new();
        for key in &object.required {
            if let Some(values) = lowering.constant_values(object, key)? {
                found.insert(*key, values);
            }
        }
        constants.push(found);
    }
    let all_members: Vec<usize> = (0..members.len()).collect();
    let Some(split) = tags::split(&all_members, &constants, &[]) else { return Ok(None) };
    let mut tags_of_groups = BTreeMap::new();
    collect_groups(&split, "", &mut tags_of_groups);
    let mut variants: Vec<Variant> = Vec::new();
    let mut variant_indexes = BTreeMap::new();
    // Groups are sorted by their first member, so that the variants are in the order of the schema.
    for (group, tags) in tags_of_groups {
        let name = variant_name(lowering, members, &group, &tags);
        let name = unique_name(&name, |name| name == "Unknown" || variants.iter().any(|variant| variant.name == name));
        let payload = payload(lowering, members, &group, &name, union)?;
        variant_indexes.insert(group, variants.len());
        variants.push(Variant { name, payload, boxed: false, tags });
    }
    Ok(Some(Tagged { tree: decision_tree(&split, &variant_indexes), variants }))
}

/// Collects all groups of members, each with its tags. `prefix` is the tag so far.
fn collect_groups(split: &Split<'_>, prefix: &str, groups: &mut BTreeMap<Vec<usize>, Vec<String>>) {
    for (value, group) in &split.groups {
        let tag = if prefix.is_empty() { (*value).to_owned() } else { format!("{prefix}/{value}") };
        match group {
            Group::Members(members) => groups.entry(members.clone()).or_default().push(tag),
            Group::Split(further) => collect_groups(further, &tag, groups),
        }
    }
}

fn decision_tree(split: &Split<'_>, variant_indexes: &BTreeMap<Vec<usize>, usize>) -> Branch {
    let arm = |group: &Group<'_>| match group {
        Group::Members(members) => Arm::Variant(variant_indexes[members]),
        Group::Split(further) => Arm::Branch(decision_tree(further, variant_indexes)),
    };
    let arms = split.groups.iter().map(|(value, group)| ((*value).to_owned(), arm(group))).collect();
    Branch { key: split.key.to_owned(), arms }
}

fn variant_name(
    lowering: &Lowering<'_>,
    members: &[(Alternative<'_>, Object<'_>)],
    group: &[usize],
    tags: &[String],
) -> String {
    let tags: Vec<&str> = tags.iter().map(String::as_str).collect();
    let common = name::common_words(&tags);
    match group {
        _ if !common.is_empty() => name::to_pascal_case(&common),
        [member, ..] if members[*member].0.origin.is_some() => {
            lowering.definition_name(members[*member].0.origin.as_deref().unwrap_or_default())
        }
        _ => name::to_pascal_case(tags.first().copied().unwrap_or_default()),
    }
}

/// The struct of a variant: the definition of its member, or a new struct if there is none or several members are merged.
fn payload<'a>(
    lowering: &mut Lowering<'a>,
    members: &[(Alternative<'a>, Object<'a>)],
    group: &[usize],
    variant: &str,
    union: &str,
) -> Result<String> {
    if let [only] = group {
        let (member, object) = &members[*only];
        if let Some(definition) = &member.origin
            && let Type::Named(name) = lowering.definition(definition)?
        {
            return Ok(name);
        }
        let titled = member.title.map(name::to_pascal_case).filter(|title| lowering.unique_type_name(title) == *title);
        let name = titled.unwrap_or_else(|| lowering.unique_type_name(&format!("{variant}{union}")));
        lowering.reserve(&name);
        let structure = lowering.structure(object, &name)?;
        let doc = lowering.doc(member.doc);
        lowering.define(&name, Kind::Struct(structure), doc);
        return Ok(name);
    }
    let merged = group.iter().map(|member| members[*member].1.clone()).reduce(Object::or).unwrap_or_default();
    let name = lowering.unique_type_name(&format!("{variant}{union}"));
    lowering.reserve(&name);
    let structure = lowering.structure(&merged, &name)?;
    lowering.define(&name, Kind::Struct(structure), None);
    Ok(name)
}

/// Turns the tag of a variant's struct from a field into [`Struct::tag`](crate::Struct::tag), if it has a single value.
pub(crate) fn extract_tags(model: &mut Model) {
    let mut struct_tags: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
    for definition in model.types.values() {
        let Kind::Tagged(union) = &definition.kind else { continue };
        for variant in &union.variants {
            let values = variant.tags.iter().map(|tag| first_value(tag, &union.tree)).collect::<BTreeSet<_>>();
            let struct_tag =
                struct_tags.entry(variant.payload.clone()).or_insert_with(|| (union.tree.key.clone(), values.clone()));
            if struct_tag.0 == union.tree.key {
                struct_tag.1.extend(values);
            }
        }
    }
    for (name, (key, values)) in struct_tags {
        let Some(Kind::Struct(structure)) = model.types.get_mut(&name).map(|definition| &mut definition.kind) else {
            continue;
        };
        if values.len() == 1 && structure.tag.is_none() {
            structure.fields.retain(|field| field.key != key);
            structure.tag = values.into_iter().next().map(|value| (key, value));
        }
    }
    remove_unreachable(model);
}

/// The value of the first key in a joined tag. Values may contain `/`, so the decision tree is used.
fn first_value(tag: &str, tree: &Branch) -> String {
    let is_first = |value: &&String| {
        tag.strip_prefix(value.as_str()).is_some_and(|rest| match &tree.arms[*value] {
            Arm::Variant(_) => rest.is_empty(),
            Arm::Branch(_) => rest.starts_with('/'),
        })
    };
    tree.arms.keys().find(is_first).cloned().unwrap_or_else(|| tag.to_owned())
}

/// Removes types that are no longer reachable, because only a tag field used them.
fn remove_unreachable(model: &mut Model) {
    let mut reachable = BTreeSet::new();
    let mut pending: Vec<String> = model.roots.clone();
    pending.extend(model.responses.values().filter_map(|ty| ty.named().map(str::to_owned)));
    pending.extend(model.http.iter().filter_map(|request| request.query.clone()));
    while let Some(name) = pending.pop() {
        if reachable.insert(name.clone())
            && let Some(definition) = model.types.get(&name)
        {
            pending.extend(definition.kind.contained_types(|_| true).into_iter().map(str::to_owned));
        }
    }
    model.types.retain(|name, _| reachable.contains(name));
}

/// Maximum size of a variant that is not boxed. Every value of a union is as large as its largest variant.
const MAX_INLINE_BYTES: usize = 256;
const POINTER_BYTES: usize = 8;

/// Boxes the variants through which a union contains itself, and very large variants. typify boxes structs that contain
/// themselves.
pub(crate) fn box_variants(model: &mut Model) {
    let sizes = estimate_sizes(model);
    let inline_types: BTreeMap<String, BTreeSet<String>> =
        model.types.iter().map(|(name, definition)| (name.clone(), inline_types_of(&definition.kind))).collect();
    for (name, definition) in &mut model.types {
        match &mut definition.kind {
            Kind::Tagged(union) => {
                for variant in &mut union.variants {
                    variant.boxed =
                        sizes[&variant.payload] > MAX_INLINE_BYTES || contains(&inline_types, &variant.payload, name);
                }
            }
            Kind::Adjacent(union) => {
                for variant in &mut union.variants {
                    let size = variant.payload.as_ref().and_then(Type::inline_type).map_or(0, |payload| sizes[payload]);
                    variant.boxed = size > MAX_INLINE_BYTES;
                }
            }
            Kind::Kinds(variants) => {
                for variant in variants {
                    variant.boxed =
                        variant.ty.inline_type().is_some_and(|payload| contains(&inline_types, payload, name));
                }
            }
            _ => {}
        }
    }
}

/// Returns a function that tells whether a type is so large that it is boxed in a union.
pub(crate) fn is_large_type(model: &Model) -> impl Fn(&Type) -> bool {
    let sizes = estimate_sizes(model);
    move |ty| ty.inline_type().and_then(|name| sizes.get(name)).is_some_and(|size| *size > MAX_INLINE_BYTES)
}

/// Estimated size of each type in bytes. Large variants count as boxed.
fn estimate_sizes(model: &Model) -> BTreeMap<String, usize> {
    let mut known = BTreeMap::new();
    for name in model.types.keys() {
        estimate_size(name, model, &mut known);
    }
    known
}

fn estimate_size(name: &str, model: &Model, known: &mut BTreeMap<String, usize>) -> usize {
    if let Some(size) = known.get(name) {
        return *size;
    }
    // A type that contains itself is behind a pointer.
    known.insert(name.to_owned(), POINTER_BYTES);
    let mut size_of = |ty: &Type, model: &Model| match ty {
        Type::Boolean => 1,
        Type::Any | Type::Integer | Type::Unsigned | Type::Number => 2 * POINTER_BYTES,
        Type::String | Type::List(_) | Type::Map(_) => 3 * POINTER_BYTES,
        Type::Nullable(_) | Type::Named(_) => {
            ty.inline_type().map_or(3 * POINTER_BYTES, |name| estimate_size(name, model, known))
        }
    };
    let size = match model.types.get(name).map(|definition| &definition.kind) {
        None => 0,
        Some(Kind::Struct(structure)) => structure.fields.iter().map(|field| size_of(&field.ty, model)).sum(),
        Some(Kind::Enum(_)) => 3 * POINTER_BYTES,
        Some(Kind::Tagged(union)) => {
            let payload = |variant: &Variant| Type::Named(variant.payload.clone());
            let inline = union.variants.iter().map(|variant| size_of(&payload(variant), model));
            let inline = inline.filter(|size| *size <= MAX_INLINE_BYTES);
            inline.max().unwrap_or_default().max(5 * POINTER_BYTES)
        }
        Some(Kind::Adjacent(union)) => union
            .variants
            .iter()
            .filter_map(|variant| variant.payload.as_ref())
            .map(|ty| size_of(ty, model))
            .max()
            .unwrap_or(0),
        Some(Kind::Kinds(variants)) => {
            variants.iter().map(|variant| size_of(&variant.ty, model)).max().unwrap_or(0) + POINTER_BYTES
        }
    };
    known.insert(name.to_owned(), size);
    size
}

/// The named types that a type stores inline.
fn inline_types_of(kind: &Kind) -> BTreeSet<String> {
    let names: Vec<&str> = match kind {
        Kind::Struct(structure) => structure.fields.iter().filter_map(|field| field.ty.inline_type()).collect(),
        Kind::Enum(_) => Vec::new(),
        Kind::Tagged(union) => union.variants.iter().map(|variant| variant.payload.as_str()).collect(),
        Kind::Adjacent(union) => {
            union.variants.iter().filter_map(|variant| variant.payload.as_ref()).filter_map(Type::inline_type).collect()
        }
        Kind::Kinds(variants) => variants.iter().filter_map(|variant| variant.ty.inline_type()).collect(),
    };
    names.into_iter().map(str::to_owned).collect()
}

/// Whether the type `outer` contains `inner` inline, directly or indirectly.
fn contains(inline_types: &BTreeMap<String, BTreeSet<String>>, outer: &str, inner: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut pending = vec![outer];
    while let Some(name) = pending.pop() {
        if name == inner {
            return true;
        }
        if seen.insert(name)
            && let Some(names) = inline_types.get(name)
        {
            pending.extend(names.iter().map(String::as_str));
        }
    }
    false
}
