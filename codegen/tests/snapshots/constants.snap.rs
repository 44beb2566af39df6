#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Hello {
    pub jsonrpc: Option<HelloJsonrpc>,
    pub mixed: Option<HelloMixed>,
    pub nothing: Option<Json>,
    pub rate: Option<Number>,
    pub ready: Option<bool>,
    pub version: Option<i64>,
}
runtime::impl_object! {
    Hello() [] { jsonrpc = "jsonrpc" mixed = "mixed" nothing = "nothing" rate = "rate"
    ready = "ready" version = "version" }
}
runtime::open_enum! {
    HelloJsonrpc { N20 = "2.0", }
}
#[derive(Debug, Clone, PartialEq)]
pub enum HelloMixed {
    /// A boolean.
    Boolean(bool),
    /// A number.
    Number(i64),
    /// A string.
    Text(HelloMixedText),
    /// A JSON kind that the schema does not list.
    Unknown(Json),
}
impl runtime::KindUnion for HelloMixed {
    const NAME: &'static str = "HelloMixed";
    fn unknown(raw: Json) -> Self {
        Self::Unknown(raw)
    }
    fn read_boolean(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::Field::read(reader).map(Self::Boolean)
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
runtime::impl_kind_union!(HelloMixed);
impl ::serde::Serialize for HelloMixed {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Boolean(value) => value.serialize(serializer),
            Self::Number(value) => value.serialize(serializer),
            Self::Text(value) => value.serialize(serializer),
            Self::Unknown(raw) => raw.serialize(serializer),
        }
    }
}
runtime::open_enum! {
    HelloMixedText { Auto = "auto", }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &[];
impl runtime::Native for Hello {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
