#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
/// Tagged with `"type": "command"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct CommandItem {
    /// JSON key: `exitCode`.
    pub exit_code: Option<i64>,
    pub id: String,
    pub status: Option<CommandItemStatus>,
}
runtime::impl_object! {
    CommandItem("type" = "command") ["id"] { exit_code = "exitCode" id = "id" status =
    "status" }
}
runtime::open_enum! {
    CommandItemStatus { Running = "running", Done = "done", }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// `command`
    Command(CommandItem),
    /// `message`
    Message(MessageItem),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for Item {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("command", "Command"),
        ("message", "Message"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Command(_) => "Command",
            Self::Message(_) => "Message",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for Item {
    const KEY: &'static str = "type";
    const NAME: &'static str = "Item";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "command" => runtime::read_variant!(place, object, Command),
            "message" => runtime::read_variant!(place, object, Message),
            unknown => {
                let joined = unknown.to_owned();
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::impl_tagged_union!(Item);
impl ::serde::Serialize for Item {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Command(payload) => payload.serialize(serializer),
            Self::Message(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
/// Tagged with `"type": "message"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct MessageItem {
    pub id: String,
    pub text: Option<String>,
}
runtime::impl_object! {
    MessageItem("type" = "message") ["id"] { id = "id" text = "text" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Turn {
    pub first: Option<Item>,
    pub id: String,
    pub items: Option<Vec<Item>>,
    pub title: Option<String>,
}
runtime::impl_object! {
    Turn() ["id"] { first = "first" id = "id" items = "items" title = "title" }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["type"];
impl runtime::Native for Turn {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
