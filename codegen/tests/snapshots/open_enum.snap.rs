#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
runtime::open_enum! {
    #[doc = " What was voted."] Value { InProgress = "inProgress", InProgress2 =
    "in_progress", Plus1 = "+1", N1 = "1", Empty = "", Unknown2 = "unknown", SelfValue =
    "Self", Done = "done", }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Vote {
    pub mode: Option<VoteMode>,
    pub model: Option<VoteModel>,
    pub value: Option<Value>,
}
runtime::impl_object! {
    Vote() [] { mode = "mode" model = "model" value = "value" }
}
runtime::open_enum! {
    VoteMode { ReadOnly = "read-only", WorkspaceWrite = "workspace-write", }
}
runtime::open_enum! {
    VoteModel { Small = "small", Large = "large", } or any string
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &[];
impl runtime::Native for Vote {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
