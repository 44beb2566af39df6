//! Generates mutations: for each value of a payload that the agent's schema describes, the ways to violate the schema.

use std::collections::BTreeMap;

use interlingua_codegen::{Arm, Branch, Field, JsonKind, Kind, Model, SchemaFolder, Type, build_model};
use interlingua_convert::Agent;
use serde_json::{Value, json};

/// A string that no schema contains.
pub(super) const UNKNOWN_STRING: &str = "brand_new";
/// Number of elements of a list or map that are mutated.
const MAX_ELEMENTS: usize = 4;

/// A kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Change {
    /// The value gets another type.
    OtherType,
    /// A required field that is not nullable becomes `null`.
    RequiredNull,
    /// A required field that is not nullable is removed.
    RequiredRemoved,
    /// A closed enum gets a value that it does not list.
    NewEnumValue,
    /// A union gets an unknown tag: a new type of payload, item or block.
    NewTag,
    /// A list becomes a string.
    StringForList,
}

/// A value, and the way to change it.
#[derive(Debug, Clone)]
pub(super) struct Mutation {
    pub(super) change: Change,
    /// JSON pointer to the value in the line.
    pub(super) pointer: String,
    /// The struct or union that has the field, and the key: `CommandExecutionThreadItem.status`.
    pub(super) field: String,
}

/// The types of one agent.
pub(super) struct Schema {
    agent: Agent,
    /// The modules by name. `None` is the top module; `codex exec` has a separate module.
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
        self.modules.iter().find(|(other, _)| other.as_deref() == name).map(|(_, model)| model).unwrap()
    }

    /// The native type of a received line, and its mutations. `host_requests` has the methods of the host's requests by
    /// id. `None` if the schema does not describe the line.
    pub(super) fn mutations(
        &self,
        line: &Value,
        host_requests: &BTreeMap<String, String>,
    ) -> Option<(String, Vec<Mutation>)> {
        let text = |key: &str| line.get(key).and_then(Value::as_str);
        match self.agent {
            Agent::Claude => {
                Some((tag(line, &["type", "subtype"])?, self.mutate_root(None, "StdoutMessage", "", line)))
            }
            Agent::Amp => Some((tag(line, &["type", "subtype"])?, self.mutate_root(None, "StreamMessage", "", line))),
            Agent::OpenCode => {
                let (prefix, event) = match line.get("payload") {
                    Some(inner) if line.get("type").is_none() => ("/payload", inner),
                    _ => ("", line),
                };
                let tag = event.get("type")?.as_str().filter(|tag| *tag != "sync")?.to_owned();
                Some((tag, self.mutate_root(None, "Event", prefix, event)))
            }
            Agent::Acp => match (text("method"), line.get("id"), line.get("result")) {
                (Some(method), id, _) => {
                    let root = if id.is_some() { "AgentRequest" } else { "AgentNotification" };
                    let update = line.pointer("/params/update/sessionUpdate").and_then(Value::as_str);
                    let name = update.map_or_else(|| method.to_owned(), |update| format!("{method} {update}"));
                    Some((name, self.mutate_root(None, root, "", line)))
                }
                (None, Some(id), Some(result)) => {
                    let method = host_requests.get(&id.to_string())?;
                    let ty = self.module(None).responses.get(method)?;
                    Some((format!("answer to {method}"), self.mutate(None, ty, "/result", result)))
                }
                _ => None,
            },
            Agent::Codex => match (text("method"), line.get("id"), line.get("result")) {
                (Some(method), id, _) if !method.starts_with("codex/event/") => {
                    let root = if id.is_some() { "ServerRequest" } else { "ServerNotification" };
                    Some((method.to_owned(), self.mutate_root(None, root, "", line)))
                }
                (None, Some(id), Some(result)) => {
                    let method = host_requests.get(&id.to_string())?;
                    let ty = self.module(None).responses.get(method)?;
                    Some((format!("answer to {method}"), self.mutate(None, ty, "/result", result)))
                }
                (None, None, _) => {
                    Some((text("type")?.to_owned(), self.mutate_root(Some("exec"), "ThreadEvent", "", line)))
                }
                _ => None,
            },
        }
    }

    fn mutate_root(&self, module: Option<&str>, root: &str, pointer: &str, value: &Value) -> Vec<Mutation> {
        self.mutate(module, &Type::Named(root.to_owned()), pointer, value)
    }

    fn mutate(&self, module: Option<&str>, ty: &Type, pointer: &str, value: &Value) -> Vec<Mutation> {
        let mut collector = MutationCollector { model: self.module(module), mutations: Vec::new() };
        collector.visit_value(ty, pointer, value, "");
        collector.mutations
    }
}

