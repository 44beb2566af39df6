#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Config {
    pub x: Option<String>,
}
runtime::impl_object! {
    Config() [] { x = "x" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Message {
    /// `http_retry`
    HttpRetry(Retry),
    /// `user`
    User(UserMessage),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for Message {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("http_retry", "HttpRetry"),
        ("user", "User"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::HttpRetry(_) => "HttpRetry",
            Self::User(_) => "User",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for Message {
    const KEY: &'static str = "type";
    const NAME: &'static str = "Message";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "http_retry" => runtime::read_variant!(place, object, HttpRetry),
            "user" => runtime::read_variant!(place, object, User),
            unknown => {
                let joined = unknown.to_owned();
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::impl_tagged_union!(Message);
impl ::serde::Serialize for Message {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::HttpRetry(payload) => payload.serialize(serializer),
            Self::User(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Paragraph {
    pub text: Option<String>,
}
runtime::impl_object! {
    Paragraph() [] { text = "text" }
}
/// Tagged with `"type": "http_retry"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Retry {
    pub config: Option<Config>,
}
runtime::impl_object! {
    Retry("type" = "http_retry") [] { config = "config" }
}
/// Tagged with `"type": "user"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct UserMessage {
    pub content: Option<Vec<Paragraph>>,
}
runtime::impl_object! {
    UserMessage("type" = "user") [] { content = "content" }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["type"];
impl runtime::Native for Message {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["type"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
