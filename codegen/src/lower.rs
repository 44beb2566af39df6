//! From a schema document to the [`Model`]: what is reachable from the roots, each type under its Rust name.

mod finish;
mod http;
mod names;
mod objects;
mod sent;

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{Document, Node};
use crate::error::Result;
use crate::model::{Enum, JsonKind, Kind, KindVariant, Literal, Model, Type};
use crate::name;
use crate::settings::Settings;
use crate::shape::{Alternative, Shape, alternatives};
use crate::union;
use finish::{accept_short_forms, mark_fields, refuse_taken_names, require_ids};
pub(crate) use names::unique_name;
use objects::TAG_AND_CONTENT;

/// Lowers everything reachable from the settings' roots.
pub(crate) fn lower(document: &Document, settings: &Settings) -> Result<Model> {
    let mut lowering = Lowering { document, settings, model: Model::default(), named: BTreeMap::new() };
    for root in settings.roots.iter().chain(settings.responses.values()).chain(settings.replies.values()) {
        lowering.root(root)?;
    }
    for (name, pointer) in &settings.inline {
        lowering.inline_root(name, pointer)?;
    }
    for (request, definition) in &settings.responses {
        let ty = lowering.definition(definition)?;
        lowering.model.responses.insert(request.clone(), ty);
    }
    let mut replies = BTreeMap::new();
    for (request, definition) in &settings.replies {
        replies.insert(request.clone(), lowering.definition(definition)?);
    }
    for (name, operation) in &settings.http {
        lowering.http_request(name, operation)?;
    }
    lowering.check_only()?;
    let mut model = lowering.model;
    accept_short_forms(document, settings, &mut model)?;
    union::take_tags_out(&mut model);
    union::box_variants(&mut model);
    require_ids(document, settings, &mut model)?;
    mark_fields(document, settings, &mut model)?;
    refuse_taken_names(document, &model)?;
    model.rpc_methods = sent::rpc_methods(document, &model, &replies)?;
    model.sent = sent::reachable(document, settings, &model)?;
    Ok(model)
}

pub(crate) struct Lowering<'a> {
    pub(crate) document: &'a Document,
    settings: &'a Settings,
    pub(crate) model: Model,
    /// Rust names of the definitions met so far.
    named: BTreeMap<String, Type>,
}

/// What to call a type that has no name of its own.
#[derive(Debug, Clone)]
pub(crate) struct Hint {
    pub(crate) name: String,
    /// Tags to keep, where the settings restrict a union.
    only: Option<Vec<String>>,
}

impl Hint {
    pub(crate) fn of(name: String) -> Self {
        Self { name, only: None }
    }

    fn then(&self, suffix: &str) -> Self {
        Self::of(format!("{}{suffix}", self.name))
    }
}

impl<'a> Lowering<'a> {
    fn root(&mut self, definition: &str) -> Result<()> {
        if self.document.definition(definition).is_none() {
            let problem = format!("the root `{definition}` is not defined");
            return Err(self.document.error("", problem, "correct `roots` or `responses` in source.toml"));
        }
        if let Type::Named(name) = self.definition(definition)?
            && !self.model.roots.contains(&name)
        {
            self.model.roots.push(name);
        }
        Ok(())
    }

    fn inline_root(&mut self, name: &str, pointer: &str) -> Result<()> {
        let Some(node) = self.document.at(pointer) else {
            let problem = format!("the root `{name}` is not there");
            return Err(self.document.error(pointer, problem, "correct `inline` in source.toml"));
        };
        let found = alternatives(self.document, &node)?;
        if let Type::Named(name) = self.lower(found, &Hint::of(name.to_owned()))? {
            self.model.roots.push(name);
        }
        Ok(())
    }

    /// Every tag in `only` is there to be kept.
    fn check_only(&self) -> Result<()> {
        for (definition, tags) in &self.settings.only {
            let kind = match self.named.get(definition) {
                Some(Type::Named(name)) => self.model.types.get(name).map(|found| &found.kind),
                _ => None,
            };
            let known = |tag: &&String| match kind {
                Some(Kind::Adjacent(union)) => union.variants.iter().any(|variant| variant.wire == **tag),
                Some(Kind::Struct(structure)) => structure.fields.iter().any(|field| field.key == **tag),
                _ => false,
            };
            if let Some(tag) = tags.iter().find(|tag| !known(tag)) {
                let (method, params) = TAG_AND_CONTENT;
                let problem = format!("`only` keeps `{tag}` of `{definition}`, which is not there");
                let advice = format!(
                    "name a field of an object or a `{method}` of a union by `{method}` and `{params}` in source.toml"
                );
                return Err(self.document.error("", problem, advice));
            }
        }
        Ok(())
    }

