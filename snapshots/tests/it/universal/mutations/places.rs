//! The places of a payload that the agent's schema says something about, and the ways to break each.

use std::collections::BTreeMap;

use interlingua_codegen::{Arm, Branch, Field, JsonKind, Kind, Model, SchemaFolder, Type, build_model};
use interlingua_convert::Agent;
use serde_json::{Value, json};

/// A string that no schema lists.
pub(super) const BRAND_NEW: &str = "brand_new";
/// How many elements of a list are looked into.
const MAX_ELEMENTS: usize = 4;

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    /// A value of another type.
    OtherType,
    /// `null` in a field that the schema requires and that is not nullable.
    RequiredNull,
    /// Such a field is gone.
    RequiredRemoved,
    /// A value that a closed enum does not list.
    NewEnumValue,
    /// A tag that a union does not know: a new type of payload, item or block.
    NewTag,
    /// A string where a list was.
    StringForList,
}

/// A place, and a way to break it.
#[derive(Debug, Clone)]
pub(super) struct Mutation {
    pub(super) change: Change,
    /// Where, as a JSON pointer into the line.
    pub(super) pointer: String,
    /// The struct or union with the field, and its key: `CommandExecutionThreadItem.status`.
    pub(super) field: String,
}

/// One agent's types.
pub(super) struct Schema {
    agent: Agent,
    /// The types at the top, and those of the second dialect.
    modules: Vec<(Option<String>, Model)>,
}

impl Schema {
    pub(super) fn load(agent: Agent) -> Self {
        let schemas = interlingua_agent_schemas::find(agent.id()).unwrap();
        let source = SchemaFolder::parse(agent.id(), schemas.files()).unwrap();
        let modules = source.modules.into_iter();
        let modules =
            modules.map(|module| (module.name, build_model(&module.document, &module.settings).unwrap())).collect();
        Self { agent, modules }
    }

    fn module(&self, name: Option<&str>) -> &Model {
        self.modules.iter().find(|(of, _)| of.as_deref() == name).map(|(_, model)| model).unwrap()
    }

    /// The native type of a received line, and every way to break it. `asked` are the host's requests by id.
    pub(super) fn mutations(&self, line: &Value, asked: &BTreeMap<String, String>) -> Option<(String, Vec<Mutation>)> {
        let text = |key: &str| line.get(key).and_then(Value::as_str);
        match self.agent {
            Agent::Claude => Some((tag(line, &["type", "subtype"])?, self.of_root(None, "StdoutMessage", "", line))),
            Agent::Amp => Some((tag(line, &["type", "subtype"])?, self.of_root(None, "StreamMessage", "", line))),
            Agent::OpenCode => {
                let (prefix, event) = match line.get("payload") {
                    Some(inner) if line.get("type").is_none() => ("/payload", inner),
                    _ => ("", line),
                };
                let tag = event.get("type")?.as_str().filter(|tag| *tag != "sync")?.to_owned();
                Some((tag, self.of_root(None, "Event", prefix, event)))
            }
            Agent::Codex => match (text("method"), line.get("id"), line.get("result")) {
                (Some(method), id, _) if !method.starts_with("codex/event/") => {
                    let root = if id.is_some() { "ServerRequest" } else { "ServerNotification" };
                    Some((method.to_owned(), self.of_root(None, root, "", line)))
                }
                (None, Some(id), Some(result)) => {
                    let method = asked.get(&id.to_string())?;
                    let ty = self.module(None).responses.get(method)?;
                    Some((format!("answer to {method}"), self.walk(None, ty, "/result", result)))
                }
                (None, None, _) => {
                    Some((text("type")?.to_owned(), self.of_root(Some("exec"), "ThreadEvent", "", line)))
                }
                _ => None,
            },
        }
    }

    fn of_root(&self, module: Option<&str>, root: &str, pointer: &str, value: &Value) -> Vec<Mutation> {
        self.walk(module, &Type::Named(root.to_owned()), pointer, value)
    }

    fn walk(&self, module: Option<&str>, ty: &Type, pointer: &str, value: &Value) -> Vec<Mutation> {
        let mut walk = Walk { model: self.module(module), found: Vec::new() };
        walk.value(ty, pointer, value, "");
        walk.found
    }
}

