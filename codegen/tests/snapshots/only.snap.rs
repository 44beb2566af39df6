#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Keep {
    pub x: Option<String>,
}
runtime::impl_object! {
    Keep() [] { x = "x" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// `keep`
    Keep(Keep),
    /// `also/keep`
    AlsoKeep(Keep),
    /// A message with a tag that the schema does not list.
    Unknown {
        /// The tag.
        tag: String,
        /// The whole message.
        raw: Json,
    },
}
impl runtime::Union for Request {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("keep", "Keep"),
        ("also/keep", "AlsoKeep"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Keep(_) => "Keep",
            Self::AlsoKeep(_) => "AlsoKeep",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl Request {
    /// Writes the members, except those whose keys are in `written`.
    fn write_members<M: ::serde::ser::SerializeMap>(
        &self,
        map: &mut M,
        written: &[&str],
    ) -> Result<(), M::Error> {
        match self {
            Self::Keep(content) => {
                map.serialize_entry("method", "keep")?;
                map.serialize_entry("params", content)
            }
            Self::AlsoKeep(content) => {
                map.serialize_entry("method", "also/keep")?;
                map.serialize_entry("params", content)
            }
            Self::Unknown { tag, raw } => {
                runtime::write_unknown_message(map, ("method", tag), raw, written)
            }
        }
    }
}
impl runtime::AdjacentUnion for Request {
    const TAG: &'static str = "method";
    const CONTENT: &'static str = "params";
    const NAME: &'static str = "Request";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        content: &mut runtime::Reader<'_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "keep" => runtime::read_content!(place, content, Keep),
            "also/keep" => runtime::read_content!(place, content, AlsoKeep),
            _ => content.skip(),
        }
    }
    fn unknown(tag: String, raw: Json) -> Self {
        Self::Unknown { tag, raw }
    }
}
impl runtime::Field for Request {
    fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::read_envelope(reader).map(|runtime::WithoutSiblings(message)| message)
    }
}
runtime::impl_deserialize!(Request);
impl ::serde::Serialize for Request {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        use ::serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        self.write_members(&mut map, &[])?;
        map.end()
    }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["method"];
impl runtime::Native for Request {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["method"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