    /// The type of a definition, lowered the first time it is met.
    pub(crate) fn definition(&mut self, definition: &str) -> Result<Type> {
        if let Some(known) = self.named.get(definition) {
            return Ok(known.clone());
        }
        let Some(node) = self.document.definition(definition) else {
            return Err(self.document.error("", format!("`{definition}` is not defined"), "pull the schema again"));
        };
        if let Some(other) = self.other_name_of(definition, &node)? {
            return self.definition(&other);
        }
        let found = alternatives(self.document, &node)?;
        let name = self.free_name(&self.name_of(definition));
        // Said before its parts are looked at, so that a type may contain itself.
        if is_nominal(&found) {
            self.named.insert(definition.to_owned(), Type::Named(name.clone()));
            self.reserve(&name);
        }
        let only = self.settings.only.get(definition).cloned();
        let own = found.into_iter().map(|alternative| strip_origin(alternative, definition)).collect();
        let ty = self.lower_reserved(own, &Hint { name: name.clone(), only })?;
        if ty != Type::Named(name.clone()) {
            self.model.types.remove(&name);
        }
        if let (Type::Named(_), Some(text)) = (&ty, node.text("description"))
            && self.settings.docs
            && let Some(entry) = self.model.types.get_mut(&name)
        {
            entry.doc = Some(text.to_owned());
        }
        self.named.insert(definition.to_owned(), ty.clone());
        Ok(ty)
    }

    /// The definition that `definition` is only another name for.
    fn other_name_of(&self, definition: &str, node: &Node<'a>) -> Result<Option<String>> {
        let other = match node.text("$ref") {
            Some(reference) if node.get("properties").is_none() => Some(self.document.follow(reference, node)?.0),
            _ => self.only_reference(std::slice::from_ref(node))?,
        };
        Ok(other.filter(|other| other != definition && self.document.definition(other).is_some()))
    }

    pub(crate) fn name_of(&self, definition: &str) -> String {
        match self.settings.names.get(definition) {
            Some(name) => name.clone(),
            None => name::of_definition(definition, &self.settings.strip_prefixes),
        }
    }

