#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
/// Tagged with `"type": "a_b"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Ab2Union {}
runtime::impl_object! {
    Ab2Union("type" = "a_b") [] {}
}
/// Tagged with `"type": "a.b"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AbUnion {}
runtime::impl_object! {
    AbUnion("type" = "a.b") [] {}
}
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// `go`
    Go(GoCommand),
    /// `stop`
    Stop,
    /// A message with a tag that the schema does not list.
    Unknown {
        /// The tag.
        tag: String,
        /// The whole message.
        raw: Json,
    },
}
impl runtime::Union for Command {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("go", "Go"),
        ("stop", "Stop"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Go(_) => "Go",
            Self::Stop => "Stop",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl Command {
    /// Writes the members, except those whose keys are in `written`.
    fn write_members<M: ::serde::ser::SerializeMap>(
        &self,
        map: &mut M,
        written: &[&str],
    ) -> Result<(), M::Error> {
        match self {
            Self::Go(content) => {
                map.serialize_entry("method", "go")?;
                map.serialize_entry("params", content)
            }
            Self::Stop => map.serialize_entry("method", "stop"),
            Self::Unknown { tag, raw } => {
                runtime::write_unknown_message(map, ("method", tag), raw, written)
            }
        }
    }
}
impl runtime::AdjacentUnion for Command {
    const TAG: &'static str = "method";
    const CONTENT: &'static str = "params";
    const NAME: &'static str = "Command";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        content: &mut runtime::Reader<'_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "go" => runtime::read_content!(place, content, Go),
            "stop" => {
                content.skip()?;
                *place = Some(Self::Stop);
                Ok(())
            }
            _ => content.skip(),
        }
    }
    fn unknown(tag: String, raw: Json) -> Self {
        Self::Unknown { tag, raw }
    }
}
impl runtime::Field for Command {
    fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::read_envelope(reader).map(|runtime::WithoutSiblings(message)| message)
    }
}
runtime::impl_deserialize!(Command);
impl ::serde::Serialize for Command {
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
/// A [`Command`] with the other keys of its object, beside `method` and `params`.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandEnvelope {
    /// JSON key: `message`.
    pub message_: Option<String>,
    /// JSON key: `type`.
    pub type_: Option<String>,
    /// The message.
    pub message: Command,
}
impl runtime::Envelope for CommandEnvelope {
    type Message = Command;
    type Siblings = (Option<String>, Option<String>);
    fn read_sibling(
        into: &mut Self::Siblings,
        key: &[u8],
        reader: &mut runtime::Reader<'_>,
    ) -> runtime::ReadResult<bool> {
        match key {
            b"message" => runtime::Slot::read_next(&mut into.0, reader)?,
            b"type" => runtime::Slot::read_next(&mut into.1, reader)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
    fn build(siblings: Self::Siblings, message: Command) -> Result<Self, &'static str> {
        Ok(Self {
            message_: siblings.0,
            type_: siblings.1,
            message,
        })
    }
}
impl runtime::Field for CommandEnvelope {
    fn read(reader: &mut runtime::Reader<'_>) -> runtime::ReadResult<Self> {
        runtime::read_envelope(reader)
    }
}
runtime::impl_deserialize!(CommandEnvelope);
impl ::serde::Serialize for CommandEnvelope {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        use ::serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        if let Some(value) = &self.message_ {
            map.serialize_entry("message", value)?;
        }
        if let Some(value) = &self.type_ {
            map.serialize_entry("type", value)?;
        }
        self.message.write_members(&mut map, &["message", "type"])?;
        map.end()
    }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Default2 {
    pub x: Option<String>,
}
runtime::impl_object! {
    Default2() [] { x = "x" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Everything {
    pub a: Option<FooBar>,
    pub b: Option<FooBar2>,
    pub c: Option<Result2>,
    pub d: Option<Option2>,
    pub e: Option<Default2>,
    pub f: Option<From2>,
    /// JSON key: `foo-bar`.
    pub foo_bar: Option<String>,
    /// JSON key: `fooBar`.
    pub foo_bar2: Option<String>,
    pub g: Option<String2>,
    pub h: Option<Json2>,
    pub i: Option<Union>,
    pub j: Option<Command>,
    /// JSON key: `self`.
    pub self_: Option<String>,
    pub state: Option<EverythingState2>,
    /// JSON key: `type`.
    pub type_: Option<String>,
}
runtime::impl_object! {
    Everything() [] { a = "a" b = "b" c = "c" d = "d" e = "e" f = "f" foo_bar = "foo-bar"
    foo_bar2 = "fooBar" g = "g" h = "h" i = "i" j = "j" self_ = "self" state = "state"
    type_ = "type" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EverythingState {
    pub y: Option<String>,
}
runtime::impl_object! {
    EverythingState() [] { y = "y" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EverythingState2 {
    pub x: Option<String>,
}
runtime::impl_object! {
    EverythingState2() [] { x = "x" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct FooBar {
    pub x: Option<String>,
}
runtime::impl_object! {
    FooBar() [] { x = "x" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct FooBar2 {
    pub y: Option<EverythingState>,
}
runtime::impl_object! {
    FooBar2() [] { y = "y" }
}
runtime::open_enum! {
    From2 { Here = "here", There = "there", }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct GoCommand {
    pub x: Option<String>,
}
runtime::impl_object! {
    GoCommand() [] { x = "x" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Json2 {
    pub x: Option<String>,
}
runtime::impl_object! {
    Json2() [] { x = "x" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Option2 {
    pub x: Option<String>,
}
runtime::impl_object! {
    Option2() [] { x = "x" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Result2 {
    pub x: Option<String>,
}
runtime::impl_object! {
    Result2() [] { x = "x" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct String2 {
    pub x: Option<String>,
}
runtime::impl_object! {
    String2() [] { x = "x" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Union {
    /// `unknown`
    Unknown2(Unknown2Union),
    /// `a.b`
    AB(AbUnion),
    /// `a_b`
    AB2(Ab2Union),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for Union {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("unknown", "Unknown2"),
        ("a.b", "AB"),
        ("a_b", "AB2"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Unknown2(_) => "Unknown2",
            Self::AB(_) => "AB",
            Self::AB2(_) => "AB2",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for Union {
    const KEY: &'static str = "type";
    const NAME: &'static str = "Union";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "a.b" => runtime::read_variant!(place, object, AB),
            "a_b" => runtime::read_variant!(place, object, AB2),
            "unknown" => runtime::read_variant!(place, object, Unknown2),
            unknown => {
                let joined = unknown.to_owned();
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::impl_tagged_union!(Union);
impl ::serde::Serialize for Union {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unknown2(payload) => payload.serialize(serializer),
            Self::AB(payload) => payload.serialize(serializer),
            Self::AB2(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
/// Tagged with `"type": "unknown"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Unknown2Union {}
runtime::impl_object! {
    Unknown2Union("type" = "unknown") [] {}
}
/// The response to a request. The method of the request decides the type.
#[derive(Debug, Clone, PartialEq, ::serde::Serialize)]
#[serde(untagged)]
pub enum Response {
    #[doc = concat!("Response to `", "go", "`.")]
    Go(EverythingState),
}
impl Response {
    /// The requests that have a variant here.
    pub const REQUESTS: &'static [&'static str] = &["go"];
    /// Decodes the response to `request`; `None` if there is no variant for it.
    #[must_use]
    pub fn decode(
        request: &str,
        text: &str,
    ) -> Option<Result<runtime::Decoded<Self>, runtime::DecodeError>> {
        match request {
            "go" => {
                Some(
                    <EverythingState as runtime::Native>::decode(text)
                        .map(|decoded| decoded.with_request(request).map(Self::Go)),
                )
            }
            _ => None,
        }
    }
}
runtime::impl_from! {
    Command::Go(GoCommand)
}
impl runtime::Request for GoCommand {
    const METHOD: &'static str = "go";
    type Response = EverythingState;
    type Union = Command;
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["method", "type"];
impl runtime::Native for CommandEnvelope {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["method"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
impl runtime::Native for Everything {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
impl runtime::Native for EverythingState {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
