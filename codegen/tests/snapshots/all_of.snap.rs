#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
/// Tagged with `"kind": "failed"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct FailedOutcome {
    /// JSON key: `durationMs`.
    pub duration_ms: Option<i64>,
    pub reason: Option<String>,
}
runtime::impl_object! {
    FailedOutcome("kind" = "failed") [] { duration_ms = "durationMs" reason = "reason" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Job {
    pub id: Option<String>,
    pub outcome: Option<Outcome>,
    pub owner: Option<Owner>,
    pub state: Option<JobState>,
}
runtime::impl_object! {
    Job() [] { id = "id" outcome = "outcome" owner = "owner" state = "state" }
}
runtime::open_enum! {
    JobState { Queued = "queued", Running = "running", }
}
/// Tagged with `"kind": "ok"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct OkOutcome {
    /// JSON key: `durationMs`.
    pub duration_ms: Option<i64>,
}
runtime::impl_object! {
    OkOutcome("kind" = "ok") [] { duration_ms = "durationMs" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// `ok`
    Ok(OkOutcome),
    /// `failed`
    Failed(FailedOutcome),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for Outcome {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("ok", "Ok"),
        ("failed", "Failed"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Ok(_) => "Ok",
            Self::Failed(_) => "Failed",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for Outcome {
    const KEY: &'static str = "kind";
    const NAME: &'static str = "Outcome";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "failed" => runtime::read_variant!(place, object, Failed),
            "ok" => runtime::read_variant!(place, object, Ok),
            unknown => {
                let joined = unknown.to_owned();
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::impl_tagged_union!(Outcome);
impl ::serde::Serialize for Outcome {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Ok(payload) => payload.serialize(serializer),
            Self::Failed(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Owner {
    pub name: Option<String>,
}
runtime::impl_object! {
    Owner() [] { name = "name" }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["kind"];
impl runtime::Native for Job {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
