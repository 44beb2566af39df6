//! Unions whose members differ in the value of one or more tag keys.
//!
//! If the tag is the first key, the variant's struct reads the rest of the object from there. Otherwise the reader looks
//! ahead for the tag, and the struct reads the object from its start.

use std::borrow::Cow;

use crate::error::{ReadError, ReadResult};
use crate::json::Json;
use crate::losses::report_unknown_tag;
use crate::object::{ObjectFields, read_members};
use crate::reader::{Members, Reader};
use crate::repair::record_failure_in_needed;

/// A generated union with tag keys.
pub trait TaggedUnion: Sized {
    /// The key of the (first) tag.
    const KEY: &'static str;
    /// The union's name, for error messages.
    const NAME: &'static str;

    /// Reads the object into the variant of `tag`.
    fn from_tag(place: &mut Option<Self>, tag: &str, object: TaggedObject<'_, '_>) -> ReadResult<()>;
}

/// Reads a [`TaggedUnion`].
pub fn read_tagged<T: TaggedUnion>(reader: &mut Reader<'_>) -> ReadResult<T> {
    let mut place = None;
    read_tagged_into(&mut place, reader)?;
    place.ok_or_else(|| ReadError::missing(T::NAME, T::KEY))
}

/// Reads a [`TaggedUnion`] into its final place.
pub fn read_tagged_into<T: TaggedUnion>(place: &mut Option<T>, reader: &mut Reader<'_>) -> ReadResult<()> {
    let start = reader.clone();
    let mut members = reader.enter_object()?;
    let mut is_first = true;
    while let Some(key) = members.next_key_bytes(reader)? {
        if *key == *T::KEY.as_bytes() {
            let tag = reader.read_string().inspect_err(|_| record_failure_in_needed(T::KEY))?;
            let object = TaggedObject { union: T::NAME, tags: [T::KEY, ""], start, reader, is_tag_first: is_first };
            return T::from_tag(place, &tag, object);
        }
        is_first = false;
        reader.skip()?;
    }
    Err(ReadError::missing(T::NAME, T::KEY))
}

/// An object whose (first) tag has been read.
pub struct TaggedObject<'r, 'a> {
    union: &'static str,
    tags: [&'static str; 2],
    /// At the start of the object.
    start: Reader<'a>,
    /// After the tag.
    reader: &'r mut Reader<'a>,
    /// Whether the struct can continue after the tag, because the tag is the first key.
    is_tag_first: bool,
}

impl<'a> TaggedObject<'_, 'a> {
    /// Finds a further tag. It is also a field of the variant's struct.
    pub fn find_tag(&mut self, key: &'static str) -> ReadResult<Option<Cow<'a, str>>> {
        self.tags[1] = key;
        let mut ahead = self.start.clone();
        let mut members = ahead.enter_object()?;
        while let Some(found) = members.next_key_bytes(&mut ahead)? {
            if *found == *key.as_bytes() {
                return ahead.read_string().map(Some).inspect_err(|_| record_failure_in_needed(key));
            }
            ahead.skip()?;
        }
        Ok(None)
    }

    /// Lets the variant's struct read the tag again, for a struct that has the tag as a field.
    #[inline]
    pub fn keep_tag(&mut self) {
        self.is_tag_first = false;
    }

    /// Reads the object into the variant's struct.
    pub fn read_into(self, object: &mut dyn ObjectFields) -> ReadResult<()> {
        let (members, seen) = if self.is_tag_first {
            (Members::after_first_key(), [true, false])
        } else {
            *self.reader = self.start;
            (self.reader.enter_object()?, [false, false])
        };
        read_members(object, self.reader, members, self.tags, seen)
    }

    /// Keeps an object with an unknown tag. `joined` is the tag, with the values of several tag keys joined.
    pub fn into_unknown(self, joined: &str) -> ReadResult<Json> {
        let Self { union, tags, mut start, reader, is_tag_first } = self;
        start.peek();
        let (mut members, mut seen) = if is_tag_first {
            (Members::after_first_key(), [true, false])
        } else {
            *reader = start.clone();
            (reader.enter_object()?, [false, false])
        };
        while let Some(key) = members.next_key_bytes(reader)? {
            reject_repeated_tag(&key, tags, &mut seen)?;
            reader.skip()?;
        }
        report_unknown_tag(union, joined, reader);
        Ok(Json::from_valid(reader.text_since(&start)))
    }
}

/// Fails if a tag occurs twice.
///
/// The last occurrence of a key counts, so the variant may have been chosen by the wrong one. The repair reads a JSON
/// tree, which has only the last occurrence.
#[inline]
pub(crate) fn reject_repeated_tag(key: &[u8], tags: [&'static str; 2], seen: &mut [bool; 2]) -> ReadResult<()> {
    let [first, second] = seen;
    let is_repeated = (key == tags[0].as_bytes() && std::mem::replace(first, true))
        || (key == tags[1].as_bytes() && std::mem::replace(second, true));
    if is_repeated { Err(ReadError::repeated_tag(&String::from_utf8_lossy(key))) } else { Ok(()) }
}

/// Creates a variant with an empty struct and reads the object into the struct.
#[doc(hidden)]
#[macro_export]
macro_rules! read_variant {
    ($place:ident, $object:ident, $variant:ident) => {{
        if let Self::$variant(payload) = $place.insert(Self::$variant(Default::default())) {
            $object.read_into(payload)?;
        }
        Ok(())
    }};
}

/// Implements decoding of a [`TaggedUnion`], as a field and through serde.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_tagged_union {
    ($name:ident) => {
        impl $crate::generated::Field for $name {
            fn read(reader: &mut $crate::generated::Reader<'_>) -> $crate::generated::ReadResult<Self> {
                $crate::generated::read_tagged(reader)
            }

            fn read_into(
                place: &mut Option<Self>,
                reader: &mut $crate::generated::Reader<'_>,
            ) -> $crate::generated::ReadResult<()> {
                $crate::generated::read_tagged_into(place, reader)
            }
        }

        $crate::impl_deserialize!($name);
    };
}
