#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Drawing {
    pub never: Option<Json>,
    pub points: Option<BTreeMap<String, Point>>,
}
runtime::impl_object! {
    Drawing() [] { never = "never" points = "points" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Point {
    pub at: Option<Vec<Json>>,
    pub shape: Option<Shape>,
    pub size: Option<i64>,
}
runtime::impl_object! {
    Point() [] { at = "at" shape = "shape" size = "size" }
}
runtime::open_enum! {
    Shape { Dot = "dot", Cross = "cross", }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &[];
impl runtime::Native for Drawing {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
