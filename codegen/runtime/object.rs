//! Structs, read in place: each field is written into the value as its key comes by, whatever the order.
//!
//! A derived `Deserialize` keeps every field in a local until the end and moves them all into the struct; with
//! hundreds of wide structs that is slow to run and slower to compile. It also refuses a key that comes twice, where
//! here the last one wins.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Number;

use super::Json;
use super::decode::failed_in;
use super::fault::{Fault, Result};
use super::reader::{Members, Reader};
use super::tagged::once;

/// Set in what [`Object::read`] returns for every key that has a field.
const KNOWN: u32 = 1 << 31;

/// What to do with each key of an object.
pub(crate) trait Keys {
    /// The name of what is being read, for error messages.
    fn name(&self) -> &'static str;

    /// The keys that may not be missing.
    fn required(&self) -> &'static [&'static str];

    /// Reads the value of `key` into its field and returns the key's [`mask`]; 0 if there is no such field.
    fn read(&mut self, key: &str, reader: &mut Reader<'_>) -> Result<u32>;
}

/// A generated struct.
pub(crate) trait Object: Default + Keys {
    /// The key and value that mark this struct in its union; written, never read.
    const MARK: Option<(&'static str, &'static str)>;
    /// The keys without which the struct is not one.
    const REQUIRED: &'static [&'static str];

    /// Writes the fields that have a value.
    fn write<M: SerializeMap>(&self, map: &mut M) -> std::result::Result<(), M::Error>;
}

impl<T: Object> Keys for Box<T> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn required(&self) -> &'static [&'static str] {
        T::REQUIRED
    }

    fn read(&mut self, key: &str, reader: &mut Reader<'_>) -> Result<u32> {
        (**self).read(key, reader)
    }
}

impl<T: Object> Object for Box<T> {
    const MARK: Option<(&'static str, &'static str)> = T::MARK;
    const REQUIRED: &'static [&'static str] = T::REQUIRED;

    fn write<M: SerializeMap>(&self, map: &mut M) -> std::result::Result<(), M::Error> {
        (**self).write(map)
    }
}

/// Says which key belongs to which field, and derives everything else from that.
macro_rules! object {
    ($name:ident ($($mark:literal = $value:literal)?) [$($required:literal)*] { $($field:ident = $key:literal)* }) => {
        impl $crate::runtime::Keys for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }

            fn required(&self) -> &'static [&'static str] {
                <Self as $crate::runtime::Object>::REQUIRED
            }

            #[allow(unused_variables)]
            fn read(&mut self, key: &str, reader: &mut $crate::runtime::Reader<'_>) -> $crate::runtime::Read<u32> {
                match key {
                    $($key => {
                        $crate::runtime::Slot::next(&mut self.$field, reader)?;
                        Ok(const { $crate::runtime::mask(<Self as $crate::runtime::Object>::REQUIRED, $key) })
                    })*
                    _ => Ok(0),
                }
            }
        }

        impl $crate::runtime::Object for $name {
            const MARK: Option<(&'static str, &'static str)> = $crate::runtime::mark!($($mark $value)?);
            const REQUIRED: &'static [&'static str] = &[$($required),*];

            #[allow(unused_variables)]
            fn write<M: ::serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $($crate::runtime::Put::put(&self.$field, $key, map)?;)*
                Ok(())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::runtime::write_object(self, serializer)
            }
        }

        impl $crate::runtime::Field for $name {
            fn field(reader: &mut $crate::runtime::Reader<'_>) -> $crate::runtime::Read<Self> {
                let mut object = Self::default();
                $crate::runtime::fill(&mut object, reader)?;
                Ok(object)
            }

            fn place(
                place: &mut Option<Self>,
                reader: &mut $crate::runtime::Reader<'_>,
            ) -> $crate::runtime::Read<()> {
                $crate::runtime::fill(place.insert(Self::default()), reader)
            }
        }

        $crate::runtime::readable!($name);
    };
}
pub(crate) use object;

macro_rules! mark {
    () => {
        None
    };
    ($mark:literal $value:literal) => {
        Some(($mark, $value))
    };
}
pub(crate) use mark;

