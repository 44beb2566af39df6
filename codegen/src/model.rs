//! The model: all types of a schema, before they are rendered as Rust.
//!
//! Everything in a [`Model`] has its final Rust name; only rendering remains.

use std::collections::{BTreeMap, BTreeSet};

/// All types of one module.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model {
    /// The types, by Rust name.
    pub types: BTreeMap<String, Definition>,
    /// The type of each definition of the schema that is reachable from the roots.
    pub definitions: BTreeMap<String, Type>,
    /// The types that a caller decodes into.
    pub roots: Vec<String>,
    /// The types of responses, by the method of the request.
    pub responses: BTreeMap<String, Type>,
    /// Requests whose parameters are a named type, with the types of their responses.
    pub rpc_methods: Vec<RpcMethod>,
    /// The requests of an HTTP API.
    pub http: Vec<HttpRequest>,
    /// The types that a host sends.
    pub sent: BTreeSet<String>,
}

/// A request method with the types of its parameters and response.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcMethod {
    /// The method on the wire.
    pub method: String,
    /// The type of the parameters.
    pub params: String,
    /// The union that the request belongs to.
    pub union: String,
    /// The type of the response.
    pub response: Type,
}

/// A request of an HTTP API.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpRequest {
    /// The name of the request's struct.
    pub name: String,
    /// The HTTP method.
    pub method: String,
    /// The path, with parameters in braces.
    pub path: String,
    /// The struct of the query parameters, if there are any.
    pub query: Option<String>,
    /// The type of the body, if there is one.
    pub body: Option<Type>,
    /// Whether a query parameter is required.
    pub query_is_required: bool,
    /// The type of the successful response; `None` if it has no content.
    pub response: Option<Type>,
}

impl HttpRequest {
    /// The names of the path parameters.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }
}

/// One named type.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The schema's description, if its licence allows to use it.
    pub doc: Option<String>,
    /// The kind of type.
    pub kind: Kind,
}

/// The kind of a named type.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// An object with known keys.
    Struct(Struct),
    /// A string with known values.
    Enum(Enum),
    /// A union of objects with a tag among their keys.
    Tagged(Tagged),
    /// A union of objects with a tag beside their content.
    Adjacent(Adjacent),
    /// A union of values with different JSON kinds.
    Kinds(Vec<KindVariant>),
}

impl Kind {
    /// The named types that a type contains. Of a union, only those of the variants whose tag is wanted.
    pub(crate) fn contained_types(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<&str> {
        match self {
            Self::Struct(structure) => structure.fields.iter().filter_map(|field| field.ty.named()).collect(),
            Self::Enum(_) => Vec::new(),
            Self::Tagged(union) => {
                let wanted = union.variants.iter().filter(|variant| variant.tags.iter().any(|tag| is_wanted(tag)));
                wanted.map(|variant| variant.payload.as_str()).collect()
            }
            Self::Adjacent(union) => {
                let wanted = union.variants.iter().filter(|variant| is_wanted(&variant.wire));
                let payloads = wanted.filter_map(|variant| variant.payload.as_ref());
                payloads.chain(union.siblings.iter().map(|field| &field.ty)).filter_map(Type::named).collect()
            }
            Self::Kinds(variants) => variants.iter().filter_map(|variant| variant.ty.named()).collect(),
        }
    }
}

/// An object with known keys.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Struct {
    /// The tag key and value of this struct in its union. It is written in JSON, but it is not a field.
    pub tag: Option<(String, String)>,
    /// The fields, in the schema's order.
    pub fields: Vec<Field>,
}

/// One field of a struct.
#[allow(clippy::struct_excessive_bools, reason = "they are independent of each other")]
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The JSON key.
    pub key: String,
    /// The type of the value.
    pub ty: Type,
    /// Whether the schema requires it. Only ids are also required in Rust.
    pub declared_required: bool,
    /// Whether the schema allows `null`.
    pub nullable: bool,
    /// Whether it is required in Rust. Then its type is not an `Option`.
    pub required: bool,
    /// Whether an object in which it does not fit is not decoded, although the field is optional in Rust.
    pub needed: bool,
    /// Whether it is reported if it is missing or null.
    pub expected: bool,
    /// The schema's description.
    pub doc: Option<String>,
}

/// A string with known values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enum {
    /// The values, in the schema's order.
    pub literals: Vec<Literal>,
    /// Whether the schema also allows any other string. Then no value counts as unknown.
    pub accepts_any: bool,
}

