#[allow(unused_imports)]
use ::interlingua_native_runtime::{Json, generated as runtime};
#[allow(unused_imports)]
use ::serde_json::Number;
#[allow(unused_imports)]
use ::std::collections::BTreeMap;
/// Tagged with `"kind": "circle"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct CircleShape {
    pub radius: Option<Number>,
}
runtime::impl_object! {
    CircleShape("kind" = "circle") [] { radius = "radius" }
}
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Drawing {
    pub extra: Option<Json>,
    pub labels: Option<Vec<String>>,
    pub origin: Option<Vec<Json>>,
    /// Said beside the reference.
    pub shape: Option<Shape>,
}
runtime::impl_object! {
    Drawing() [] { extra = "extra" labels = "labels" origin = "origin" shape = "shape" }
}
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// `circle`
    Circle(CircleShape),
    /// `square`
    Square(SquareShape),
    /// An object with a tag that the schema does not list.
    Unknown {
        /// The tag. If there are several tag keys, their values are joined by `/`.
        tag: String,
        /// The whole object.
        raw: Json,
    },
}
impl runtime::Union for Shape {
    const TAGS: &'static [(&'static str, &'static str)] = &[
        ("circle", "Circle"),
        ("square", "Square"),
    ];
    fn variant(&self) -> &'static str {
        match self {
            Self::Circle(_) => "Circle",
            Self::Square(_) => "Square",
            Self::Unknown { .. } => "Unknown",
        }
    }
}
impl runtime::TaggedUnion for Shape {
    const KEY: &'static str = "kind";
    const NAME: &'static str = "Shape";
    fn from_tag(
        place: &mut Option<Self>,
        tag: &str,
        #[allow(unused_mut)]
        mut object: runtime::TaggedObject<'_, '_>,
    ) -> runtime::ReadResult<()> {
        match tag {
            "circle" => runtime::read_variant!(place, object, Circle),
            "square" => runtime::read_variant!(place, object, Square),
            unknown => {
                let joined = unknown.to_owned();
                let raw = object.into_unknown(&joined)?;
                *place = Some(Self::Unknown { tag: joined, raw });
                Ok(())
            }
        }
    }
}
runtime::impl_tagged_union!(Shape);
impl ::serde::Serialize for Shape {
    fn serialize<S: ::serde::Serializer>(
        &self,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match self {
            Self::Circle(payload) => payload.serialize(serializer),
            Self::Square(payload) => payload.serialize(serializer),
            Self::Unknown { raw, .. } => raw.serialize(serializer),
        }
    }
}
/// Tagged with `"kind": "square"` in JSON.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct SquareShape {
    pub side: Option<Number>,
}
runtime::impl_object! {
    SquareShape("kind" = "square") [] { side = "side" }
}
/// The tag keys of all unions in this module.
const TAG_KEYS: &[&str] = &["kind"];
impl runtime::Native for Drawing {
    const TAG_KEYS: &'static [&'static str] = TAG_KEYS;
    const OWN_TAG_KEYS: &'static [&'static str] = &[];
    fn decode(text: &str) -> Result<runtime::Decoded<Self>, runtime::DecodeError> {
        runtime::decode(text)
    }
}
