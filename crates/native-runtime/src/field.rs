//! The field types of generated structs.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap};
use serde_json::Number;

use crate::error::ReadResult;
use crate::reader::Reader;
use crate::repair::record_failure_in_optional;

/// A type that can be read from JSON.
pub trait Field: Sized {
    /// Reads a value.
    fn read(reader: &mut Reader<'_>) -> ReadResult<Self>;

    /// Reads a value into its final place. Large types are built there, so that they are not moved at every level.
    #[inline]
    fn read_into(place: &mut Option<Self>, reader: &mut Reader<'_>) -> ReadResult<()> {
        *place = Some(Self::read(reader)?);
        Ok(())
    }

    /// Reads a value or null into its final place.
    #[inline]
    fn read_optional_into(place: &mut Option<Self>, reader: &mut Reader<'_>) -> ReadResult<()> {
        if reader.read_null()? {
            *place = None;
            return Ok(());
        }
        Self::read_into(place, reader)
    }

    /// Reads a list of values.
    fn read_list(reader: &mut Reader<'_>) -> ReadResult<Vec<Self>> {
        read_elements(reader, INITIAL_LIST_BYTES, Self::read)
    }
}

/// Implements [`Field`] with a method of [`Reader`].
macro_rules! impl_field {
    ($($name:ty = $read:path;)*) => {
        $(impl Field for $name {
            #[inline]
            fn read(reader: &mut Reader<'_>) -> ReadResult<Self> {
                $read(reader)
            }
        })*
    };
}

impl_field! {
    bool = Reader::read_bool;
    i64 = Reader::read_i64;
    u64 = Reader::read_u64;
    Number = Reader::read_number;
}

impl Field for String {
    #[inline]
    fn read(reader: &mut Reader<'_>) -> ReadResult<Self> {
        reader.read_owned()
    }

    #[inline]
    fn read_optional_into(place: &mut Option<Self>, reader: &mut Reader<'_>) -> ReadResult<()> {
        reader.read_optional_into(place)
    }

    /// Lists of strings are the longest lists in practice, so reading a string is inlined.
    fn read_list(reader: &mut Reader<'_>) -> ReadResult<Vec<Self>> {
        read_elements(reader, INITIAL_STRING_LIST_BYTES, |reader| Ok(reader.read_string_inline()?.into_owned()))
    }
}

impl<T: Field> Field for Option<T> {
    fn read(reader: &mut Reader<'_>) -> ReadResult<Self> {
        let mut value = None;
        value.read_next(reader)?;
        Ok(value)
    }
}

impl<T: Field> Field for Box<T> {
    fn read(reader: &mut Reader<'_>) -> ReadResult<Self> {
        T::read(reader).map(Box::new)
    }
}

impl<T: Field> Field for Vec<T> {
    fn read(reader: &mut Reader<'_>) -> ReadResult<Self> {
        T::read_list(reader)
    }
}

/// Initial capacity of a list in bytes, so that short lists of small values are allocated once.
const INITIAL_LIST_BYTES: usize = 192;
/// The same for lists of strings. Most of them are dozens of tool names.
const INITIAL_STRING_LIST_BYTES: usize = 768;

#[expect(clippy::inline_always, reason = "the closure is the body of the loop")]
#[inline(always)]
fn read_elements<T>(
    reader: &mut Reader<'_>,
    capacity_bytes: usize,
    read: impl Fn(&mut Reader<'_>) -> ReadResult<T>,
) -> ReadResult<Vec<T>> {
    let mut list = Vec::new();
    let mut elements = reader.enter_list()?;
    while elements.advance(reader)? {
        if list.is_empty() {
            list.reserve(capacity_bytes / size_of::<T>().max(1));
        }
        match read(reader) {
            Ok(element) => list.push(element),
            Err(error) => {
                record_failure_in_optional(&list.len().to_string());
                return Err(error);
            }
        }
    }
    Ok(list)
}

impl<T: Field> Field for BTreeMap<String, T> {
    fn read(reader: &mut Reader<'_>) -> ReadResult<Self> {
        let mut map = Self::new();
        let mut members = reader.enter_object()?;
        while let Some(key) = members.next_key(reader)? {
            match T::read(reader) {
                Ok(value) => map.insert(key.into_owned(), value),
                Err(error) => {
                    record_failure_in_optional(&key);
                    return Err(error);
                }
            };
        }
        Ok(map)
    }
}

/// The declared type of a struct field: `Option<T>`, or `String` if the field is required.
pub trait Slot {
    /// Reads the next value into the slot.
    fn read_next(&mut self, reader: &mut Reader<'_>) -> ReadResult<()>;

    /// Whether the slot has no value.
    fn is_null(&self) -> bool;
}

impl Slot for String {
    #[inline]
    fn read_next(&mut self, reader: &mut Reader<'_>) -> ReadResult<()> {
        reader.read_owned_into(self)
    }

    #[inline]
    fn is_null(&self) -> bool {
        false
    }
}

impl<T: Field> Slot for Option<T> {
    fn read_next(&mut self, reader: &mut Reader<'_>) -> ReadResult<()> {
        T::read_optional_into(self, reader)
    }

    #[inline]
    fn is_null(&self) -> bool {
        self.is_none()
    }
}

/// Writes a field; a field without a value is omitted.
pub trait WriteField {
    /// Writes the field under `key`.
    fn write_field<M: SerializeMap>(&self, key: &'static str, map: &mut M) -> Result<(), M::Error>;
}

impl WriteField for String {
    fn write_field<M: SerializeMap>(&self, key: &'static str, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(key, self)
    }
}

impl<T: Serialize> WriteField for Option<T> {
    fn write_field<M: SerializeMap>(&self, key: &'static str, map: &mut M) -> Result<(), M::Error> {
        match self {
            Some(value) => map.serialize_entry(key, value),
            None => Ok(()),
        }
    }
}
