//! Structs, decoded in place: each field is written into the struct when its key is read, in any order.
//!
//! A derived `Deserialize` keeps every field in a local variable and moves all of them into the struct at the end. For
//! hundreds of large structs that is slow to run and slower to compile. It also rejects a key that occurs twice; here the
//! last occurrence counts.

use serde::ser::{SerializeMap, Serializer};

use crate::error::{ReadError, ReadResult};
use crate::field::Slot;
use crate::losses::report_missing;
use crate::reader::{Members, Reader};
use crate::repair::{record_failure_in_needed, record_failure_in_optional};
use crate::tagged::reject_repeated_tag;

/// The bit that [`ObjectFields::read_field`] returns for every key that has a field.
const KNOWN: u64 = 1;

/// Reads the fields of an object. It is used as a trait object, so that all structs share one loop over the keys.
pub trait ObjectFields {
    /// The name of the struct, for error messages.
    fn name(&self) -> &'static str;

    /// The keys with special rules.
    fn key_lists(&self) -> &'static KeyLists;

    /// Reads the value of `key` into its field and returns the [`key_mask`] of the key, or 0 if it has no field.
    fn read_field(&mut self, key: &[u8], reader: &mut Reader<'_>) -> ReadResult<u64>;
}

/// A generated struct.
pub trait Object: Default + ObjectFields {
    /// The tag key and value of this struct in its union. The tag is written, but not read as a field.
    const TAG: Option<(&'static str, &'static str)>;
    /// The keys with special rules.
    const KEY_LISTS: &'static KeyLists;

    /// Writes the fields that have a value.
    fn write_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

/// The keys of an object with special rules.
pub struct KeyLists {
    /// Keys that may be neither missing nor null: ids, and needed fields that the schema requires.
    pub required: &'static [&'static str],
    /// Keys that are reported if they are missing or null.
    pub expected: &'static [&'static str],
    /// Keys that may be missing, but must fit their type if they are present: needed fields that the schema leaves
    /// optional.
    pub well_typed: &'static [&'static str],
}

impl<T: Object> ObjectFields for Box<T> {
    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn key_lists(&self) -> &'static KeyLists {
        T::KEY_LISTS
    }

    fn read_field(&mut self, key: &[u8], reader: &mut Reader<'_>) -> ReadResult<u64> {
        (**self).read_field(key, reader)
    }
}

impl<T: Object> Object for Box<T> {
    const TAG: Option<(&'static str, &'static str)> = T::TAG;
    const KEY_LISTS: &'static KeyLists = T::KEY_LISTS;

    fn write_fields<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        (**self).write_fields(map)
    }
}

/// The bits of `key`: its own if it is required or expected, and the one of all known keys.
///
/// # Panics
/// If more keys are required or expected than a mask has bits. It is evaluated when generated code is compiled.
#[must_use]
pub const fn key_mask(lists: &KeyLists, key: &str) -> u64 {
    assert!(lists.required.len() + lists.expected.len() < 63, "at most 62 keys of a struct are required or expected");
    let required = position(lists.required, key);
    let index = if required == lists.required.len() { required + position(lists.expected, key) } else { required };
    if index < lists.required.len() + lists.expected.len() { KNOWN | 2 << index } else { KNOWN }
}

/// The index of `key` in `keys`, or the length of `keys` if it is not among them.
const fn position(keys: &[&str], key: &str) -> usize {
    let mut index = 0;
    while index < keys.len() && !is_equal(keys[index].as_bytes(), key.as_bytes()) {
        index += 1;
    }
    index
}

const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// The bits of a key that was read into `slot`. A required or expected key that is null does not count as found.
#[expect(clippy::inline_always, reason = "called for every field, where `mask` is a constant")]
#[inline(always)]
pub fn found_mask(mask: u64, slot: &impl Slot) -> u64 {
    if mask != KNOWN && slot.is_null() { KNOWN } else { mask }
}

/// Reads an object into a struct.
pub fn read_object(object: &mut dyn ObjectFields, reader: &mut Reader<'_>) -> ReadResult<()> {
    let members = reader.enter_object()?;
    read_members(object, reader, members, ["", ""], [false, false])
}