    /// The type of a value that may follow any of `nodes`.
    fn value(&mut self, nodes: &[Node<'a>], hint: &Hint) -> Result<(Type, bool)> {
        if let [node] = nodes
            && let Some(reference) = node.text("$ref")
            && node.get("properties").is_none()
        {
            let (definition, target) = self.document.follow(reference, node)?;
            let nullable = alternatives(self.document, &target)?.iter().any(|one| matches!(one.shape, Shape::Null));
            if self.document.definition(&definition).is_some() {
                return Ok((self.definition(&definition)?, nullable));
            }
        }
        let mut found = Vec::new();
        for node in nodes {
            found.extend(alternatives(self.document, node)?);
        }
        let nullable = found.iter().any(|one| matches!(one.shape, Shape::Null));
        // `X | null` where X is a definition: the definition itself, whatever it is made of.
        if let Some(definition) = self.only_reference(nodes)? {
            return Ok((self.definition(&definition)?, nullable));
        }
        let ty = self.lower(found, hint)?;
        Ok((ty, nullable))
    }

    /// The one definition that `nodes` refer to, apart from `null`.
    fn only_reference(&self, nodes: &[Node<'a>]) -> Result<Option<String>> {
        let [node] = nodes else { return Ok(None) };
        let members: Vec<Node<'a>> = ["anyOf", "oneOf", "allOf"].iter().flat_map(|key| node.list(key)).collect();
        let mut only = None;
        for member in &members {
            match member.text("$ref") {
                Some(reference) if only.is_none() => only = Some(self.document.follow(reference, member)?.0),
                None if member.text("type") == Some("null") => {}
                _ => return Ok(None),
            }
        }
        Ok(only.filter(|definition| node.get("properties").is_none() && self.document.definition(definition).is_some()))
    }

    /// The type that `found` allows, under a free name like `hint` where it needs one.
    fn lower(&mut self, found: Vec<Alternative<'a>>, hint: &Hint) -> Result<Type> {
        if let [Alternative { origin: Some(definition), .. }] = found.as_slice() {
            return self.definition(&definition.clone());
        }
        if !is_nominal(&found) {
            return self.lower_reserved(found, hint);
        }
        let renamed = self.settings.names.get(&hint.name).filter(|_| self.document.definition(&hint.name).is_none());
        let name = self.free_name(renamed.unwrap_or(&hint.name));
        self.reserve(&name);
        let ty = self.lower_reserved(found, &Hint { name: name.clone(), only: hint.only.clone() })?;
        if ty != Type::Named(name.clone()) {
            self.model.types.remove(&name);
        }
        Ok(ty)
    }

    /// As [`Self::lower`], with the name already this type's own.
    fn lower_reserved(&mut self, found: Vec<Alternative<'a>>, hint: &Hint) -> Result<Type> {
        let mut kinds: BTreeMap<JsonKind, Vec<Alternative<'a>>> = BTreeMap::new();
        for alternative in found {
            match json_kind(&alternative.shape) {
                Some(kind) => kinds.entry(kind).or_default().push(alternative),
                None if matches!(alternative.shape, Shape::Null) => {}
                None => return Ok(Type::Any),
            }
        }
        let alone = kinds.len() == 1;
        let mut variants = Vec::new();
        for (kind, members) in kinds {
            let hint = if alone { hint.clone() } else { hint.then(kind_suffix(kind)) };
            let ty = self.of_kind(kind, members, &hint, alone)?;
            if alone {
                return Ok(ty);
            }
            variants.push(KindVariant { kind, ty, boxed: false });
        }
        if variants.is_empty() {
            return Ok(Type::Any);
        }
        Ok(self.define(&hint.name, Kind::Kinds(variants), None))
    }

    /// One kind's type. `reserved` says that the hinted name belongs to it already.
    fn of_kind(&mut self, kind: JsonKind, members: Vec<Alternative<'a>>, hint: &Hint, reserved: bool) -> Result<Type> {
        if let ([Alternative { origin: Some(definition), .. }], false) = (members.as_slice(), reserved) {
            return self.definition(&definition.clone());
        }
        match kind {
            JsonKind::Boolean => Ok(Type::Boolean),
            JsonKind::Number => Ok(number(&members)),
            JsonKind::String => Ok(self.strings(&members, hint, reserved)),
            JsonKind::Array => self.list(&members, hint),
            JsonKind::Object => self.objects(members, hint, reserved),
        }
    }

    fn strings(&mut self, members: &[Alternative<'a>], hint: &Hint, reserved: bool) -> Type {
        let mut literals: Vec<Literal> = Vec::new();
        for member in members {
            let Shape::Strings(values) = &member.shape else { continue };
            for wire in values {
                if !literals.iter().any(|literal| literal.wire == *wire) {
                    let taken =
                        |name: &str| name == "Unknown" || literals.iter().any(|literal| literal.variant == name);
                    literals
                        .push(Literal { variant: unique_name(&name::pascal(wire), taken), wire: (*wire).to_owned() });
                }
            }
        }
        if literals.is_empty() {
            return Type::String;
        }
        let doc = self.doc_of(members);
        let accepts_any = members.iter().any(|member| matches!(member.shape, Shape::String));
        self.define_under(hint, reserved, Kind::Enum(Enum { literals, accepts_any }), doc)
    }

    fn list(&mut self, members: &[Alternative<'a>], hint: &Hint) -> Result<Type> {
        let mut items = Vec::new();
        for member in members {
            let Shape::List(Some(node)) = &member.shape else { return Ok(Type::List(Box::new(Type::Any))) };
            if !items.iter().any(|have: &Node<'a>| have.value == node.value) {
                items.push(node.clone());
            }
        }
        let (of, nullable) = self.value(&items, &hint.then("Item"))?;
        Ok(Type::List(Box::new(if nullable { Type::Nullable(Box::new(of)) } else { of })))
    }

    fn doc_of(&self, members: &[Alternative<'a>]) -> Option<String> {
        members.iter().find_map(|member| self.doc(member.doc))
    }

    pub(crate) fn doc(&self, text: Option<&str>) -> Option<String> {
        text.filter(|_| self.settings.docs).map(str::to_owned)
    }
}

/// Whether the alternatives make a type of their own, with a name, rather than a plain Rust type.
fn is_nominal(found: &[Alternative<'_>]) -> bool {
    let mut kinds = BTreeSet::new();
    let mut named = false;
    for alternative in found {
        match (&alternative.shape, json_kind(&alternative.shape)) {
            (Shape::Null, _) => {}
            (_, None) => return false,
            (shape, Some(kind)) => {
                kinds.insert(kind);
                named |= matches!(shape, Shape::Object(_) | Shape::Strings(_));
            }
        }
    }
    named || kinds.len() > 1
}

fn strip_origin<'a>(mut alternative: Alternative<'a>, definition: &str) -> Alternative<'a> {
    if alternative.origin.as_deref() == Some(definition) {
        alternative.origin = None;
    }
    alternative
}

fn json_kind(shape: &Shape<'_>) -> Option<JsonKind> {
    match shape {
        Shape::Any | Shape::Null => None,
        Shape::Boolean => Some(JsonKind::Boolean),
        Shape::Integer | Shape::Unsigned | Shape::Number => Some(JsonKind::Number),
        Shape::String | Shape::Strings(_) => Some(JsonKind::String),
        Shape::List(_) => Some(JsonKind::Array),
        Shape::Map(_) | Shape::Object(_) => Some(JsonKind::Object),
    }
}

fn kind_suffix(kind: JsonKind) -> &'static str {
    match kind {
        JsonKind::Boolean => "Boolean",
        JsonKind::Number => "Number",
        JsonKind::String => "Text",
        JsonKind::Array => "List",
        JsonKind::Object => "Object",
    }
}

fn number(members: &[Alternative<'_>]) -> Type {
    if members.iter().all(|member| matches!(member.shape, Shape::Unsigned)) {
        Type::Unsigned
    } else if members.iter().all(|member| matches!(member.shape, Shape::Integer | Shape::Unsigned)) {
        Type::Integer
    } else {
        Type::Number
    }
}
