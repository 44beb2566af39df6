#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Source {
    pub path: Option<String>,
    pub size: Option<SourceSize>,
    pub url: Option<String>,
}
runtime::impl_object! {
    Source() [] { path = "path" size = "size" url = "url" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum SourceSize {
    /// A number.
    Number(i64),
    /// A string.
    Text(String),
    /// A JSON kind that the schema does not list.
    Unknown(Json),
}
impl runtime::KindUnion for SourceSize {
    const NAME: &'static str = "SourceSize";
    fn unknown(raw: Json) -> Self {
        Self::Unknown(raw)
    }
    fn read_number(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        let start = reader.clone();
        match reader.read_number()?.as_i64() {
            Some(value) => Ok(Self::Number(value)),
            None => {
                *reader = start;
                runtime::read_unknown_kind(reader)
            }
        }
    }
    fn read_string(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::Field::read(reader).map(Self::Text)
    }
}
runtime::impl_kind_union!(SourceSize);
impl ::serde::Serialize for SourceSize {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(value) => value.serialize(serializer),
            Self::Text(value) => value.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &[];
impl runtime::Native for Source {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