/// Reads the remaining keys of an object. Each of `tags` may occur once; `seen` says which have occurred.
///
/// All structs share this loop: a copy for each would compile slowly and not run faster.
pub(crate) fn read_members(
    object: &mut dyn ObjectFields,
    reader: &mut Reader<'_>,
    mut members: Members,
    tags: [&'static str; 2],
    mut seen: [bool; 2],
) -> ReadResult<()> {
    let mut found = 0;
    while let Some(key) = members.next_key_bytes(reader)? {
        reject_repeated_tag(&key, tags, &mut seen)?;
        match object.read_field(&key, reader) {
            Ok(0) => reader.skip()?,
            Ok(bits) => found |= bits,
            Err(error) => {
                record_failure_in_field(object.key_lists(), &key);
                return Err(error);
            }
        }
    }
    let lists = object.key_lists();
    let all = (2_u64 << (lists.required.len() + lists.expected.len())) - 2;
    if found & all == all { Ok(()) } else { check_missing(object.name(), lists, found, reader) }
}

/// Records that reading failed inside a field.
#[cold]
fn record_failure_in_field(lists: &KeyLists, key: &[u8]) {
    let key = &*String::from_utf8_lossy(key);
    let is_needed = lists.required.iter().chain(lists.well_typed).any(|needed| *needed == key);
    if is_needed { record_failure_in_needed(key) } else { record_failure_in_optional(key) }
}

/// Fails if a required key is missing, and reports missing expected keys.
#[cold]
fn check_missing(name: &'static str, lists: &KeyLists, found: u64, reader: &Reader<'_>) -> ReadResult<()> {
    let is_missing = |index: usize| found & (2 << index) == 0;
    let mut required = lists.required.iter().enumerate();
    if let Some((_, key)) = required.find(|(index, _)| is_missing(*index)) {
        return Err(ReadError::missing(name, key));
    }
    let expected = lists.expected.iter().enumerate();
    let expected = expected.filter(|(index, _)| is_missing(lists.required.len() + index));
    report_missing(name, &expected.map(|(_, key)| *key).collect::<Vec<_>>(), reader);
    Ok(())
}

/// Serialises an [`Object`].
pub fn write_object<T: Object, S: Serializer>(object: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    if let Some((key, value)) = T::TAG {
        map.serialize_entry(key, value)?;
    }
    object.write_fields(&mut map)?;
    map.end()
}

/// Implements decoding and encoding of a struct from the list of its fields and keys, and its constructor if it is sent.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_object {
    (
        $name:ident ($($tag:literal = $value:literal)?)
        [$($required:literal)* $(, expected $($expected:literal)*)? $(, well_typed $($well_typed:literal)*)?]
        { $($field:ident = $key:literal $(| $null:tt)?)* }
        $(new ($($parameters:tt)*))?
    ) => {
        $($crate::impl_new! { $name ($($parameters)*) })?

        impl $crate::generated::ObjectFields for $name {
            fn name(&self) -> &'static str {
                stringify!($name)
            }

            fn key_lists(&self) -> &'static $crate::generated::KeyLists {
                <Self as $crate::generated::Object>::KEY_LISTS
            }

            #[allow(unused_variables)]
            fn read_field(
                &mut self,
                key: &[u8],
                reader: &mut $crate::generated::Reader<'_>,
            ) -> $crate::generated::ReadResult<u64> {
                match key {
                    $(key if key == $key.as_bytes() => {
                        $crate::generated::Slot::read_next(&mut self.$field, reader)?;
                        let mask = const {
                            $crate::generated::key_mask(<Self as $crate::generated::Object>::KEY_LISTS, $key)
                        };
                        Ok($crate::generated::found_mask(mask, &self.$field))
                    })*
                    _ => Ok(0),
                }
            }
        }

        impl $crate::generated::Object for $name {
            const TAG: Option<(&'static str, &'static str)> = [$(Some(($tag, $value)),)? None][0];
            const KEY_LISTS: &'static $crate::generated::KeyLists = &$crate::generated::KeyLists {
                required: &[$($required),*],
                expected: &[$($($expected),*)?],
                well_typed: &[$($($well_typed),*)?],
            };

            #[allow(unused_variables)]
            fn write_fields<M: ::serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $($crate::write_key!(map, $key, &self.$field $(, $null)?);)*
                Ok(())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::generated::write_object(self, serializer)
            }
        }

        impl $crate::generated::Field for $name {
            fn read(reader: &mut $crate::generated::Reader<'_>) -> $crate::generated::ReadResult<Self> {
                let mut object = Self::default();
                $crate::generated::read_object(&mut object, reader)?;
                Ok(object)
            }

            fn read_into(
                place: &mut Option<Self>,
                reader: &mut $crate::generated::Reader<'_>,
            ) -> $crate::generated::ReadResult<()> {
                $crate::generated::read_object(place.insert(Self::default()), reader)
            }
        }

        $crate::impl_deserialize!($name);
    };
}

