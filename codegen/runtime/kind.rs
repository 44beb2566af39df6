//! Unions told apart by the kind of JSON: a string here, a list or an object there.

use super::Json;
use super::fault::Result;
use super::losses::note_unknown_kind;
use super::reader::Reader;

/// A generated union of this form. Each kind it does not have ends in its `Unknown`.
pub(crate) trait Kinds: Sized {
    /// The union's name, for reports.
    const NAME: &'static str;

    /// Keeps a value of a kind that the schema does not list.
    fn unknown(raw: Json) -> Self;

    fn boolean(reader: &mut Reader<'_>) -> Result<Self> {
        unknown_kind(reader)
    }

    fn number(reader: &mut Reader<'_>) -> Result<Self> {
        unknown_kind(reader)
    }

    fn string(reader: &mut Reader<'_>) -> Result<Self> {
        unknown_kind(reader)
    }

    fn array(reader: &mut Reader<'_>) -> Result<Self> {
        unknown_kind(reader)
    }

    fn object(reader: &mut Reader<'_>) -> Result<Self> {
        unknown_kind(reader)
    }
}

/// Reads a value of a kind that the union does not have.
#[cold]
pub(crate) fn unknown_kind<T: Kinds>(reader: &mut Reader<'_>) -> Result<T> {
    let found = reader.kind();
    let raw = Json::read(reader)?;
    note_unknown_kind(T::NAME, found, reader);
    Ok(T::unknown(raw))
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
        b'"' => T::string(reader),
        b'[' => T::array(reader),
        b'{' => T::object(reader),
        b't' | b'f' => T::boolean(reader),
        b'n' => unknown_kind(reader),
        _ => T::number(reader),
    }
}
