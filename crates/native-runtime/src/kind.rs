//! Unions whose members differ in their JSON kind: a string, a list, an object.

use crate::error::ReadResult;
use crate::field::Field as _;
use crate::json::Json;
use crate::losses::report_unknown_kind;
use crate::reader::Reader;

/// A generated union by JSON kind. It overrides the method of each kind that it has. Other kinds, and `null`, become its
/// `Unknown` variant.
pub trait KindUnion: Sized {
    /// The union's name, for losses.
    const NAME: &'static str;

    /// Wraps a value of a kind that the schema does not list.
    fn unknown(raw: Json) -> Self;

    /// Reads a boolean.
    fn read_boolean(reader: &mut Reader<'_>) -> ReadResult<Self> {
        read_unknown_kind(reader)
    }

    /// Reads a number.
    fn read_number(reader: &mut Reader<'_>) -> ReadResult<Self> {
        read_unknown_kind(reader)
    }

    /// Reads a string.
    fn read_string(reader: &mut Reader<'_>) -> ReadResult<Self> {
        read_unknown_kind(reader)
    }

    /// Reads a list.
    fn read_array(reader: &mut Reader<'_>) -> ReadResult<Self> {
        read_unknown_kind(reader)
    }

    /// Reads an object.
    fn read_object(reader: &mut Reader<'_>) -> ReadResult<Self> {
        read_unknown_kind(reader)
    }
}

/// Reads a value of a kind that the union does not have.
#[cold]
pub fn read_unknown_kind<T: KindUnion>(reader: &mut Reader<'_>) -> ReadResult<T> {
    let found = reader.kind();
    let raw = Json::read(reader)?;
    report_unknown_kind(T::NAME, found, reader);
    Ok(T::unknown(raw))
}

/// Reads a [`KindUnion`].
pub fn read_by_kind<T: KindUnion>(reader: &mut Reader<'_>) -> ReadResult<T> {
    match reader.peek() {
        b'"' => T::read_string(reader),
        b'[' => T::read_array(reader),
        b'{' => T::read_object(reader),
        b't' | b'f' => T::read_boolean(reader),
        b'n' => read_unknown_kind(reader),
        _ => T::read_number(reader),
    }
}

/// Implements decoding of a [`KindUnion`], as a field and through serde.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_kind_union {
    ($name:ident) => {
        impl $crate::generated::Field for $name {
            fn read(reader: &mut $crate::generated::Reader<'_>) -> $crate::generated::ReadResult<Self> {
                $crate::generated::read_by_kind(reader)
            }
        }

        $crate::impl_deserialize!($name);
    };
}
