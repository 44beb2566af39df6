//! Structs, read in place: each field is written into the value as its key comes by, whatever the order.
//!
//! A derived `Deserialize` keeps every field in a local until the end and moves them all into the struct; with
//! hundreds of wide structs that is slow to run and slower to compile. It also refuses a key that comes twice, where
//! here the last one wins.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::decode::failed_in;
use super::tagged::{Tags, Text};

/// A generated struct: knows what to do with each key.
pub(crate) trait Object: Default {
    /// The key and value that mark this struct in its union; written, never read.
    const MARK: Option<(&'static str, &'static str)>;
    /// The keys without which the struct is not one.
    const REQUIRED: &'static [&'static str];

    /// Reads the value of `key` into its field; `false` if there is no such field.
    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error>;

    /// Writes the fields that have a value.
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;
}

impl<T: Object> Object for Box<T> {
    const MARK: Option<(&'static str, &'static str)> = T::MARK;
    const REQUIRED: &'static [&'static str] = T::REQUIRED;

    fn read<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
        (**self).read(key, map)
    }

    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        (**self).write(map)
    }
}

/// Says which key belongs to which field, and derives everything else from that.
macro_rules! object {
    ($name:ident ($($mark:literal = $value:literal)?) [$($required:literal)*] { $($field:ident = $key:literal)* }) => {
        impl $crate::runtime::Object for $name {
            const MARK: Option<(&'static str, &'static str)> = $crate::runtime::mark!($($mark $value)?);
            const REQUIRED: &'static [&'static str] = &[$($required),*];

            #[allow(unused_variables)]
            fn read<'de, A: ::serde::de::MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<bool, A::Error> {
                match key {
                    $($key => $crate::runtime::Slot::next(&mut self.$field, map)?,)*
                    _ => return Ok(false),
                }
                #[allow(unreachable_code)]
                Ok(true)
            }

            #[allow(unused_variables)]
            fn write<M: ::serde::ser::SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
                $($crate::runtime::Put::put(&self.$field, $key, map)?;)*
                Ok(())
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::runtime::read_object(deserializer)
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::runtime::write_object(self, serializer)
            }
        }

        impl $crate::runtime::Field for $name {
            fn field<'de, D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::runtime::read_object(deserializer)
            }

            fn place<'de, D: ::serde::Deserializer<'de>>(
                place: &mut Option<Self>,
                deserializer: D,
            ) -> Result<(), D::Error> {
                $crate::runtime::fill(place.insert(Self::default()), deserializer)
            }
        }
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

/// Deserialises an [`Object`].
pub(crate) fn read_object<'de, T: Object, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let mut object = T::default();
    fill(&mut object, deserializer)?;
    Ok(object)
}

/// Reads an object's keys into `object`.
pub(crate) fn fill<'de, T: Object, D: Deserializer<'de>>(object: &mut T, deserializer: D) -> Result<(), D::Error> {
    deserializer.deserialize_map(ObjectVisitor(object))
}

/// Serialises an [`Object`].
pub(crate) fn write_object<T: Object, S: Serializer>(object: &T, serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    if let Some((key, value)) = T::MARK {
        map.serialize_entry(key, value)?;
    }
    object.write(&mut map)?;
    map.end()
}

struct ObjectVisitor<'a, T>(&'a mut T);

impl<'de, T: Object> Visitor<'de> for ObjectVisitor<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let mut seen = Seen::default();
        read_keys(self.0, map, &mut seen, &Tags::default())?;
        seen.check::<T, _>()
    }
}

/// Which of an object's required keys have been there, a bit each.
#[derive(Default)]
pub(super) struct Seen(u32);

impl Seen {
    pub(super) fn note<T: Object>(&mut self, key: &str) {
        if let Some(place) = T::REQUIRED.iter().position(|required| *required == key) {
            self.0 |= 1 << place;
        }
    }

    pub(super) fn check<T: Object, E: serde::de::Error>(&self) -> Result<(), E> {
        match T::REQUIRED.iter().enumerate().find(|(place, _)| self.0 & (1 << place) == 0) {
            Some((_, missing)) => Err(E::missing_field(missing)),
            None => Ok(()),
        }
    }
}