/// Writes a key and its value. With `null`, a key without a value is written as null.
#[doc(hidden)]
#[macro_export]
macro_rules! write_key {
    ($map:ident, $key:literal, $field:expr) => {
        $crate::generated::WriteField::write_field($field, $key, $map)?
    };
    ($map:ident, $key:literal, $field:expr, null) => {
        $map.serialize_entry($key, $field)?
    };
}

/// Implements the constructor of a struct that is sent: it takes the fields that the schema requires.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_new {
    ($name:ident ()) => {
        impl $name {
            /// A value without fields. The schema requires none.
            #[allow(clippy::new_without_default)]
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }
        }
    };
    ($name:ident ($($field:ident $conversion:tt $($type:ty)?,)+)) => {
        impl $name {
            /// Names of the fields that the schema requires, in the order of [`Self::from_required`].
            #[doc(hidden)]
            pub const REQUIRED: &'static [&'static str] = &[$(stringify!($field)),+];

            /// A value with the fields that the schema requires. Use [`new!`](crate::new), which names them.
            #[doc(hidden)]
            #[allow(clippy::too_many_arguments)]
            #[must_use]
            pub fn from_required($($field: $crate::parameter_type!($conversion $($type)?)),+) -> Self {
                #[allow(clippy::needless_update)]
                Self { $($field: $crate::parameter_value!($conversion $field),)+ ..Self::default() }
            }
        }
    };
}

/// Constructs a generated struct from the fields that its schema requires, by name. All other fields are absent.
///
/// The fields must be exactly the required ones, in alphabetical order of their keys. So it is a compile error where the
/// struct is constructed if a later schema renames a required field, adds one, or no longer requires one.
#[macro_export]
macro_rules! new {
    ($type:ty { $($field:ident: $value:expr),+ $(,)? }) => {{
        // An item, because `cargo check` does not evaluate const blocks.
        const _: () = $crate::generated::check_required(<$type>::REQUIRED, &[$(stringify!($field)),+]);
        <$type>::from_required($($value),+)
    }};
}

/// Checks that the fields in a [`new!`] are those that the schema requires.
///
/// # Panics
/// If they differ. It is evaluated when the caller is compiled.
pub const fn check_required(required: &[&str], given: &[&str]) {
    let mut index = 0;
    while index < required.len() && index < given.len() {
        assert!(
            is_equal(required[index].as_bytes(), given[index].as_bytes()),
            "the schema requires another field at this position"
        );
        index += 1;
    }
    assert!(given.len() >= required.len(), "the schema requires a field that is missing here");
    assert!(given.len() <= required.len(), "the schema does not require one of these fields");
}

/// The type of a constructor's parameter.
#[doc(hidden)]
#[macro_export]
macro_rules! parameter_type {
    (id) => { impl Into<String> };
    (text) => { impl Into<String> };
    ($conversion:tt $type:ty) => { $type };
}

/// The value of a field from the constructor's parameter.
#[doc(hidden)]
#[macro_export]
macro_rules! parameter_value {
    (id $field:ident) => {
        $field.into()
    };
    (text $field:ident) => {
        Some($field.into())
    };
    (some $field:ident) => {
        Some($field)
    };
    (as $field:ident) => {
        $field
    };
}