impl Field {
    /// Whether the schema requires it and does not allow null.
    #[must_use]
    pub fn is_always_present(&self) -> bool {
        self.declared_required && !self.nullable
    }
}

/// A value of a string enum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    /// The variant's Rust name.
    pub variant: String,
    /// The value in JSON.
    pub wire: String,
}

/// A union with tags inside the objects.
#[derive(Debug, Clone, PartialEq)]
pub struct Tagged {
    /// The variants, in the schema's order.
    pub variants: Vec<Variant>,
    /// The decision tree from tags to variants.
    pub tree: Branch,
}

/// A variant of a tagged union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// The variant's Rust name.
    pub name: String,
    /// The variant's struct.
    pub payload: String,
    /// Whether the struct is boxed, because it contains the union or is very large.
    pub boxed: bool,
    /// The tags of the variant. The values of several tag keys are joined by `/`.
    pub tags: Vec<String>,
}

/// A node of the decision tree: the value of one key decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The tag key.
    pub key: String,
    /// The next step for each value of the key.
    pub arms: BTreeMap<String, Arm>,
}

/// The result of a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arm {
    /// The variant with this index.
    Variant(usize),
    /// A decision by another key.
    Branch(Branch),
}

/// A union whose tag and content are two keys of the same object.
#[derive(Debug, Clone, PartialEq)]
pub struct Adjacent {
    /// The key of the tag.
    pub tag: String,
    /// The key of the content.
    pub content: String,
    /// The other keys of the object.
    pub siblings: Vec<Field>,
    /// The variants, in the schema's order.
    pub variants: Vec<AdjacentVariant>,
}

/// A variant of an adjacently tagged union.
#[derive(Debug, Clone, PartialEq)]
pub struct AdjacentVariant {
    /// The variant's Rust name.
    pub name: String,
    /// The tag in JSON.
    pub wire: String,
    /// The type of the content; `None` if there is no content.
    pub payload: Option<Type>,
    /// Whether the content is boxed, because it is very large.
    pub boxed: bool,
}

/// A variant of a union by JSON kind.
#[derive(Debug, Clone, PartialEq)]
pub struct KindVariant {
    /// The JSON kind of the variant.
    pub kind: JsonKind,
    /// The type of the variant's value.
    pub ty: Type,
    /// Whether the value is boxed, because it contains the union.
    pub boxed: bool,
}

/// The JSON kinds that a reader can distinguish by the first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum JsonKind {
    /// `true` or `false`.
    Boolean,
    /// A number, with or without a fraction.
    Number,
    /// A string.
    String,
    /// A list.
    Array,
    /// An object.
    Object,
}

impl JsonKind {
    /// The name of the variant for this kind.
    pub(crate) fn variant_name(self) -> &'static str {
        match self {
            Self::Boolean => "Boolean",
            Self::Number => "Number",
            Self::String => "Text",
            Self::Array => "List",
            Self::Object => "Object",
        }
    }
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// Any JSON.
    Any,
    /// A boolean.
    Boolean,
    /// A signed integer.
    Integer,
    /// An unsigned 64-bit integer, if the schema declares it as such.
    Unsigned,
    /// A number.
    Number,
    /// A string.
    String,
    /// A list.
    List(Box<Type>),
    /// An object that is used as a map.
    Map(Box<Type>),
    /// A value or `null`, inside a list or map.
    Nullable(Box<Type>),
    /// A named type of the model.
    Named(String),
}

impl Type {
    /// The type in Rust syntax.
    #[must_use]
    pub fn to_rust(&self) -> String {
        match self {
            Self::Any => "Json".to_owned(),
            Self::Boolean => "bool".to_owned(),
            Self::Integer => "i64".to_owned(),
            Self::Unsigned => "u64".to_owned(),
            Self::Number => "Number".to_owned(),
            Self::String => "String".to_owned(),
            Self::List(element) => format!("Vec<{}>", element.to_rust()),
            Self::Map(element) => format!("BTreeMap<String, {}>", element.to_rust()),
            Self::Nullable(element) => format!("Option<{}>", element.to_rust()),
            Self::Named(name) => name.clone(),
        }
    }

    /// The named type in this type, also inside of a list, a map or `Nullable`.
    #[must_use]
    pub fn named(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::List(element) | Self::Map(element) | Self::Nullable(element) => element.named(),
            _ => None,
        }
    }

    /// The named type that this type stores inline, which is not inside of a list or map.
    pub(crate) fn inline_type(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Nullable(element) => element.inline_type(),
            _ => None,
        }
    }
}
