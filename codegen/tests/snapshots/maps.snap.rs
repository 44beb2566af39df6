#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Server {
    pub id: String,
    pub port: Option<i64>,
}
runtime::impl_object! {
    Server() ["id"] { id = "id" port = "port" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    pub bare: Option<Json>,
    pub empty: Option<SettingsEmpty>,
    pub env: Option<BTreeMap<String, String>>,
    pub free: Option<Json>,
    pub nested: Option<BTreeMap<String, Vec<i64>>>,
    pub servers: Option<BTreeMap<String, Server>>,
}
runtime::impl_object! {
    Settings() [] { bare = "bare" empty = "empty" env = "env" free = "free" nested =
    "nested" servers = "servers" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SettingsEmpty {}
runtime::impl_object! {
    SettingsEmpty() [] {}
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &[];
impl runtime::Native for Settings {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
