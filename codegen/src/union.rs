//! Tagged unions: their variants, the way from a tag to a variant, and what recursion asks for.

use std::collections::{BTreeMap, BTreeSet};

use crate::error::Result;
use crate::lower::{Lowering, unique_name};
use crate::model::{Arm, Branch, Kind, Model, Tagged, Type, Variant};
use crate::name;
use crate::shape::{Alternative, Object};
use crate::tags::{self, Constants, Group, Split};

/// The tagged union that `members` make, or `None` where nothing tells them apart.
pub(crate) fn tagged<'a>(
    lowering: &mut Lowering<'a>,
    members: &[(Alternative<'a>, Object<'a>)],
    union: &str,
) -> Result<Option<Tagged>> {
    let mut constants = Vec::new();
    for (_, object) in members {
        let mut found = Constants::new();
        for key in &object.required {
            if let Some(values) = lowering.constant(object, key)? {
                found.insert(*key, values);
            }
        }
        constants.push(found);
    }
    let everyone: Vec<usize> = (0..members.len()).collect();
    let Some(split) = tags::split(&everyone, &constants, &[]) else { return Ok(None) };
    let mut places = BTreeMap::new();
    collect(&split, "", &mut places);
    let mut variants: Vec<Variant> = Vec::new();
    let mut index_of = BTreeMap::new();
    // Variants in the order of the schema: by the first member each stands for.
    for (group, tags) in places {
        let name = variant_name(lowering, members, &group, &tags);
        let name =
            unique_name(&name, |taken| taken == "Unknown" || variants.iter().any(|variant| variant.name == taken));
        let payload = payload(lowering, members, &group, &name, union)?;
        index_of.insert(group, variants.len());
        variants.push(Variant { name, payload, boxed: false, tags });
    }
    Ok(Some(Tagged { tree: branch(&split, &index_of), variants }))
}

/// Every group of members that belong together, with the tags that lead to it.
fn collect(split: &Split<'_>, before: &str, places: &mut BTreeMap<Vec<usize>, Vec<String>>) {
    for (value, group) in &split.groups {
        let tag = if before.is_empty() { (*value).to_owned() } else { format!("{before}/{value}") };
        match group {
            Group::Same(members) => places.entry(members.clone()).or_default().push(tag),
            Group::Split(further) => collect(further, &tag, places),
        }
    }
}

fn branch(split: &Split<'_>, index_of: &BTreeMap<Vec<usize>, usize>) -> Branch {
    let arm = |group: &Group<'_>| match group {
        Group::Same(members) => Arm::Variant(index_of[members]),
        Group::Split(further) => Arm::Branch(branch(further, index_of)),
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
    let shared = name::shared_words(&tags);
    match group {
        _ if !shared.is_empty() => name::pascal(&shared),
        [member, ..] if members[*member].0.origin.is_some() => {
            lowering.name_of(members[*member].0.origin.as_deref().unwrap_or_default())
        }
        _ => name::pascal(tags.first().copied().unwrap_or_default()),
    }
}

/// The struct of a variant: the member's own definition, or a new one where it has none or several became one.
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
        let titled = member.title.map(name::pascal).filter(|title| lowering.free_name(title) == *title);
        let name = titled.unwrap_or_else(|| lowering.free_name(&format!("{variant}{union}")));
        lowering.reserve(&name);
        let structure = lowering.structure(object, &name)?;
        let doc = lowering.doc(member.doc);
        lowering.define(&name, Kind::Struct(structure), doc);
        return Ok(name);
    }
    let merged = group.iter().map(|member| members[*member].1.clone()).reduce(Object::or).unwrap_or_default();
    let name = lowering.free_name(&format!("{variant}{union}"));
    lowering.reserve(&name);
    let structure = lowering.structure(&merged, &name)?;
    lowering.define(&name, Kind::Struct(structure), None);
    Ok(name)
}

/// Turns the tag that leads to a struct from a field into the struct's own mark, where it can have only one value.
pub(crate) fn take_tags_out(model: &mut Model) {
    let mut marks: BTreeMap<String, (String, BTreeSet<String>)> = BTreeMap::new();
    for definition in model.types.values() {
        let Kind::Tagged(union) = &definition.kind else { continue };
        for variant in &union.variants {
            let values = variant.tags.iter().map(|tag| first_part(tag, &union.tree)).collect::<BTreeSet<_>>();
            let mark = marks.entry(variant.payload.clone()).or_insert_with(|| (union.tree.key.clone(), values.clone()));
            if mark.0 == union.tree.key {
                mark.1.extend(values);
            }
        }
    }
    for (name, (key, values)) in marks {
        let Some(Kind::Struct(structure)) = model.types.get_mut(&name).map(|definition| &mut definition.kind) else {
            continue;
        };
        if values.len() == 1 && structure.tag.is_none() {
            structure.fields.retain(|field| field.key != key);
            structure.tag = values.into_iter().next().map(|value| (key, value));
        }
    }
    drop_unreached(model);
}

/// The value of the first key in a joined tag. Values may contain the joint themselves, so the tree decides.
fn first_part(tag: &str, tree: &Branch) -> String {
    let is_first = |value: &&String| {
        tag.strip_prefix(value.as_str()).is_some_and(|rest| match &tree.arms[*value] {
            Arm::Variant(_) => rest.is_empty(),
            Arm::Branch(_) => rest.starts_with('/'),
        })
    };
    tree.arms.keys().find(is_first).cloned().unwrap_or_else(|| tag.to_owned())
}

