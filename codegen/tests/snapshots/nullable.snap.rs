#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Address {
    pub street: Option<String>,
}
runtime::impl_object! {
    Address() [] { street = "street" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// JSON key: `byDefinition`.
    pub by_definition: Option<Address>,
    /// JSON key: `byEnum`.
    pub by_enum: Option<ProfileByEnum>,
    /// JSON key: `byKeyword`.
    pub by_keyword: Option<i64>,
    /// JSON key: `byType`.
    pub by_type: Option<String>,
    /// JSON key: `byUnion`.
    pub by_union: Option<Address>,
    /// JSON key: `inList`.
    pub in_list: Option<Vec<Option<String>>>,
    /// JSON key: `inMap`.
    pub in_map: Option<BTreeMap<String, Option<Address>>>,
    /// JSON key: `listOrNull`.
    pub list_or_null: Option<Vec<i64>>,
}
runtime::impl_object! {
    Profile() [] { by_definition = "byDefinition" by_enum = "byEnum" by_keyword =
    "byKeyword" by_type = "byType" by_union = "byUnion" in_list = "inList" in_map =
    "inMap" list_or_null = "listOrNull" }
}
runtime::open_enum! {
    ProfileByEnum { A = "a", B = "b", }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &[];
impl runtime::Native for Profile {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
