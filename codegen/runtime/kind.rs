//! Unions told apart by the kind of JSON: a string here, a list or an object there.

use serde_json::{Number, Value};

use super::Json;
use super::fault::Result;
use super::reader::Reader;

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

    fn array(reader: &mut Reader<'_>) -> Result<Self> {
        Json::read(reader).map(Self::unknown)
    }

    fn object(reader: &mut Reader<'_>) -> Result<Self> {
        Json::read(reader).map(Self::unknown)
    }
}

/// A value of a kind that the union does not have.
pub(crate) fn mismatch<T: Kinds>(value: impl Into<Value>) -> T {
    T::unknown(Json::from(value.into()))
}

/// Makes a [`Kinds`] union readable, on its own and as a field.
macro_rules! kind_union {
    ($name:ident) => {
        impl $crate::runtime::Field for $name {
            fn field(reader: &mut $crate::runtime::Reader<'_>) -> $crate::runtime::Read<Self> {
                $crate::runtime::by_kind(reader)
            }
        }

        $crate::runtime::readable!($name);
    };
}
pub(crate) use kind_union;

/// Reads a [`Kinds`] union.
pub(crate) fn by_kind<T: Kinds>(reader: &mut Reader<'_>) -> Result<T> {
    match reader.peek() {
        b'"' => reader.owned().map(T::string),
        b'[' => T::array(reader),
        b'{' => T::object(reader),
        b't' | b'f' => reader.boolean().map(T::boolean),
        b'n' => Json::read(reader).map(T::unknown),
        _ => reader.number().map(T::number),
    }
}