/// Removes types that only a tag field used.
fn drop_unreached(model: &mut Model) {
    let mut reached = BTreeSet::new();
    let mut waiting: Vec<String> = model.roots.clone();
    waiting.extend(model.responses.values().filter_map(|ty| ty.named().map(str::to_owned)));
    waiting.extend(model.http.iter().filter_map(|request| request.query.clone()));
    while let Some(name) = waiting.pop() {
        if reached.insert(name.clone())
            && let Some(definition) = model.types.get(&name)
        {
            waiting.extend(definition.kind.contents(|_| true).into_iter().map(str::to_owned));
        }
    }
    model.types.retain(|name, _| reached.contains(name));
}

/// A variant whose struct is wider than this is boxed: the union would carry its width everywhere.
const WIDEST: usize = 256;
const POINTER: usize = 8;

/// Boxes the variants through which a union would contain itself, and the very wide ones. Structs that contain
/// themselves are typify's part.
pub(crate) fn box_variants(model: &mut Model) {
    let widths = widths(model);
    let holds: BTreeMap<String, BTreeSet<String>> =
        model.types.iter().map(|(name, definition)| (name.clone(), held_by(&definition.kind))).collect();
    for (name, definition) in &mut model.types {
        match &mut definition.kind {
            Kind::Tagged(union) => {
                for variant in &mut union.variants {
                    variant.boxed = widths[&variant.payload] > WIDEST || reaches(&holds, &variant.payload, name);
                }
            }
            Kind::Adjacent(union) => {
                for variant in &mut union.variants {
                    let width = variant.payload.as_ref().and_then(Type::held).map_or(0, |payload| widths[payload]);
                    variant.boxed = width > WIDEST;
                }
            }
            Kind::Kinds(variants) => {
                for variant in variants {
                    variant.boxed = variant.ty.held().is_some_and(|payload| reaches(&holds, payload, name));
                }
            }
            _ => {}
        }
    }
}

/// Whether a type is too wide for a union, by the type.
pub(crate) fn wide_types(model: &Model) -> impl Fn(&Type) -> bool {
    let widths = widths(model);
    move |ty| ty.held().and_then(|name| widths.get(name)).is_some_and(|width| *width > WIDEST)
}

/// About how many bytes each type takes, wide variants counted as boxed.
fn widths(model: &Model) -> BTreeMap<String, usize> {
    let mut known = BTreeMap::new();
    for name in model.types.keys() {
        width_of(name, model, &mut known);
    }
    known
}

fn width_of(name: &str, model: &Model, known: &mut BTreeMap<String, usize>) -> usize {
    if let Some(width) = known.get(name) {
        return *width;
    }
    // A type inside itself is behind a pointer.
    known.insert(name.to_owned(), POINTER);
    let mut of = |ty: &Type, model: &Model| match ty {
        Type::Boolean => 1,
        Type::Any | Type::Integer | Type::Unsigned | Type::Number => 2 * POINTER,
        Type::String | Type::List(_) | Type::Map(_) => 3 * POINTER,
        Type::Nullable(_) | Type::Named(_) => ty.held().map_or(3 * POINTER, |held| width_of(held, model, known)),
    };
    let width = match model.types.get(name).map(|definition| &definition.kind) {
        None => 0,
        Some(Kind::Struct(structure)) => structure.fields.iter().map(|field| of(&field.ty, model)).sum(),
        Some(Kind::Enum(_)) => 3 * POINTER,
        Some(Kind::Tagged(union)) => {
            let payload = |variant: &Variant| Type::Named(variant.payload.clone());
            let narrow =
                union.variants.iter().map(|variant| of(&payload(variant), model)).filter(|width| *width <= WIDEST);
            narrow.max().unwrap_or_default().max(5 * POINTER)
        }
        Some(Kind::Adjacent(union)) => union
            .variants
            .iter()
            .filter_map(|variant| variant.payload.as_ref())
            .map(|ty| of(ty, model))
            .max()
            .unwrap_or(0),
        Some(Kind::Kinds(variants)) => {
            variants.iter().map(|variant| of(&variant.ty, model)).max().unwrap_or(0) + POINTER
        }
    };
    known.insert(name.to_owned(), width);
    width
}

fn held_by(kind: &Kind) -> BTreeSet<String> {
    let held: Vec<&str> = match kind {
        Kind::Struct(structure) => structure.fields.iter().filter_map(|field| field.ty.held()).collect(),
        Kind::Enum(_) => Vec::new(),
        Kind::Tagged(union) => union.variants.iter().map(|variant| variant.payload.as_str()).collect(),
        Kind::Adjacent(union) => {
            union.variants.iter().filter_map(|variant| variant.payload.as_ref()).filter_map(Type::held).collect()
        }
        Kind::Kinds(variants) => variants.iter().filter_map(|variant| variant.ty.held()).collect(),
    };
    held.into_iter().map(str::to_owned).collect()
}

fn reaches(holds: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(name) = waiting.pop() {
        if name == to {
            return true;
        }
        if seen.insert(name)
            && let Some(held) = holds.get(name)
        {
            waiting.extend(held.iter().map(String::as_str));
        }
    }
    false
}
