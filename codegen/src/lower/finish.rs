//! What is done when all types are known.

use crate::document::Document;
use crate::error::Result;
use crate::model::{Kind, Model, Type};
use crate::settings::Settings;

/// Refuses a type under a name that generated code gives to something of its own.
pub(super) fn refuse_taken_names(document: &Document, model: &Model) -> Result<()> {
    let envelope = |name: &String| format!("{name}Envelope");
    let has_envelope = |kind: &Kind| matches!(kind, Kind::Adjacent(union) if !union.siblings.is_empty());
    let envelopes = model.types.iter().filter(|(_, definition)| has_envelope(&definition.kind));
    let responses = (!model.responses.is_empty()).then(|| "Response".to_owned());
    let mut own = envelopes.map(|(name, _)| envelope(name)).chain(responses);
    match own.find(|name| model.types.contains_key(name)) {
        None => Ok(()),
        Some(name) => {
            let problem = format!("a type is called `{name}`, which is the name of a type that is always generated");
            Err(document.error("", problem, "give it another name with `names` in source.toml"))
        }
    }
}

/// Makes the fields that `ids` names required.
pub(super) fn require_ids(document: &Document, settings: &Settings, model: &mut Model) -> Result<()> {
    for id in &settings.ids {
        let nothing = || document.error("", format!("`{id}` in `ids` names no field"), "correct `ids` in source.toml");
        let (owner, key) = id.split_once('.').ok_or_else(nothing)?;
        let owners: Vec<String> = match model.types.get(owner).map(|definition| &definition.kind) {
            Some(Kind::Struct(_) | Kind::Adjacent(_)) => vec![owner.to_owned()],
            Some(Kind::Tagged(union)) => union.variants.iter().map(|variant| variant.payload.clone()).collect(),
            _ => return Err(nothing()),
        };
        let is_adjacent = matches!(model.types.get(owner).map(|definition| &definition.kind), Some(Kind::Adjacent(_)));
        let mut found = false;
        for owner in owners {
            let fields = match model.types.get_mut(&owner).map(|definition| &mut definition.kind) {
                Some(Kind::Struct(structure)) => &mut structure.fields,
                Some(Kind::Adjacent(adjacent)) => &mut adjacent.siblings,
                _ => continue,
            };
            for field in fields.iter_mut().filter(|field| field.key == key && field.declared_required) {
                if !is_adjacent && field.ty != Type::String {
                    let problem = format!("`{id}` in `ids` is a {}", field.ty.to_rust());
                    return Err(document.error("", problem, "only strings can be ids; correct `ids` in source.toml"));
                }
                field.required = true;
                found = true;
            }
        }
        if !found {
            return Err(nothing());
        }
    }
    Ok(())
}