fn tag(line: &Value, keys: &[&str]) -> Option<String> {
    let parts: Vec<&str> = keys.iter().filter_map(|key| line.get(key)?.as_str()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

struct Walk<'a> {
    model: &'a Model,
    found: Vec<Mutation>,
}

impl Walk<'_> {
    fn add(&mut self, change: Change, pointer: &str, field: &str) {
        self.found.push(Mutation { change, pointer: pointer.to_owned(), field: field.to_owned() });
    }

    /// What can be done to a value of this type. `field` is the field that it stands in; nothing for a payload itself.
    fn value(&mut self, ty: &Type, pointer: &str, value: &Value, field: &str) {
        if !field.is_empty() && !value.is_null() {
            if !self.accepts(ty, &of_another_type(value)) {
                self.add(Change::OtherType, pointer, field);
            }
            if value.is_array() && !self.accepts(ty, &json!("text")) {
                self.add(Change::StringForList, pointer, field);
            }
        }
        match ty {
            Type::List(of) => {
                for (index, element) in value.as_array().into_iter().flatten().enumerate().take(MAX_ELEMENTS) {
                    self.value(of, &format!("{pointer}/{index}"), element, &format!("{field}[]"));
                }
            }
            Type::Map(of) => {
                for (key, element) in value.as_object().into_iter().flatten().take(MAX_ELEMENTS) {
                    self.value(of, &child(pointer, key), element, &format!("{field}{{}}"));
                }
            }
            Type::Nullable(of) => self.value(of, pointer, value, ""),
            Type::Named(name) => self.named(name, pointer, value, field),
            _ => {}
        }
    }

    fn named(&mut self, name: &str, pointer: &str, value: &Value, field: &str) {
        let Some(definition) = self.model.types.get(name) else { return };
        match &definition.kind {
            Kind::Enum(of) => {
                if value.is_string() && !of.accepts_any {
                    self.add(Change::NewEnumValue, pointer, field);
                }
            }
            Kind::Struct(structure) => self.fields(name, &structure.fields, pointer, value),
            Kind::Tagged(union) => {
                let key = &union.tree.key;
                if value.get(key).is_some_and(Value::is_string) {
                    self.add(Change::NewTag, &child(pointer, key), &format!("{name}.{key}"));
                    self.add(Change::RequiredNull, &child(pointer, key), &format!("{name}.{key}"));
                    self.add(Change::RequiredRemoved, &child(pointer, key), &format!("{name}.{key}"));
                }
                if let Some(index) = variant(&union.tree, value) {
                    let payload = union.variants[index].payload.clone();
                    self.named(&payload, pointer, value, field);
                }
            }
            Kind::Adjacent(union) => {
                let wire = value.get(&union.tag).and_then(Value::as_str);
                self.add(Change::NewTag, &child(pointer, &union.tag), &format!("{name}.{}", union.tag));
                self.fields(name, &union.siblings, pointer, value);
                let payload = union.variants.iter().find(|variant| Some(variant.wire.as_str()) == wire);
                if let (Some(ty), Some(content)) =
                    (payload.and_then(|variant| variant.payload.as_ref()), value.get(&union.content))
                {
                    let owner = format!("{name}.{}", union.content);
                    self.value(ty, &child(pointer, &union.content), content, &owner);
                }
            }
            Kind::Kinds(variants) => {
                let fits = |kind: &JsonKind| Some(*kind) == kind_of(value);
                if let Some(variant) = variants.iter().find(|variant| fits(&variant.kind)) {
                    // The union itself has been looked at.
                    match &variant.ty {
                        Type::List(of) => {
                            for (index, element) in
                                value.as_array().into_iter().flatten().enumerate().take(MAX_ELEMENTS)
                            {
                                self.value(of, &format!("{pointer}/{index}"), element, &format!("{field}[]"));
                            }
                        }
                        Type::Named(name) => self.named(name, pointer, value, field),
                        _ => {}
                    }
                }
            }
        }
    }

    fn fields(&mut self, owner: &str, fields: &[Field], pointer: &str, value: &Value) {
        for field in fields {
            let Some(inner) = value.get(&field.key) else { continue };
            let (at, name) = (child(pointer, &field.key), format!("{owner}.{}", field.key));
            if field.declared_required && !field.nullable && !inner.is_null() {
                self.add(Change::RequiredNull, &at, &name);
                self.add(Change::RequiredRemoved, &at, &name);
            }
            self.value(&field.ty, &at, inner, &name);
        }
    }

    /// Whether a value of this kind of JSON is one that the schema allows here.
    fn accepts(&self, ty: &Type, value: &Value) -> bool {
        match ty {
            Type::Any => true,
            Type::Boolean => value.is_boolean(),
            Type::Integer | Type::Unsigned | Type::Number => value.is_number(),
            Type::String => value.is_string(),
            Type::List(_) => value.is_array(),
            Type::Map(_) => value.is_object(),
            Type::Nullable(of) => self.accepts(of, value),
            Type::Named(name) => match self.model.types.get(name).map(|definition| &definition.kind) {
                Some(Kind::Enum(_)) => value.is_string(),
                Some(Kind::Struct(_) | Kind::Tagged(_) | Kind::Adjacent(_)) => value.is_object(),
                Some(Kind::Kinds(variants)) => variants.iter().any(|variant| Some(variant.kind) == kind_of(value)),
                None => true,
            },
        }
    }
}

fn variant(tree: &Branch, value: &Value) -> Option<usize> {
    match tree.arms.get(value.get(&tree.key)?.as_str()?)? {
        Arm::Variant(index) => Some(*index),
        Arm::Branch(next) => variant(next, value),
    }
}

fn kind_of(value: &Value) -> Option<JsonKind> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => JsonKind::Boolean,
        Value::Number(_) => JsonKind::Number,
        Value::String(_) => JsonKind::String,
        Value::Array(_) => JsonKind::Array,
        Value::Object(_) => JsonKind::Object,
    })
}

fn child(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn of_another_type(value: &Value) -> Value {
    match value {
        Value::String(_) => json!(7),
        Value::Array(_) => json!({ "x": 1 }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => json!("other"),
    }
}

impl Mutation {
    /// The line with the place broken.
    pub(super) fn apply(&self, line: &Value) -> Value {
        let mut line = line.clone();
        let Some((parent, key)) = self.pointer.rsplit_once('/') else { return line };
        if self.change == Change::RequiredRemoved {
            if let Some(Value::Object(fields)) = line.pointer_mut(parent) {
                fields.remove(&key.replace("~1", "/").replace("~0", "~"));
            }
            return line;
        }
        if let Some(place) = line.pointer_mut(&self.pointer) {
            *place = match self.change {
                Change::OtherType => of_another_type(place),
                Change::NewEnumValue | Change::NewTag | Change::StringForList => json!(BRAND_NEW),
                Change::RequiredNull | Change::RequiredRemoved => Value::Null,
            };
        }
        line
    }

    /// The last key on the way to the place.
    pub(super) fn key(&self) -> &str {
        self.pointer.rsplit('/').next().unwrap_or_default()
    }
}
