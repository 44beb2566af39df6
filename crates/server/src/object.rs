//! JSON objects as request bodies.
//!
//! The structs that serde derives also accept an array with the values of their fields in order. The API does not: what
//! it documents as an object has to be one.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

/// A value that is read from a JSON object only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = Object<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// Names of the fields that the derived `Deserialize` of a struct knows, as they are written in JSON.
pub(crate) fn field_names<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // The deserializer has no value, so this fails, but only after it has recorded the names.
    let _ = T::deserialize(FieldNames(&mut names));
    names
}

/// A deserializer that only stores the names of the fields that it is asked for.
struct FieldNames<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(Self::Error::custom("only structs have field names"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

/// The names of the fields of a JSON object; none if it is not one.
pub(crate) fn object_keys(json: &[u8]) -> Vec<String> {
    #[expect(clippy::zero_sized_map_values, reason = "JSON objects are read as maps; the values do not matter")]
    let object: Result<std::collections::BTreeMap<String, IgnoredAny>, _> = serde_json::from_slice(json);
    object.map(|object| object.into_keys().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[allow(dead_code, reason = "only parsed")]
    struct Shape {
        first_field: u8,
        #[serde(default)]
        inner: Vec<Object<Inner>>,
    }

    #[derive(Debug, Deserialize)]
    #[allow(dead_code, reason = "only parsed")]
    struct Inner {
        path: String,
    }

    #[test]
    fn an_array_is_not_an_object_at_any_depth() {
        let parse = |json| serde_json::from_str::<Object<Shape>>(json);
        assert_eq!(parse(r#"{"firstField":1,"inner":[{"path":"a"}]}"#).unwrap().0.inner.len(), 1);
        for json in ["[1]", "[1,[]]", r#"{"firstField":1,"inner":[["a"]]}"#, "null", "7"] {
            let error = parse(json).unwrap_err().to_string();
            assert!(error.contains("expected an object"), "{json}: {error}");
        }
    }

    #[test]
    fn field_names_are_those_of_the_json() {
        assert_eq!(field_names::<Shape>(), ["firstField", "inner"]);
        assert_eq!(field_names::<String>(), [""; 0]);
    }
}