fn tag(line: &Value, keys: &[&str]) -> Option<String> {
    let parts: Vec<&str> = keys.iter().filter_map(|key| line.get(key)?.as_str()).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Walks a payload along its type and collects the mutations.
struct MutationCollector<'a> {
    model: &'a Model,
    mutations: Vec<Mutation>,
}

impl MutationCollector<'_> {
    fn add(&mut self, change: Change, pointer: &str, field: &str) {
        self.mutations.push(Mutation { change, pointer: pointer.to_owned(), field: field.to_owned() });
    }

    /// Adds the mutations of a value of this type. `field` is the field that holds it; empty for the payload itself.
    fn visit_value(&mut self, ty: &Type, pointer: &str, value: &Value, field: &str) {
        if !field.is_empty() && !value.is_null() {
            if !self.accepts(ty, &value_of_other_type(value)) {
                self.add(Change::OtherType, pointer, field);
            }
            if value.is_array() && !self.accepts(ty, &json!("text")) {
                self.add(Change::StringForList, pointer, field);
            }
        }
        match ty {
            Type::List(element_type) => {
                for (index, element) in value.as_array().into_iter().flatten().enumerate().take(MAX_ELEMENTS) {
                    self.visit_value(element_type, &format!("{pointer}/{index}"), element, &format!("{field}[]"));
                }
            }
            Type::Map(element_type) => {
                for (key, element) in value.as_object().into_iter().flatten().take(MAX_ELEMENTS) {
                    self.visit_value(element_type, &child_pointer(pointer, key), element, &format!("{field}{{}}"));
                }
            }
            Type::Nullable(inner) => self.visit_value(inner, pointer, value, ""),
            Type::Named(name) => self.visit_named(name, pointer, value, field),
            _ => {}
        }
    }

    fn visit_named(&mut self, name: &str, pointer: &str, value: &Value, field: &str) {
        let Some(definition) = self.model.types.get(name) else { return };
        match &definition.kind {
            Kind::Enum(definition) => {
                if value.is_string() && !definition.accepts_any {
                    self.add(Change::NewEnumValue, pointer, field);
                }
            }
            Kind::Struct(structure) => self.visit_fields(name, &structure.fields, pointer, value),
            Kind::Tagged(union) => {
                let key = &union.tree.key;
                if value.get(key).is_some_and(Value::is_string) {
                    self.add(Change::NewTag, &child_pointer(pointer, key), &format!("{name}.{key}"));
                    self.add(Change::RequiredNull, &child_pointer(pointer, key), &format!("{name}.{key}"));
                    self.add(Change::RequiredRemoved, &child_pointer(pointer, key), &format!("{name}.{key}"));
                }
                if let Some(index) = find_variant(&union.tree, value) {
                    let payload = union.variants[index].payload.clone();
                    self.visit_named(&payload, pointer, value, field);
                }
            }
            Kind::Adjacent(union) => {
                let wire = value.get(&union.tag).and_then(Value::as_str);
                self.add(Change::NewTag, &child_pointer(pointer, &union.tag), &format!("{name}.{}", union.tag));
                self.visit_fields(name, &union.siblings, pointer, value);
                let payload = union.variants.iter().find(|variant| Some(variant.wire.as_str()) == wire);
                if let (Some(ty), Some(content)) =
                    (payload.and_then(|variant| variant.payload.as_ref()), value.get(&union.content))
                {
                    let owner = format!("{name}.{}", union.content);
                    self.visit_value(ty, &child_pointer(pointer, &union.content), content, &owner);
                }
            }
            Kind::Kinds(variants) => {
                let has_kind = |kind: &JsonKind| Some(*kind) == json_kind(value);
                if let Some(variant) = variants.iter().find(|variant| has_kind(&variant.kind)) {
                    // The mutations of the union itself have been added already.
                    match &variant.ty {
                        Type::List(element_type) => {
                            for (index, element) in
                                value.as_array().into_iter().flatten().enumerate().take(MAX_ELEMENTS)
                            {
                                self.visit_value(
                                    element_type,
                                    &format!("{pointer}/{index}"),
                                    element,
                                    &format!("{field}[]"),
                                );
                            }
                        }
                        Type::Named(name) => self.visit_named(name, pointer, value, field),
                        _ => {}
                    }
                }
            }
        }
    }

    fn visit_fields(&mut self, owner: &str, fields: &[Field], pointer: &str, value: &Value) {
        for field in fields {
            let Some(inner) = value.get(&field.key) else { continue };
            let (pointer, name) = (child_pointer(pointer, &field.key), format!("{owner}.{}", field.key));
            if field.declared_required && !field.nullable && !inner.is_null() {
                self.add(Change::RequiredNull, &pointer, &name);
                self.add(Change::RequiredRemoved, &pointer, &name);
            }
            self.visit_value(&field.ty, &pointer, inner, &name);
        }
    }

    /// Whether the schema allows a value of this JSON type.
    fn accepts(&self, ty: &Type, value: &Value) -> bool {
        match ty {
            Type::Any => true,
            Type::Boolean => value.is_boolean(),
            Type::Integer | Type::Unsigned | Type::Number => value.is_number(),
            Type::String => value.is_string(),
            Type::List(_) => value.is_array(),
            Type::Map(_) => value.is_object(),
            Type::Nullable(inner) => self.accepts(inner, value),
            Type::Named(name) => match self.model.types.get(name).map(|definition| &definition.kind) {
                Some(Kind::Enum(_)) => value.is_string(),
                Some(Kind::Struct(_) | Kind::Tagged(_) | Kind::Adjacent(_)) => value.is_object(),
                Some(Kind::Kinds(variants)) => variants.iter().any(|variant| Some(variant.kind) == json_kind(value)),
                None => true,
            },
        }
    }
}

