#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
/// Tagged with `"op": "all"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AllFilter {
    pub inner: Option<Vec<Filter>>,
}
runtime::impl_object! {
    AllFilter("op" = "all") [] { inner = "inner" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Any {
    /// A boolean.
    Boolean(bool),
    /// A list.
    List(Vec<Any>),
    /// An object.
    Object(Box<AnyObject>),
    /// A JSON kind that the schema does not list.
    Unknown(Json),
}
impl runtime::KindUnion for Any {
    const NAME: &'static str = "Any";
    fn unknown(raw: Json) -> Self {
        Self::Unknown(raw)
    }
    fn read_boolean(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::Field::read(reader).map(Self::Boolean)
    }
    fn read_array(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        Ok(Self::List(runtime::Field::read(reader)?))
    }
    fn read_object(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        Ok(Self::Object(Box::new(runtime::Field::read(reader)?)))
    }
}
runtime::impl_kind_union!(Any);
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
#[non_exhaustive]
pub struct AnyObject {
    pub of: Option<Any>,
}
runtime::impl_object! {
    AnyObject() [] { of = "of" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// `is`
    Is(IsFilter),
    /// `not`
    Not(Box<NotFilter>),
    /// `all`
    All(AllFilter),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
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
impl runtime::TaggedUnion for Filter {
    const KEY: &'static str = "op";
    const NAME: &'static str = "Filter";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "all" => runtime::read_variant!(place, object, All),
            "is" => runtime::read_variant!(place, object, Is),
            "not" => runtime::read_variant!(place, object, Not),
            unknown => {
                let joined = unknown.to_owned();
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::impl_tagged_union!(Filter);
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
/// Tagged with `"op": "is"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct IsFilter {
    pub text: Option<String>,
}
runtime::impl_object! {
    IsFilter("op" = "is") [] { text = "text" }
}
/// Tagged with `"op": "not"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct NotFilter {
    pub inner: Option<Filter>,
}
runtime::impl_object! {
    NotFilter("op" = "not") [] { inner = "inner" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Tree {
    /// JSON key: `byName`.
    pub by_name: Option<BTreeMap<String, Tree>>,
    pub children: Option<Vec<Tree>>,
    pub filter: Option<Filter>,
    pub label: Option<String>,
    pub parent: Option<Box<Tree>>,
    pub value: Option<Any>,
}
runtime::impl_object! {
    Tree() [] { by_name = "byName" children = "children" filter = "filter" label =
    "label" parent = "parent" value = "value" }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["op"];
impl runtime::Native for Tree {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
