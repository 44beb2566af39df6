//! Structs, read in place: each field is written into the value as its key comes by, whatever the order.
//!
//! A derived `Deserialize` keeps every field in a local until the end and moves them all into the struct; with
//! hundreds of wide structs that is slow to run and slower to compile. It also refuses a key that comes twice, where
//! here the last one wins.

use std::collections::BTreeMap;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Number;

use super::Json;
use super::decode::{failed_in, failed_in_needed};
use super::fault::{Fault, Result};
use super::losses::note_missing;
use super::reader::{Members, Reader};
use super::tagged::once;

/// Set in what [`Object::read`] returns for every key that has a field.
const KNOWN: u64 = 1;

/// What to do with each key of an object.
pub(crate) trait Keys {
    /// The name of what is being read, for error messages.
    fn name(&self) -> &'static str;

    /// The keys that matter.
    fn lists(&self) -> &'static Lists;

    /// Reads the value of `key` into its field and returns the key's [`mask`]; 0 if there is no such field.
    fn read(&mut self, key: &str, reader: &mut Reader<'_>) -> Result<u64>;
}

/// A generated struct.
pub(crate) trait Object: Default + Keys {
    /// The key and value that mark this struct in its union; written, never read.
    const MARK: Option<(&'static str, &'static str)>;
    /// The keys that matter.
    const LISTS: &'static Lists;

    /// Writes the fields that have a value.
    fn write<M: SerializeMap>(&self, map: &mut M) -> std::result::Result<(), M::Error>;
}

impl<T: Object> Keys for Box<T> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn lists(&self) -> &'static Lists {
        T::LISTS
    }

    fn read(&mut self, key: &str, reader: &mut Reader<'_>) -> Result<u64> {
        (**self).read(key, reader)
    }
}

impl<T: Object> Object for Box<T> {
    const MARK: Option<(&'static str, &'static str)> = T::MARK;
    const LISTS: &'static Lists = T::LISTS;

    fn write<M: SerializeMap>(&self, map: &mut M) -> std::result::Result<(), M::Error> {
        (**self).write(map)
    }
}

/// Says which key belongs to which field, and derives everything else from that.
macro_rules! object {
    (
        $name:ident ($($mark:literal = $value:literal)?)
        [$($required:literal)* $(, expected $($expected:literal)*)? $(, fitting $($fitting:literal)*)?]
        { $($field:ident = $key:literal)* }
    ) => {
        impl $crate::runtime::Keys for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }

            fn lists(&self) -> &'static $crate::runtime::Lists {
                <Self as $crate::runtime::Object>::LISTS
            }

            #[allow(unused_variables)]
            fn read(&mut self, key: &str, reader: &mut $crate::runtime::Reader<'_>) -> $crate::runtime::Read<u64> {
                match key {
                    $($key => {
                        $crate::runtime::Slot::next(&mut self.$field, reader)?;
                        let mask = const { $crate::runtime::mask(<Self as $crate::runtime::Object>::LISTS, $key) };
                        Ok($crate::runtime::found(mask, &self.$field))
                    })*
                    _ => Ok(0),
                }
            }
        }

        impl $crate::runtime::Object for $name {
            const MARK: Option<(&'static str, &'static str)> = $crate::runtime::mark!($($mark $value)?);
            const LISTS: &'static $crate::runtime::Lists = &$crate::runtime::Lists {
                required: &[$($required),*],
                expected: &[$($($expected),*)?],
                fitting: &[$($($fitting),*)?],
            };

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

/// The keys of an object that matter.
pub(crate) struct Lists {
    /// Those that may be neither missing nor null: of ids, and of needed fields that the schema requires.
    pub(crate) required: &'static [&'static str],
    /// Those that are reported when they are missing or null.
    pub(crate) expected: &'static [&'static str],
    /// Those that may be missing, but have to fit where they are not: of needed fields that the schema leaves optional.
    pub(crate) fitting: &'static [&'static str],
}

/// The bit of a required or expected `key`, and the one of all known keys.
pub(crate) const fn mask(lists: &Lists, key: &str) -> u64 {
    assert!(lists.required.len() + lists.expected.len() < 63, "at most 62 keys of a struct are required or expected");
    let required = place(lists.required, key);
    let place = if required == lists.required.len() { required + place(lists.expected, key) } else { required };
    if place < lists.required.len() + lists.expected.len() { KNOWN | 2 << place } else { KNOWN }
}

/// The place of `key` in `keys`; their number if it is not among them.
const fn place(keys: &[&str], key: &str) -> usize {
    let mut place = 0;
    while place < keys.len() && !same(keys[place].as_bytes(), key.as_bytes()) {
        place += 1;
    }
    place
}

/// The bits of a key that was read into `slot`: a required or expected one that is null was not found.
#[inline(always)]
pub(crate) fn found(mask: u64, slot: &impl Slot) -> u64 {
    if mask != KNOWN && slot.is_null() { KNOWN } else { mask }
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
                failed_in_field(object.lists(), &key);
                return Err(fault);
            }
        }
    }
    let lists = object.lists();
    let all = (2_u64 << (lists.required.len() + lists.expected.len())) - 2;
    if found & all == all { Ok(()) } else { missing(object.name(), lists, found, reader) }
}

/// Notes that decoding failed inside a field.
#[cold]
fn failed_in_field(lists: &Lists, key: &str) {
    let is_needed = lists.required.iter().chain(lists.fitting).any(|needed| *needed == key);
    if is_needed { failed_in_needed(key) } else { failed_in(key) }
}

/// Refuses an object that lacks a required key, and notes one that lacks expected keys.
#[cold]
fn missing(name: &'static str, lists: &Lists, found: u64, reader: &Reader<'_>) -> Result<()> {
    let is_missing = |place: usize| found & (2 << place) == 0;
    let mut required = lists.required.iter().enumerate();
    if let Some((_, key)) = required.find(|(place, _)| is_missing(*place)) {
        return Err(Fault::missing(name, key));
    }
    let expected = lists.expected.iter().enumerate();
    let expected = expected.filter(|(place, _)| is_missing(lists.required.len() + place));
    note_missing(name, &expected.map(|(_, key)| *key).collect::<Vec<_>>(), reader);
    Ok(())
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

    /// Whether the slot has no value.
    fn is_null(&self) -> bool;
}

impl Slot for String {
    fn next(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        *self = reader.owned()?;
        Ok(())
    }

    fn is_null(&self) -> bool {
        false
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

    fn is_null(&self) -> bool {
        self.is_none()
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