/// Index of the variant that the tags of a value select.
fn find_variant(tree: &Branch, value: &Value) -> Option<usize> {
    match tree.arms.get(value.get(&tree.key)?.as_str()?)? {
        Arm::Variant(index) => Some(*index),
        Arm::Branch(next) => find_variant(next, value),
    }
}

fn json_kind(value: &Value) -> Option<JsonKind> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => JsonKind::Boolean,
        Value::Number(_) => JsonKind::Number,
        Value::String(_) => JsonKind::String,
        Value::Array(_) => JsonKind::Array,
        Value::Object(_) => JsonKind::Object,
    })
}

fn child_pointer(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

fn value_of_other_type(value: &Value) -> Value {
    match value {
        Value::String(_) => json!(7),
        Value::Array(_) => json!({ "x": 1 }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => json!("other"),
    }
}

impl Mutation {
    /// Applies the mutation to a line.
    pub(super) fn apply(&self, line: &Value) -> Value {
        let mut line = line.clone();
        let Some((parent, key)) = self.pointer.rsplit_once('/') else { return line };
        if self.change == Change::RequiredRemoved {
            if let Some(Value::Object(fields)) = line.pointer_mut(parent) {
                fields.remove(&key.replace("~1", "/").replace("~0", "~"));
            }
            return line;
        }
        if let Some(value) = line.pointer_mut(&self.pointer) {
            *value = match self.change {
                Change::OtherType => value_of_other_type(value),
                Change::NewEnumValue | Change::NewTag | Change::StringForList => json!(UNKNOWN_STRING),
                Change::RequiredNull | Change::RequiredRemoved => Value::Null,
            };
        }
        line
    }

    /// The last key of the pointer.
    pub(super) fn key(&self) -> &str {
        self.pointer.rsplit('/').next().unwrap_or_default()
    }
}
