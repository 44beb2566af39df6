//! The types a schema means, before they are written as Rust.
//!
//! Everything in a [`Model`] has its final Rust name; what is left to do is printing.

use std::collections::{BTreeMap, BTreeSet};

/// All types of one module, by Rust name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model {
    /// The types, by Rust name.
    pub types: BTreeMap<String, Definition>,
    /// The types a caller decodes into.
    pub roots: Vec<String>,
    /// The answers to requests, by the request's name on the wire.
    pub responses: BTreeMap<String, Type>,
    /// Requests whose parameters are a type of their own, with the types of their answers.
    pub rpc_methods: Vec<RpcMethod>,
    /// The operations of an HTTP API.
    pub http: Vec<HttpRequest>,
    /// The types that are written as well as read.
    pub sent: BTreeSet<String>,
}

/// A request and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RpcMethod {
    /// The request's name on the wire.
    pub method: String,
    /// The type of its parameters.
    pub params: String,
    /// The union of requests that it belongs to.
    pub union: String,
    /// The type of its answer.
    pub response: Type,
}

/// An operation of an HTTP API.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpRequest {
    /// The name of its struct.
    pub name: String,
    /// The HTTP method.
    pub method: String,
    /// The path, its parameters in braces.
    pub path: String,
    /// The struct of its query parameters; none where it has none.
    pub query: Option<String>,
    /// The type of its body; none where it has none.
    pub body: Option<Type>,
    /// Whether the query has a parameter that is required.
    pub query_is_required: bool,
    /// The type of a successful answer; none where it has no content.
    pub response: Option<Type>,
}

impl HttpRequest {
    /// The names of the parameters in the path.
    pub fn parameters(&self) -> impl Iterator<Item = &str> {
        self.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }
}

/// One named type.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The schema's own words about it, where its licence allows.
    pub doc: Option<String>,
    /// What it is.
    pub kind: Kind,
}

/// What a named type is.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// An object with known keys.
    Struct(Struct),
    /// A string with known values.
    Enum(Enum),
    /// Objects told apart by a tag among their keys.
    Tagged(Tagged),
    /// Objects told apart by a tag that stands beside their content.
    Adjacent(Adjacent),
    /// Values told apart by their kind of JSON.
    Kinds(Vec<KindVariant>),
}

impl Kind {
    /// The named types that a type is made of: of a tagged union, those of the variants with a tag that is wanted.
    pub(crate) fn contents(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<&str> {
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
    /// The key and value that name this struct in its union. Written when serialising, not a field.
    pub tag: Option<(String, String)>,
    /// The fields, in the schema's order.
    pub fields: Vec<Field>,
}

/// One field of a struct.
#[allow(clippy::struct_excessive_bools, reason = "the schema and the settings say yes or no to each")]
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The key on the wire.
    pub key: String,
    /// The type of its value.
    pub ty: Type,
    /// Whether the schema lists it as required. Only ids stay required in Rust.
    pub declared_required: bool,
    /// Whether the schema allows `null`.
    pub nullable: bool,
    /// Whether it is required in Rust.
    pub required: bool,
    /// Whether an object in which it does not fit does not decode, although it is optional in Rust.
    pub needed: bool,
    /// Whether it is reported where it is missing or null.
    pub expected: bool,
    /// The schema's own words about it.
    pub doc: Option<String>,
}

/// A string with known values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enum {
    /// The values, in the schema's order.
    pub literals: Vec<Literal>,
    /// Whether the schema allows any other string, too: no value is unknown then.
    pub accepts_any: bool,
}

impl Field {
    /// Whether the schema says that it is always there and never null.
    #[must_use]
    pub fn is_always_there(&self) -> bool {
        self.declared_required && !self.nullable
    }
}

/// A value of a string enum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    /// The variant's Rust name.
    pub variant: String,
    /// The value on the wire.
    pub wire: String,
}

/// A union told apart by tags inside the object.
#[derive(Debug, Clone, PartialEq)]
pub struct Tagged {
    /// The variants, in the schema's order.
    pub variants: Vec<Variant>,
    /// How a tag leads to its variant.
    pub tree: Branch,
}

/// A variant of a tagged union.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variant {
    /// The variant's Rust name.
    pub name: String,
    /// The struct it holds.
    pub payload: String,
    /// Whether the struct contains the union and has to be boxed.
    pub boxed: bool,
    /// The tags that lead to it, each key's value joined by `/`.
    pub tags: Vec<String>,
}

/// One decision on the way from an object to its variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Branch {
    /// The key to look at.
    pub key: String,
    /// What each value of it leads to.
    pub arms: BTreeMap<String, Arm>,
}

/// Where a tag leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arm {
    /// To the variant with this index.
    Variant(usize),
    /// To another key.
    Branch(Branch),
}

/// A union whose tag and content stand side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Adjacent {
    /// The key of the tag.
    pub tag: String,
    /// The key of the content.
    pub content: String,
    /// Keys beside those two that every member may have.
    pub siblings: Vec<Field>,
    /// The variants, in the schema's order.
    pub variants: Vec<AdjacentVariant>,
}

/// A variant of an adjacently tagged union.
#[derive(Debug, Clone, PartialEq)]
pub struct AdjacentVariant {
    /// The variant's Rust name.
    pub name: String,
    /// The tag on the wire.
    pub wire: String,
    /// The content; none where the member has none.
    pub payload: Option<Type>,
    /// Whether the content is boxed because it is very wide.
    pub boxed: bool,
}

/// A variant of a union by kind of JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct KindVariant {
    /// The kind it stands for.
    pub kind: JsonKind,
    /// What it holds.
    pub ty: Type,
    /// Whether what it holds contains the union and has to be boxed.
    pub boxed: bool,
}

/// The kinds of JSON that can be told apart while reading.
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

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    /// Anything: the schema does not say.
    Any,
    /// A boolean.
    Boolean,
    /// A signed integer.
    Integer,
    /// An integer that the schema says is unsigned and 64 bits wide.
    Unsigned,
    /// A number.
    Number,
    /// A string.
    String,
    /// A list.
    List(Box<Type>),
    /// An object used as a map.
    Map(Box<Type>),
    /// A value or `null`, inside a list or map.
    Nullable(Box<Type>),
    /// A named type of the model.
    Named(String),
}

impl Type {
    /// The type as it reads in Rust.
    #[must_use]
    pub fn to_rust(&self) -> String {
        match self {
            Self::Any => "Json".to_owned(),
            Self::Boolean => "bool".to_owned(),
            Self::Integer => "i64".to_owned(),
            Self::Unsigned => "u64".to_owned(),
            Self::Number => "Number".to_owned(),
            Self::String => "String".to_owned(),
            Self::List(of) => format!("Vec<{}>", of.to_rust()),
            Self::Map(of) => format!("BTreeMap<String, {}>", of.to_rust()),
            Self::Nullable(of) => format!("Option<{}>", of.to_rust()),
            Self::Named(name) => name.clone(),
        }
    }

    /// The named type in this type, if need be behind a list, a map or `null`.
    pub(crate) fn named(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::List(of) | Self::Map(of) | Self::Nullable(of) => of.named(),
            _ => None,
        }
    }

    /// The named type this holds by value, that is, not behind a list or map.
    pub(crate) fn held(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Nullable(of) => of.held(),
            _ => None,
        }
    }
}
