//! Lowering: builds the [`Model`] of everything that is reachable from the roots.

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
use finish::{accept_short_forms, mark_fields, reject_reserved_names, require_ids};
pub(crate) use names::unique_name;
use objects::TAG_AND_CONTENT;

/// Lowers everything that is reachable from the roots in the settings.
pub(crate) fn lower(document: &Document, settings: &Settings) -> Result<Model> {
    let mut lowering = Lowering { document, settings, model: Model::default(), lowered: BTreeMap::new() };
    for root in settings.roots.iter().chain(settings.responses.values()).chain(settings.replies.values()) {
        lowering.add_root(root)?;
    }
    for (name, pointer) in &settings.inline {
        lowering.add_inline_root(name, pointer)?;
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
        lowering.add_http_request(name, operation)?;
    }
    lowering.check_only()?;
    let mut model = lowering.model;
    model.definitions = lowering.lowered;
    accept_short_forms(document, settings, &mut model)?;
    union::extract_tags(&mut model);
    union::box_variants(&mut model);
    require_ids(document, settings, &mut model)?;
    mark_fields(document, settings, &mut model)?;
    reject_reserved_names(document, &model)?;
    model.rpc_methods = sent::rpc_methods(document, &model, &replies)?;
    model.sent = sent::sent_types(document, settings, &model)?;
    Ok(model)
}

pub(crate) struct Lowering<'a> {
    pub(crate) document: &'a Document,
    settings: &'a Settings,
    pub(crate) model: Model,
    /// The types of the definitions that were lowered so far, by name of the definition.
    lowered: BTreeMap<String, Type>,
}

/// How to lower a type that is not a definition.
#[derive(Debug, Clone)]
pub(crate) struct Hint {
    /// The name that the type gets if it needs one.
    pub(crate) name: String,
    /// The tags or fields to keep, if the settings restrict the type.
    only: Option<Vec<String>>,
}

impl Hint {
    pub(crate) fn new(name: String) -> Self {
        Self { name, only: None }
    }

    fn with_suffix(&self, suffix: &str) -> Self {
        Self::new(format!("{}{suffix}", self.name))
    }
}

