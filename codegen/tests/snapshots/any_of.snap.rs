#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
/// Tagged with `"type": "audio.start"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AudioStartMessageContentItem {
    pub rate: Option<i64>,
}
runtime::impl_object! {
    AudioStartMessageContentItem("type" = "audio.start") [] { rate = "rate" }
}
/// Tagged with `"type": "audio.stop"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AudioStopMessageContentItem {}
runtime::impl_object! {
    AudioStopMessageContentItem("type" = "audio.stop") [] {}
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Message {
    pub content: Option<Vec<MessageContentItem>>,
    pub role: Option<String>,
}
runtime::impl_object! {
    Message() [] { content = "content" role = "role" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum MessageContentItem {
    /// `text`
    Text(TextMessageContentItem),
    /// `image`
    Image(Picture),
    /// `audio.start`
    AudioStart(AudioStartMessageContentItem),
    /// `audio.stop`
    AudioStop(AudioStopMessageContentItem),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for MessageContentItem {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("text", "Text"),
        ("image", "Image"),
        ("audio.start", "AudioStart"),
        ("audio.stop", "AudioStop"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Text(_) => "Text",
            Self::Image(_) => "Image",
            Self::AudioStart(_) => "AudioStart",
            Self::AudioStop(_) => "AudioStop",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for MessageContentItem {
    const KEY: &'static str = "type";
    const NAME: &'static str = "MessageContentItem";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "audio.start" => runtime::read_variant!(place, object, AudioStart),
            "audio.stop" => runtime::read_variant!(place, object, AudioStop),
            "image" => runtime::read_variant!(place, object, Image),
            "text" => runtime::read_variant!(place, object, Text),
            unknown => {
                let joined = unknown.to_owned();
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::impl_tagged_union!(MessageContentItem);
impl ::serde::Serialize for MessageContentItem {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(payload) => payload.serialize(serializer),
            Self::Image(payload) => payload.serialize(serializer),
            Self::AudioStart(payload) => payload.serialize(serializer),
            Self::AudioStop(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
/// Tagged with `"type": "image"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Picture {
    pub url: Option<String>,
}
runtime::impl_object! {
    Picture("type" = "image") [] { url = "url" }
}
/// Tagged with `"type": "text"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TextMessageContentItem {
    pub text: Option<String>,
}
runtime::impl_object! {
    TextMessageContentItem("type" = "text") [] { text = "text" }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["type"];
impl runtime::Native for Message {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
