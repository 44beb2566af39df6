//! The Rust types that are generated from a schema, as the code generator names them.

use std::path::Path;

use interlingua_codegen::{Definition, Field, Kind, Model, SchemaFolder, Type, build_model};

use super::scope::type_prefix;

/// The generated types of one agent.
pub(crate) struct RustTypes {
    modules: Vec<Module>,
}

struct Module {
    /// Prefix of the names of its types in the drift model.
    prefix: String,
    /// Path of the module in Rust.
    path: Vec<String>,
    model: Model,
}

/// A generated type, by the index of its module and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RustType {
    module: usize,
    pub(crate) name: String,
}

/// What a change in a schema is in Rust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A type, such as an enum that has another value.
    Type(RustType),
    /// A field of a struct, by its key in JSON.
    Field(RustType, String),
    /// A variant of a union, and the type of its content.
    Variant(RustType, String, Option<RustType>),
}

/// A variant of a union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnionVariant {
    pub(crate) name: String,
    /// The tag in JSON.
    pub(crate) tag: String,
    payload: Option<String>,
}

impl RustTypes {
    /// Builds the types from schema files, as pairs of name and text, with the settings and corrections in an agent's
    /// `folder`. The error says what the generator rejects.
    pub(crate) fn build(agent: &str, folder: &Path, schemas: &[(String, String)]) -> Result<Self, String> {
        let settings =
            ["source.toml", "overlay.json"].map(|name| (name, std::fs::read_to_string(folder.join(name)).ok()));
        let settings = settings.iter().filter_map(|(name, text)| Some((*name, text.as_deref()?)));
        let schemas = schemas.iter().map(|(name, text)| (name.as_str(), text.as_str()));
        let files: Vec<_> = settings.chain(schemas).collect();
        let parsed =
            SchemaFolder::parse(&format!("agent-schemas/{agent}"), &files).map_err(|error| error.to_string())?;
        let modules = parsed.modules.iter().map(|module| {
            let mut path = vec!["interlingua_native".to_owned(), agent.to_owned()];
            path.extend(module.name.clone());
            let prefix = type_prefix(&module.settings.schema);
            Ok(Module { prefix, path, model: build_model(&module.document, &module.settings)? })
        });
        let modules = modules.collect::<interlingua_codegen::Result<_>>().map_err(|error| error.to_string())?;
        Ok(Self { modules })
    }

    /// The path of a type in Rust.
    pub(crate) fn path(&self, ty: &RustType) -> Vec<String> {
        let mut path = self.modules[ty.module].path.clone();
        path.push(ty.name.clone());
        path
    }

    fn definition(&self, ty: &RustType) -> Option<&Definition> {
        self.modules.get(ty.module)?.model.types.get(&ty.name)
    }

    /// The Rust type of a type of the drift model.
    pub(crate) fn find(&self, schema_type: &str) -> Option<RustType> {
        // The prefix of the main module is empty.
        let mut modules: Vec<_> = self.modules.iter().enumerate().collect();
        modules.sort_by_key(|(_, module)| std::cmp::Reverse(module.prefix.len()));
        modules.iter().find_map(|(index, module)| {
            let name = schema_type.strip_prefix(&module.prefix)?;
            let name = match module.model.definitions.get(name) {
                Some(ty) => ty.named()?,
                None => {
                    &module.model.http.iter().find(|request| is_request(name, &request.method, &request.path))?.name
                }
            };
            let ty = RustType { module: *index, name: name.to_owned() };
            self.definition(&ty).map(|_| ty)
        })
    }

    /// What the `path` in a type of the drift model is in Rust, and whether the types have all of it. `tag` is the changed
    /// member, if one changed. What was removed is only in the old types.
    pub(crate) fn resolve(&self, schema_type: &str, path: &str, tag: Option<&str>) -> Option<(Target, bool)> {
        let mut target = Target::Type(self.find(schema_type)?);
        // A member that the path does not name is one of the union at its end.
        let tag = tag.filter(|tag| !path.contains(&format!("<{tag}>"))).map(Step::Member);
        for step in steps(path).into_iter().chain(tag) {
            let Some(current) = target.content(self) else { return Some((target, false)) };
            let next = match step {
                Step::Field(key) => self.field(&current, key),
                Step::Member(tag) => self.variant(&current, tag),
                Step::Element => continue,
            };
            match next {
                Some(next) => target = next,
                None => return Some((Target::Type(current), false)),
            }
        }
        Some((target, true))
    }

    fn field(&self, ty: &RustType, key: &str) -> Option<Target> {
        self.fields(ty).into_iter().find(|field| field.key == key)?;
        Some(Target::Field(ty.clone(), key.to_owned()))
    }

    fn fields(&self, ty: &RustType) -> Vec<&Field> {
        match self.definition(ty).map(|definition| &definition.kind) {
            Some(Kind::Struct(structure)) => structure.fields.iter().collect(),
            Some(Kind::Adjacent(union)) => union.siblings.iter().collect(),
            _ => Vec::new(),
        }
    }

    /// The type of a field.
    fn field_type(&self, ty: &RustType, key: &str) -> Option<RustType> {
        let field = self.fields(ty).into_iter().find(|field| field.key == key)?;
        Some(RustType { module: ty.module, name: field.ty.named()?.to_owned() })
    }

