//! Steps after all types are lowered: required ids, needed and expected fields, short forms, and name checks.

use std::collections::BTreeSet;

use super::names::unique_name;
use crate::document::Document;
use crate::error::{Error, Result};
use crate::model::{Definition, Field, JsonKind, Kind, KindVariant, Model, Type};
use crate::name::to_pascal_case;
use crate::settings::Settings;

/// Rejects a type whose name the renderer uses for a type that it adds.
pub(super) fn reject_reserved_names(document: &Document, model: &Model) -> Result<()> {
    let envelope_name = |name: &String| format!("{name}Envelope");
    let has_envelope = |kind: &Kind| matches!(kind, Kind::Adjacent(union) if !union.siblings.is_empty());
    let envelopes = model.types.iter().filter(|(_, definition)| has_envelope(&definition.kind));
    let responses = (!model.responses.is_empty()).then(|| "Response".to_owned());
    let http = model.http.iter().map(|request| request.name.clone());
    let mut reserved = envelopes.map(|(name, _)| envelope_name(name)).chain(responses).chain(http);
    match reserved.find(|name| model.types.contains_key(name)) {
        None => Ok(()),
        Some(name) => {
            let problem = format!("the schema has a type `{name}`, but the generator adds a type with this name");
            Err(document.error("", problem, "rename the schema's type with `names` in source.toml"))
        }
    }
}

/// Makes the fields in `ids` required.
pub(super) fn require_ids(document: &Document, settings: &Settings, model: &mut Model) -> Result<()> {
    for id in &settings.ids {
        let is_adjacent = owner(id).is_some_and(|owner| is_adjacent(model, owner));
        let mut found = false;
        for field in named_fields(model, id) {
            if !field.declared_required {
                continue;
            }
            if !is_adjacent && field.ty != Type::String {
                let problem = format!("`{id}` in `ids` is a {}", field.ty.to_rust());
                return Err(document.error("", problem, "only strings can be ids; correct `ids` in source.toml"));
            }
            field.required = true;
            found = true;
        }
        if !found {
            return Err(no_such_field(document, id, "ids"));
        }
    }
    Ok(())
}

/// Marks the fields in `needed` and `expected`.
pub(super) fn mark_fields(document: &Document, settings: &Settings, model: &mut Model) -> Result<()> {
    for name in &settings.needed {
        let mut found = false;
        for field in struct_fields(model, name) {
            field.needed = true;
            found = true;
        }
        if !found {
            return Err(no_such_field(document, name, "needed"));
        }
    }
    for name in &settings.expected {
        let (mut found, mut expected) = (false, false);
        for field in struct_fields(model, name) {
            found = true;
            field.expected = field.is_always_present() && !field.needed && !field.required;
            expected |= field.expected;
        }
        if !found {
            return Err(no_such_field(document, name, "expected"));
        }
        if !expected {
            let problem = format!("`{name}` in `expected` is already needed, or the schema lets it be missing or null");
            return Err(document.error("", problem, "correct `expected` in source.toml"));
        }
    }
    Ok(())
}

/// The fields that a setting names, without the keys beside an adjacently tagged union.
fn struct_fields<'a>(model: &'a mut Model, name: &'a str) -> impl Iterator<Item = &'a mut Field> {
    let is_adjacent = owner(name).is_some_and(|owner| is_adjacent(model, owner));
    named_fields(model, name).filter(move |_| !is_adjacent)
}

/// Turns the lists in `short_forms` into unions of a string and the list.
pub(super) fn accept_short_forms(document: &Document, settings: &Settings, model: &mut Model) -> Result<()> {
    for name in &settings.short_forms {
        let (owner, key) = name.split_once('.').unwrap_or((name, ""));
        let union = unique_name(&format!("{owner}{}", to_pascal_case(key)), |name| model.types.contains_key(name));
        let union = settings.names.get(&union).cloned().unwrap_or(union);
        let mut list = None;
        for field in named_fields(model, name).filter(|field| matches!(field.ty, Type::List(_))) {
            list = Some(std::mem::replace(&mut field.ty, Type::Named(union.clone())));
        }
        let Some(list) = list else { return Err(no_such_field(document, name, "short_forms")) };
        let variant = |kind, ty| KindVariant { kind, ty, boxed: false };
        let kind = Kind::Kinds(vec![variant(JsonKind::String, Type::String), variant(JsonKind::Array, list)]);
        model.types.insert(union, Definition { doc: None, kind });
    }
    Ok(())
}

fn owner(name: &str) -> Option<&str> {
    name.split_once('.').map(|(owner, _)| owner)
}

fn is_adjacent(model: &Model, name: &str) -> bool {
    matches!(model.types.get(name).map(|definition| &definition.kind), Some(Kind::Adjacent(_)))
}

/// The fields that a setting names as `Type.field`: those of a struct, of each member of a union, or of the keys beside
/// an adjacently tagged union.
fn named_fields<'a>(model: &'a mut Model, name: &'a str) -> impl Iterator<Item = &'a mut Field> {
    let (owner, key) = name.split_once('.').unwrap_or((name, ""));
    let owners: BTreeSet<String> = match model.types.get(owner).map(|definition| &definition.kind) {
        Some(Kind::Struct(_) | Kind::Adjacent(_)) => BTreeSet::from([owner.to_owned()]),
        Some(Kind::Tagged(union)) => union.variants.iter().map(|variant| variant.payload.clone()).collect(),
        _ => BTreeSet::new(),
    };
    let definitions = model.types.iter_mut().filter(move |(name, _)| owners.contains(*name));
    let fields = definitions.flat_map(|(_, definition)| match &mut definition.kind {
        Kind::Struct(structure) => structure.fields.iter_mut(),
        Kind::Adjacent(union) => union.siblings.iter_mut(),
        _ => [].iter_mut(),
    });
    fields.filter(move |field| field.key == key)
}

fn no_such_field(document: &Document, name: &str, list: &str) -> Error {
    document.error("", format!("`{name}` in `{list}` is not a field"), format!("correct `{list}` in source.toml"))
}