impl<'a> Lowering<'a> {
    fn add_root(&mut self, definition: &str) -> Result<()> {
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

    fn add_inline_root(&mut self, name: &str, pointer: &str) -> Result<()> {
        let Some(node) = self.document.at(pointer) else {
            let problem = format!("the root `{name}` does not exist");
            return Err(self.document.error(pointer, problem, "correct `inline` in source.toml"));
        };
        let found = alternatives(self.document, &node)?;
        if let Type::Named(name) = self.lower(found, &Hint::new(name.to_owned()))? {
            self.model.roots.push(name);
        }
        Ok(())
    }

    /// Checks that every tag and field in `only` exists.
    fn check_only(&self) -> Result<()> {
        for (definition, tags) in &self.settings.only {
            let kind = match self.lowered.get(definition) {
                Some(Type::Named(name)) => self.model.types.get(name).map(|found| &found.kind),
                _ => None,
            };
            let exists = |tag: &&String| match kind {
                Some(Kind::Adjacent(union)) => union.variants.iter().any(|variant| variant.wire == **tag),
                Some(Kind::Struct(structure)) => structure.fields.iter().any(|field| field.key == **tag),
                _ => false,
            };
            if let Some(tag) = tags.iter().find(|tag| !exists(tag)) {
                let (method, params) = TAG_AND_CONTENT;
                let problem = format!("`only` names `{tag}` of `{definition}`, which does not exist");
                let advice = format!(
                    "name a field of an object or a `{method}` of a union by `{method}` and `{params}` in source.toml"
                );
                return Err(self.document.error("", problem, advice));
            }
        }
        Ok(())
    }

    /// The type of a definition. It is lowered on the first use.
    pub(crate) fn definition(&mut self, definition: &str) -> Result<Type> {
        if let Some(lowered) = self.lowered.get(definition) {
            return Ok(lowered.clone());
        }
        let Some(node) = self.document.definition(definition) else {
            return Err(self.document.error("", format!("`{definition}` is not defined"), "pull the schema again"));
        };
        if let Some(target) = self.alias_target(definition, &node)? {
            return self.definition(&target);
        }
        let found = alternatives(self.document, &node)?;
        let name = self.unique_type_name(&self.definition_name(definition));
        // Registered before its parts are lowered, so that a type may contain itself.
        if needs_name(&found) {
            self.lowered.insert(definition.to_owned(), Type::Named(name.clone()));
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
        self.lowered.insert(definition.to_owned(), ty.clone());
        Ok(ty)
    }

    /// The other definition that `definition` is an alias of.
    fn alias_target(&self, definition: &str, node: &Node<'a>) -> Result<Option<String>> {
        let target = match node.text("$ref") {
            Some(reference) if node.get("properties").is_none() => Some(self.document.resolve_ref(reference, node)?.0),
            _ => self.single_reference(std::slice::from_ref(node))?,
        };
        Ok(target.filter(|target| target != definition && self.document.definition(target).is_some()))
    }

    /// The Rust name of a definition.
    pub(crate) fn definition_name(&self, definition: &str) -> String {
        match self.settings.names.get(definition) {
            Some(name) => name.clone(),
            None => name::definition_name(definition, &self.settings.strip_prefixes),
        }
    }

    /// The type of a value that fits any of `nodes`, and whether it may be null.
    fn value(&mut self, nodes: &[Node<'a>], hint: &Hint) -> Result<(Type, bool)> {
        if let [node] = nodes
            && let Some(reference) = node.text("$ref")
            && node.get("properties").is_none()
        {
            let (definition, target) = self.document.resolve_ref(reference, node)?;
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
        // `X | null`, where X is a definition, has the type of the definition.
        if let Some(definition) = self.single_reference(nodes)? {
            return Ok((self.definition(&definition)?, nullable));
        }
        let ty = self.lower(found, hint)?;
        Ok((ty, nullable))
    }

    /// The single definition that `nodes` refer to, apart from `null`.
    fn single_reference(&self, nodes: &[Node<'a>]) -> Result<Option<String>> {
        let [node] = nodes else { return Ok(None) };
        let members: Vec<Node<'a>> = ["anyOf", "oneOf", "allOf"].iter().flat_map(|key| node.list(key)).collect();
        let mut only = None;
        for member in &members {
            match member.text("$ref") {
                Some(reference) if only.is_none() => only = Some(self.document.resolve_ref(reference, member)?.0),
                None if member.text("type") == Some("null") => {}
                _ => return Ok(None),
            }
        }
        Ok(only.filter(|definition| node.get("properties").is_none() && self.document.definition(definition).is_some()))
    }

    /// The type of the alternatives. If it needs a name, it gets an unused one like that of `hint`.
    fn lower(&mut self, found: Vec<Alternative<'a>>, hint: &Hint) -> Result<Type> {
        if let [Alternative { origin: Some(definition), .. }] = found.as_slice() {
            return self.definition(&definition.clone());
        }
        if !needs_name(&found) {
            return self.lower_reserved(found, hint);
        }
        let renamed = self.settings.names.get(&hint.name).filter(|_| self.document.definition(&hint.name).is_none());
        let name = self.unique_type_name(renamed.unwrap_or(&hint.name));
        self.reserve(&name);
        let ty = self.lower_reserved(found, &Hint { name: name.clone(), only: hint.only.clone() })?;
        if ty != Type::Named(name.clone()) {
            self.model.types.remove(&name);
        }
        Ok(ty)
    }

    /// Like [`Self::lower`], but the name of `hint` is already reserved for this type.
    fn lower_reserved(&mut self, found: Vec<Alternative<'a>>, hint: &Hint) -> Result<Type> {
        let mut kinds: BTreeMap<JsonKind, Vec<Alternative<'a>>> = BTreeMap::new();
        for alternative in found {
            match json_kind(&alternative.shape) {
                Some(kind) => kinds.entry(kind).or_default().push(alternative),
                None if matches!(alternative.shape, Shape::Null) => {}
                None => return Ok(Type::Any),
            }
        }
        let is_single = kinds.len() == 1;
        let mut variants = Vec::new();
        for (kind, members) in kinds {
            let hint = if is_single { hint.clone() } else { hint.with_suffix(kind.variant_name()) };
            let ty = self.lower_kind(kind, members, &hint, is_single)?;
            if is_single {
                return Ok(ty);
            }
            variants.push(KindVariant { kind, ty, boxed: false });
        }
        if variants.is_empty() {
            return Ok(Type::Any);
        }
        Ok(self.define(&hint.name, Kind::Kinds(variants), None))
    }

    /// The type of the alternatives of one JSON kind. `is_reserved` is true if the name of `hint` is already reserved for it.
    fn lower_kind(
        &mut self,
        kind: JsonKind,
        members: Vec<Alternative<'a>>,
        hint: &Hint,
        is_reserved: bool,
    ) -> Result<Type> {
        if let ([Alternative { origin: Some(definition), .. }], false) = (members.as_slice(), is_reserved) {
            return self.definition(&definition.clone());
        }
        match kind {
            JsonKind::Boolean => Ok(Type::Boolean),
            JsonKind::Number => Ok(lower_numbers(&members)),
            JsonKind::String => Ok(self.lower_strings(&members, hint, is_reserved)),
            JsonKind::Array => self.lower_lists(&members, hint),
            JsonKind::Object => self.lower_objects(members, hint, is_reserved),
        }
    }

    fn lower_strings(&mut self, members: &[Alternative<'a>], hint: &Hint, is_reserved: bool) -> Type {
        let mut literals: Vec<Literal> = Vec::new();
        for member in members {
            let Shape::Strings(values) = &member.shape else { continue };
            for wire in values {
                if !literals.iter().any(|literal| literal.wire == *wire) {
                    let is_taken =
                        |name: &str| name == "Unknown" || literals.iter().any(|literal| literal.variant == name);
                    literals.push(Literal {
                        variant: unique_name(&name::to_pascal_case(wire), is_taken),
                        wire: (*wire).to_owned(),
                    });
                }
            }
        }
        if literals.is_empty() {
            return Type::String;
        }
        let doc = self.first_doc(members);
        let accepts_any = members.iter().any(|member| matches!(member.shape, Shape::String));
        self.define_with_hint(hint, is_reserved, Kind::Enum(Enum { literals, accepts_any }), doc)
    }

    fn lower_lists(&mut self, members: &[Alternative<'a>], hint: &Hint) -> Result<Type> {
        let mut items = Vec::new();
        for member in members {
            let Shape::List(Some(node)) = &member.shape else { return Ok(Type::List(Box::new(Type::Any))) };
            if !items.iter().any(|item: &Node<'a>| item.value == node.value) {
                items.push(node.clone());
            }
        }
        let (element, nullable) = self.value(&items, &hint.with_suffix("Item"))?;
        Ok(Type::List(Box::new(if nullable { Type::Nullable(Box::new(element)) } else { element })))
    }

    fn first_doc(&self, members: &[Alternative<'a>]) -> Option<String> {
        members.iter().find_map(|member| self.doc(member.doc))
    }

    /// A description, if the settings allow descriptions.
    pub(crate) fn doc(&self, text: Option<&str>) -> Option<String> {
        text.filter(|_| self.settings.docs).map(str::to_owned)
    }
}

/// Whether the type of the alternatives needs a name, because it is not a plain Rust type.
fn needs_name(found: &[Alternative<'_>]) -> bool {
    let mut kinds = BTreeSet::new();
    let mut has_named_shape = false;
    for alternative in found {
        match (&alternative.shape, json_kind(&alternative.shape)) {
            (Shape::Null, _) => {}
            (_, None) => return false,
            (shape, Some(kind)) => {
                kinds.insert(kind);
                has_named_shape |= matches!(shape, Shape::Object(_) | Shape::Strings(_));
            }
        }
    }
    has_named_shape || kinds.len() > 1
}

/// Clears the origin of an alternative that is the definition itself.
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

fn lower_numbers(members: &[Alternative<'_>]) -> Type {
    if members.iter().all(|member| matches!(member.shape, Shape::Unsigned)) {
        Type::Unsigned
    } else if members.iter().all(|member| matches!(member.shape, Shape::Integer | Shape::Unsigned)) {
        Type::Integer
    } else {
        Type::Number
    }
}