    fn variant(&self, union: &RustType, tag: &str) -> Option<Target> {
        // The label of a member whose tag is not unique has its type in brackets.
        let tag = tag.split(" (").next().unwrap_or(tag);
        let variants = self.variants(union);
        let variant = variants.iter().find(|variant| variant.tag == tag).or_else(|| {
            // The drift model may join more tag keys than the generator needs.
            variants.iter().find(|variant| tag.strip_prefix(&variant.tag).is_some_and(|rest| rest.starts_with('/')))
        })?;
        let payload = variant.payload.as_ref().map(|name| RustType { module: union.module, name: name.clone() });
        Some(Target::Variant(union.clone(), variant.name.clone(), payload))
    }

    /// The variants of a union or enum, one entry per tag; none for other types.
    pub(crate) fn variants(&self, union: &RustType) -> Vec<UnionVariant> {
        let variant = |name: &str, tag: &str, payload: Option<&str>| UnionVariant {
            name: name.to_owned(),
            tag: tag.to_owned(),
            payload: payload.map(str::to_owned),
        };
        match self.definition(union).map(|definition| &definition.kind) {
            Some(Kind::Tagged(union)) => {
                let all = union.variants.iter().flat_map(|found| found.tags.iter().map(move |tag| (found, tag)));
                all.map(|(found, tag)| variant(&found.name, tag, Some(&found.payload))).collect()
            }
            Some(Kind::Adjacent(union)) => union
                .variants
                .iter()
                .map(|found| variant(&found.name, &found.wire, found.payload.as_ref().and_then(Type::named)))
                .collect(),
            Some(Kind::Enum(values)) => {
                values.literals.iter().map(|value| variant(&value.variant, &value.wire, None)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// All unions and enums.
    pub(crate) fn unions(&self) -> Vec<RustType> {
        let all = self.modules.iter().enumerate();
        let all = all.flat_map(|(module, content)| {
            content.model.types.keys().map(move |name| RustType { module, name: name.clone() })
        });
        all.filter(|ty| !self.variants(ty).is_empty()).collect()
    }

    /// The fields and variants that contain a type directly.
    pub(crate) fn users(&self, ty: &RustType) -> Vec<Target> {
        let model = &self.modules[ty.module].model;
        let mut users = Vec::new();
        for name in model.types.keys() {
            let user = RustType { module: ty.module, name: name.clone() };
            for variant in self.variants(&user).into_iter().filter(|variant| variant.payload.as_ref() == Some(&ty.name))
            {
                users.push(Target::Variant(user.clone(), variant.name, Some(ty.clone())));
            }
            for field in self.fields(&user).into_iter().filter(|field| field.ty.named() == Some(&ty.name)) {
                users.push(Target::Field(user.clone(), field.key.clone()));
            }
            // A union by JSON kind, such as a name or an object.
            if let Some(Kind::Kinds(kinds)) = self.definition(&user).map(|definition| &definition.kind)
                && kinds.iter().any(|kind| kind.ty.named() == Some(&ty.name))
            {
                users.push(Target::Type(user));
            }
        }
        users
    }

    /// The enums in a union by JSON kind.
    pub(crate) fn kinds(&self, ty: &RustType) -> Vec<RustType> {
        match self.definition(ty).map(|definition| &definition.kind) {
            Some(Kind::Kinds(kinds)) => {
                let names = kinds.iter().filter_map(|kind| kind.ty.named());
                names.map(|name| RustType { module: ty.module, name: name.to_owned() }).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Target {
    /// The type of the content: of the field, the variant, or the type itself.
    pub(crate) fn content(&self, types: &RustTypes) -> Option<RustType> {
        match self {
            Self::Type(ty) => Some(ty.clone()),
            Self::Field(ty, key) => types.field_type(ty, key),
            Self::Variant(_, _, payload) => payload.clone(),
        }
    }

    /// The type that has the field or variant, or the type itself.
    pub(crate) fn container(&self) -> &RustType {
        match self {
            Self::Type(ty) | Self::Field(ty, _) | Self::Variant(ty, _, _) => ty,
        }
    }
}

/// A step of a path in the drift model.
enum Step<'a> {
    Field(&'a str),
    Member(&'a str),
    /// Into a list or a map.
    Element,
}

/// The steps of a path such as `message.content[]<text>.text`.
fn steps(path: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while let Some(first) = rest.chars().next() {
        let (step, length) = match first {
            '.' => {
                rest = &rest[1..];
                continue;
            }
            '<' => {
                let end = rest.find('>').unwrap_or(rest.len());
                (Step::Member(&rest[1..end]), end + 1)
            }
            '[' | '{' => (Step::Element, rest.find([']', '}']).map_or(rest.len(), |end| end + 1)),
            _ => {
                let end = rest.find(['.', '<', '[', '{']).unwrap_or(rest.len());
                (Step::Field(&rest[..end]), end)
            }
        };
        steps.push(step);
        rest = &rest[length.min(rest.len())..];
    }
    steps
}

/// Whether a type of the drift model is the request of this operation.
fn is_request(name: &str, method: &str, path: &str) -> bool {
    name.strip_suffix(super::reader::REQUEST_SUFFIX)
        .and_then(|operation| operation.split_once(' '))
        .is_some_and(|(found, rest)| found.eq_ignore_ascii_case(method) && rest == path)
}
