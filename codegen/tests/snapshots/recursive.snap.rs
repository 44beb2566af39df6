#[allow(unused_imports)]
use super::runtime::{self, Json};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AllFilter {
    pub inner: Option<Vec<Filter>>,
}
runtime::object! {
    AllFilter("op" = "all") [] { inner = "inner" }
}
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Any {
    Boolean(bool),
    List(Vec<Any>),
    Object(Box<AnyObject>),
    /// A kind of JSON that the schema these types were made from does not list.
    Unknown(Json),
}
impl runtime::Kinds for Any {
    const NAME: &'static str = "Any";
    fn unknown(raw: Json) -> Self {
        Self::Unknown(raw)
    }
    fn boolean(reader: &mut runtime::Reader<'_>) -> runtime::Read<Self> {
        runtime::Field::field(reader).map(Self::Boolean)
    }
    fn array(reader: &mut runtime::Reader<'_>) -> runtime::Read<Self> {
        Ok(Self::List(runtime::Field::field(reader)?))
    }
    fn object(reader: &mut runtime::Reader<'_>) -> runtime::Read<Self> {
        Ok(Self::Object(Box::new(runtime::Field::field(reader)?)))
    }
}
runtime::kind_union!(Any);
impl ::serde::Serialize for Any {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Boolean(value) => value.serialize(serializer),
            Self::List(value) => value.serialize(serializer),
            Self::Object(value) => value.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AnyObject {
    pub of: Option<Any>,
}
runtime::object! {
    AnyObject() [] { of = "of" }
}
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Filter {
    /// `is`
    Is(IsFilter),
    /// `not`
    Not(Box<NotFilter>),
    /// `all`
    All(AllFilter),
    /// A tag that the schema these types were made from does not know, with the whole payload.
    Unknown {
        /// The tag, each key's value joined by `/`.
        tag: String,
        /// The payload.
        raw: Json,
    },
}
impl runtime::Union for Filter {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("is", "Is"),
        ("not", "Not"),
        ("all", "All"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Is(_) => "Is",
            Self::Not(_) => "Not",
            Self::All(_) => "All",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::Tagged for Filter {
    const KEY: &'static str = "op";
    const NAME: &'static str = "Filter";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut rest: runtime::Rest<'_, '_>,
    ) -> runtime::Read<()> {
        match tag {
            "all" => runtime::variant!(place, rest, All),
            "is" => runtime::variant!(place, rest, Is),
            "not" => runtime::variant!(place, rest, Not),
            unknown => {
                let joined = unknown.to_owned();
                let raw = rest.unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::tagged_union!(Filter);
impl ::serde::Serialize for Filter {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Is(payload) => payload.serialize(serializer),
            Self::Not(payload) => payload.serialize(serializer),
            Self::All(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IsFilter {
    pub text: Option<String>,
}
runtime::object! {
    IsFilter("op" = "is") [] { text = "text" }
}
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NotFilter {
    pub inner: Option<Filter>,
}
runtime::object! {
    NotFilter("op" = "not") [] { inner = "inner" }
}
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tree {
    pub by_name: Option<BTreeMap<String, Tree>>,
    pub children: Option<Vec<Tree>>,
    pub filter: Option<Filter>,
    pub label: Option<String>,
    pub parent: Option<Box<Tree>>,
    pub value: Option<Any>,
}
runtime::object! {
    Tree() [] { by_name = "byName" children = "children" filter = "filter" label =
    "label" parent = "parent" value = "value" }
}
/// The keys that tell the unions of this module apart.
const TAG_KEYS: &[&str] = &["op"];
impl runtime::Native for Tree {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