/// Reads all that is left of a map, of which `tags` have been read.
pub(super) fn read_keys<'de, T: Object, A: MapAccess<'de>>(
    object: &mut T,
    mut map: A,
    seen: &mut Seen,
    tags: &Tags<'de>,
) -> Result<(), A::Error> {
    while let Some(key) = map.next_key_seed(Text)? {
        if tags.has(&key) {
            tags.confirm(&key, &mut map)?;
            continue;
        }
        seen.note::<T>(&key);
        match object.read(&key, &mut map) {
            Ok(true) => {}
            Ok(false) => {
                map.next_value::<IgnoredAny>()?;
            }
            Err(error) => {
                failed_in(&key);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// A type that a field can have.
pub(crate) trait Field: Sized {
    /// Reads a value.
    fn field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// Reads a value to where it will stay. Wide types are built there instead of being handed up level by level.
    fn place<'de, D: Deserializer<'de>>(place: &mut Option<Self>, deserializer: D) -> Result<(), D::Error> {
        *place = Some(Self::field(deserializer)?);
        Ok(())
    }
}

/// What a struct declares: an optional value, or a required string.
pub(crate) trait Slot {
    /// Reads the next value of a map into the slot.
    fn next<'de, A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(), A::Error>;
}

impl Slot for String {
    fn next<'de, A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(), A::Error> {
        *self = map.next_value()?;
        Ok(())
    }
}

impl<T: Field> Slot for Option<T> {
    fn next<'de, A: MapAccess<'de>>(&mut self, map: &mut A) -> Result<(), A::Error> {
        map.next_value_seed(OptionSeed(self))
    }
}

struct OptionSeed<'a, T>(&'a mut Option<T>);

impl<'de, T: Field> DeserializeSeed<'de> for OptionSeed<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de, T: Field> Visitor<'de> for OptionSeed<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        *self.0 = None;
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        *self.0 = None;
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        T::place(self.0, deserializer)
    }
}

/// Makes types that already deserialise usable as fields.
macro_rules! field {
    ($($name:ty),*) => {
        $(impl $crate::runtime::Field for $name {
            fn field<'de, D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                ::serde::Deserialize::deserialize(deserializer)
            }
        })*
    };
}
pub(crate) use field;

field!(bool, i64, u64, String, serde_json::Number, super::Json);

impl<T: Field> Field for Option<T> {
    fn field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = None;
        deserializer.deserialize_option(OptionSeed(&mut value))?;
        Ok(value)
    }
}

impl<T: Field> Field for Box<T> {
    fn field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::field(deserializer).map(Box::new)
    }
}

impl<T: Field> Field for Vec<T> {
    fn field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ListVisitor(PhantomData))
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Field> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        loop {
            match seq.next_element_seed(ElementSeed(PhantomData)) {
                Ok(Some(element)) => list.push(element),
                Ok(None) => return Ok(list),
                Err(error) => {
                    failed_in(&list.len().to_string());
                    return Err(error);
                }
            }
        }
    }
}

struct ElementSeed<T>(PhantomData<T>);

impl<'de, T: Field> DeserializeSeed<'de> for ElementSeed<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::field(deserializer)
    }
}

impl<T: Field> Field for BTreeMap<String, T> {
    fn field<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MapVisitor(PhantomData))
    }
}

struct MapVisitor<T>(PhantomData<T>);

impl<'de, T: Field> Visitor<'de> for MapVisitor<T> {
    type Value = BTreeMap<String, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BTreeMap<String, T>, A::Error> {
        let mut found = BTreeMap::new();
        while let Some(key) = map.next_key::<String>()? {
            match map.next_value_seed(ElementSeed(PhantomData)) {
                Ok(value) => found.insert(key, value),
                Err(error) => {
                    failed_in(&key);
                    return Err(error);
                }
            };
        }
        Ok(found)
    }
}

/// A field that writes itself, or nothing where it has no value.
pub(crate) trait Put {
    /// Writes the field under `key`.
    fn put<M: SerializeMap>(&self, key: &'static str, map: &mut M) -> Result<(), M::Error>;
}

impl Put for String {
    fn put<M: SerializeMap>(&self, key: &'static str, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry(key, self)
    }
}

impl<T: Serialize> Put for Option<T> {
    fn put<M: SerializeMap>(&self, key: &'static str, map: &mut M) -> Result<(), M::Error> {
        match self {
            Some(value) => map.serialize_entry(key, value),
            None => Ok(()),
        }
    }
}