/// The bit of a required `key`, and the one of all known keys.
pub(crate) const fn mask(required: &[&str], key: &str) -> u32 {
    let mut place = 0;
    while place < required.len() {
        if same(required[place].as_bytes(), key.as_bytes()) {
            return KNOWN | 1 << place;
        }
        place += 1;
    }
    KNOWN
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Reads an object's keys into `object`.
pub(crate) fn fill(object: &mut dyn Keys, reader: &mut Reader<'_>) -> Result<()> {
    let members = reader.object()?;
    read_members(object, reader, members, ["", ""], [false, false])
}

/// Reads what is left of an object, in which each of `tags` may come once; `seen` are those that have.
///
/// One loop for all structs: a copy for each would be slow to compile, and no faster.
pub(super) fn read_members(
    object: &mut dyn Keys,
    reader: &mut Reader<'_>,
    mut members: Members,
    tags: [&'static str; 2],
    mut seen: [bool; 2],
) -> Result<()> {
    let mut found = 0;
    while let Some(key) = members.key(reader)? {
        once(&key, tags, &mut seen)?;
        match object.read(&key, reader) {
            Ok(0) => reader.skip()?,
            Ok(bits) => found |= bits,
            Err(fault) => {
                failed_in(&key);
                return Err(fault);
            }
        }
    }
    match object.required().iter().enumerate().find(|(place, _)| found & (1 << place) == 0) {
        Some((_, missing)) => Err(Fault::missing(object.name(), missing)),
        None => Ok(()),
    }
}

/// Serialises an [`Object`].
pub(crate) fn write_object<T: Object, S: Serializer>(
    object: &T,
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    if let Some((key, value)) = T::MARK {
        map.serialize_entry(key, value)?;
    }
    object.write(&mut map)?;
    map.end()
}

/// A type that a field can have.
pub(crate) trait Field: Sized {
    /// Reads a value.
    fn field(reader: &mut Reader<'_>) -> Result<Self>;

    /// Reads a value to where it will stay. Wide types are built there instead of being handed up level by level.
    fn place(place: &mut Option<Self>, reader: &mut Reader<'_>) -> Result<()> {
        *place = Some(Self::field(reader)?);
        Ok(())
    }

    /// Reads a list of values.
    fn list(reader: &mut Reader<'_>) -> Result<Vec<Self>> {
        read_list(reader, Self::field)
    }
}

/// What a struct declares: an optional value, or a required string.
pub(crate) trait Slot {
    /// Reads the next value into the slot.
    fn next(&mut self, reader: &mut Reader<'_>) -> Result<()>;
}

impl Slot for String {
    fn next(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        *self = reader.owned()?;
        Ok(())
    }
}

impl<T: Field> Slot for Option<T> {
    fn next(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        if reader.null()? {
            *self = None;
            return Ok(());
        }
        T::place(self, reader)
    }
}

/// Makes types that the reader knows usable as fields.
macro_rules! scalar {
    ($($name:ty = $read:path;)*) => {
        $(impl Field for $name {
            fn field(reader: &mut Reader<'_>) -> Result<Self> {
                $read(reader)
            }
        })*
    };
}

scalar! {
    bool = Reader::boolean;
    i64 = Reader::integer;
    u64 = Reader::unsigned;
    Number = Reader::number;
    Json = Json::read;
}

impl<T: Field> Field for Option<T> {
    fn field(reader: &mut Reader<'_>) -> Result<Self> {
        let mut value = None;
        value.next(reader)?;
        Ok(value)
    }
}

impl<T: Field> Field for Box<T> {
    fn field(reader: &mut Reader<'_>) -> Result<Self> {
        T::field(reader).map(Box::new)
    }
}

impl Field for String {
    fn field(reader: &mut Reader<'_>) -> Result<Self> {
        reader.owned()
    }

    /// Lists of texts are the longest there are, so each text is read in place.
    fn list(reader: &mut Reader<'_>) -> Result<Vec<Self>> {
        read_list(reader, |reader| Ok(reader.string_here()?.into_owned()))
    }
}

impl<T: Field> Field for Vec<T> {
    fn field(reader: &mut Reader<'_>) -> Result<Self> {
        T::list(reader)
    }
}

#[inline(always)]
fn read_list<T>(reader: &mut Reader<'_>, read: impl Fn(&mut Reader<'_>) -> Result<T>) -> Result<Vec<T>> {
    let mut list = Vec::new();
    let mut elements = reader.list()?;
    while elements.next(reader)? {
        match read(reader) {
            Ok(element) => list.push(element),
            Err(fault) => {
                failed_in(&list.len().to_string());
                return Err(fault);
            }
        }
    }
    Ok(list)
}

impl<T: Field> Field for BTreeMap<String, T> {
    fn field(reader: &mut Reader<'_>) -> Result<Self> {
        let mut map = Self::new();
        let mut members = reader.object()?;
        while let Some(key) = members.key(reader)? {
            match T::field(reader) {
                Ok(value) => map.insert(key.into_owned(), value),
                Err(fault) => {
                    failed_in(&key);
                    return Err(fault);
                }
            };
        }
        Ok(map)
    }
}

/// A field that writes itself, or nothing where it has no value.
pub(crate) trait Put {
    /// Writes the field under `key`.
    fn put<M: SerializeMap>(&self, key: &'static str, map: &mut M) -> std::result::Result<(), M::Error>;
}

impl Put for String {
    fn put<M: SerializeMap>(&self, key: &'static str, map: &mut M) -> std::result::Result<(), M::Error> {
        map.serialize_entry(key, self)
    }
}

impl<T: Serialize> Put for Option<T> {
    fn put<M: SerializeMap>(&self, key: &'static str, map: &mut M) -> std::result::Result<(), M::Error> {
        match self {
            Some(value) => map.serialize_entry(key, value),
            None => Ok(()),
        }
    }
}
