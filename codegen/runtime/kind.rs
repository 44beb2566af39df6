//! Unions told apart by the kind of JSON: a string here, a list or an object there.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};

use super::Json;

/// A generated union of this form. Each kind it does not have ends in its `Unknown`.
pub(crate) trait Kinds: Sized {
    /// Keeps a value of a kind that the schema does not list.
    fn unknown(raw: Json) -> Self;

    fn boolean(value: bool) -> Self {
        mismatch(value)
    }

    fn number(value: Number) -> Self {
        mismatch(value)
    }

    fn string(value: String) -> Self {
        mismatch(value)
    }

    fn array<'de, A: SeqAccess<'de>>(seq: A) -> Result<Self, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(seq)).map(mismatch)
    }

    fn object<'de, A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(mismatch)
    }
}

/// A value of a kind that the union does not have.
pub(crate) fn mismatch<T: Kinds>(value: impl Into<Value>) -> T {
    T::unknown(Json::from(value.into()))
}

/// Makes a [`Kinds`] union readable, on its own and as a field.
macro_rules! kind_union {
    ($name:ident) => {
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::runtime::by_kind(deserializer)
            }
        }

        $crate::runtime::field!($name);
    };
}
pub(crate) use kind_union;

/// Deserialises a [`Kinds`] union.
pub(crate) fn by_kind<'de, T: Kinds, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(KindVisitor(PhantomData))
}

struct KindVisitor<T>(PhantomData<T>);

impl<'de, T: Kinds> Visitor<'de> for KindVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(mismatch(()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::boolean(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<T, E> {
        Ok(T::number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<T, E> {
        Ok(T::number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<T, E> {
        Ok(Number::from_f64(value).map_or_else(|| mismatch(()), T::number))
    }

    fn visit_str<E>(self, value: &str) -> Result<T, E> {
        Ok(T::string(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<T, E> {
        Ok(T::string(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<T, A::Error> {
        T::array(seq)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::object(map)
    }
}
