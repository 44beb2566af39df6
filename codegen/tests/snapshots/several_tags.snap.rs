#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
/// Tagged with `"type": "note"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct NoteStep {
    pub author: Option<String>,
    pub text: Option<String>,
}
runtime::impl_object! {
    NoteStep("type" = "note") [] { author = "author" text = "text" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// `step.closed`, `step.opened`
    Step(StepStep),
    /// `note`
    Note(NoteStep),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for Step {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("step.closed", "Step"),
        ("step.opened", "Step"),
        ("note", "Note"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Step(_) => "Step",
            Self::Note(_) => "Note",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for Step {
    const KEY: &'static str = "type";
    const NAME: &'static str = "Step";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "note" => runtime::read_variant!(place, object, Note),
            "step.closed" | "step.opened" => {
                object.keep_tag();
                runtime::read_variant!(place, object, Step)
            }
            unknown => {
                let joined = unknown.to_owned();
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::impl_tagged_union!(Step);
impl ::serde::Serialize for Step {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Step(payload) => payload.serialize(serializer),
            Self::Note(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct StepStep {
    pub at: Option<i64>,
    /// JSON key: `type`.
    pub type_: Option<StepStepType>,
}
runtime::impl_object! {
    StepStep() [] { at = "at" type_ = "type" }
}
runtime::open_enum! {
    StepStepType { StepOpened = "step.opened", StepClosed = "step.closed", }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["type"];
impl runtime::Native for Step {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &["type"];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
