//! Unions told apart by one or more tag keys inside the object.
//!
//! Where the tag stands first, the rest of the object goes straight to the variant's struct. Where it does not, it is
//! looked up ahead and the struct reads the object from its start.

use std::borrow::Cow;

use super::Json;
use super::decode::failed_in_needed;
use super::fault::{Fault, Result};
use super::losses::note_unknown_tag;
use super::object::{Keys, read_members};
use super::reader::{Members, Reader};

/// A generated union: knows its first tag key and which struct follows from a tag.
pub(crate) trait Tagged: Sized {
    /// The key of the (first) tag.
    const KEY: &'static str;
    /// The union's name, for error messages.
    const NAME: &'static str;

    /// Reads the object into the variant that `tag` names.
    fn from_tag(place: &mut Option<Self>, tag: &str, rest: Rest<'_, '_>) -> Result<()>;
}

/// Puts a struct into its variant and reads the object there.
macro_rules! variant {
    ($place:ident, $rest:ident, $variant:ident) => {{
        if let Self::$variant(payload) = $place.insert(Self::$variant(Default::default())) {
            $rest.fill(payload)?;
        }
        Ok(())
    }};
}
pub(crate) use variant;

/// Makes a [`Tagged`] union readable, on its own and as a field.
macro_rules! tagged_union {
    ($name:ident) => {
        impl $crate::runtime::Field for $name {
            fn field(reader: &mut $crate::runtime::Reader<'_>) -> $crate::runtime::Read<Self> {
                $crate::runtime::tagged(reader)
            }

            fn place(place: &mut Option<Self>, reader: &mut $crate::runtime::Reader<'_>) -> $crate::runtime::Read<()> {
                $crate::runtime::place_tagged(place, reader)
            }
        }

        $crate::runtime::readable!($name);
    };
}
pub(crate) use tagged_union;

/// Reads a [`Tagged`] union.
pub(crate) fn tagged<T: Tagged>(reader: &mut Reader<'_>) -> Result<T> {
    let mut place = None;
    place_tagged(&mut place, reader)?;
    place.ok_or_else(|| Fault::missing(T::NAME, T::KEY))
}

/// Reads a [`Tagged`] union to where it will stay.
pub(crate) fn place_tagged<T: Tagged>(place: &mut Option<T>, reader: &mut Reader<'_>) -> Result<()> {
    let start = reader.clone();
    let mut members = reader.object()?;
    let mut first = true;
    while let Some(key) = members.key(reader)? {
        if key == T::KEY {
            let tag = reader.string().inspect_err(|_| failed_in_needed(T::KEY))?;
            let rest = Rest { union: T::NAME, tags: [T::KEY, ""], start, reader, after_tag: first };
            return T::from_tag(place, &tag, rest);
        }
        first = false;
        reader.skip()?;
    }
    Err(Fault::missing(T::NAME, T::KEY))
}

/// An object of which the tag has been read.
pub(crate) struct Rest<'r, 'a> {
    union: &'static str,
    tags: [&'static str; 2],
    /// Where the object begins.
    start: Reader<'a>,
    /// Directly behind the tag.
    reader: &'r mut Reader<'a>,
    /// Whether the struct can go on from there: only the tag stood before it.
    after_tag: bool,
}

impl<'a> Rest<'_, 'a> {
    /// Finds a further tag, which stays a field of the variant's struct.
    pub(crate) fn tag(&mut self, key: &'static str) -> Result<Option<Cow<'a, str>>> {
        self.tags[1] = key;
        let mut ahead = self.start.clone();
        let mut members = ahead.object()?;
        while let Some(found) = members.key(&mut ahead)? {
            if found == key {
                return ahead.string().map(Some).inspect_err(|_| failed_in_needed(key));
            }
            ahead.skip()?;
        }
        Ok(None)
    }

    /// Gives the tag back to the variant's struct, which has it as a field.
    pub(crate) fn keep(&mut self) {
        self.after_tag = false;
    }

    /// Reads the object into the variant's struct.
    pub(crate) fn fill(self, object: &mut dyn Keys) -> Result<()> {
        let (members, seen) = if self.after_tag {
            (Members::after_the_first(), [true, false])
        } else {
            *self.reader = self.start;
            (self.reader.object()?, [false, false])
        };
        read_members(object, self.reader, members, self.tags, seen)
    }

    /// Keeps an object whose tags, together `joined`, are not known.
    pub(crate) fn unknown(self, joined: &str) -> Result<Json> {
        let mut ahead = self.start.clone();
        let mut members = ahead.object()?;
        let mut seen = [false, false];
        while let Some(key) = members.key(&mut ahead)? {
            once(&key, self.tags, &mut seen)?;
            ahead.skip()?;
        }
        *self.reader = self.start;
        let raw = Json::read(self.reader)?;
        note_unknown_tag(self.union, joined, self.reader);
        Ok(raw)
    }
}

/// Refuses a tag that comes again.
///
/// Where a key comes twice the last one counts, and the first tag may have led to the wrong variant. The second,
/// lenient reading gets it right.
#[inline]
pub(super) fn once(key: &str, tags: [&'static str; 2], seen: &mut [bool; 2]) -> Result<()> {
    for (tag, seen) in tags.into_iter().zip(seen) {
        if key == tag && std::mem::replace(seen, true) {
            return Err(Fault::repeated(key));
        }
    }
    Ok(())
}
