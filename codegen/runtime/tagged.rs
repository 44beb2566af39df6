//! Unions told apart by one or more tag keys inside the object.
//!
//! The tag is read from the map and the rest of the map goes straight to the variant's struct. Keys that stand before
//! the tag wait as text, and the struct reads them first.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use super::object::{Object, Seen, read_keys};
use super::{Json, failed_in, note_unknown_tag};

/// A generated union: knows its first tag key and which struct follows from a tag.
pub(crate) trait Tagged: Sized {
    /// The key of the (first) tag.
    const KEY: &'static str;
    /// The union's name, for error messages.
    const NAME: &'static str;

    /// Reads the rest of the object into the variant that `tag` names.
    fn from_tag<'de, A: MapAccess<'de>>(
        place: &mut Option<Self>,
        tag: &str,
        rest: Rest<'de, A>,
    ) -> Result<(), A::Error>;
}

/// Puts a struct into its variant and reads the rest of the object there.
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
        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::runtime::tagged(deserializer)
            }
        }

        impl $crate::runtime::Field for $name {
            fn field<'de, D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::runtime::tagged(deserializer)
            }

            fn place<'de, D: ::serde::Deserializer<'de>>(
                place: &mut Option<Self>,
                deserializer: D,
            ) -> Result<(), D::Error> {
                $crate::runtime::place_tagged(place, deserializer)
            }
        }
    };
}
pub(crate) use tagged_union;

/// Deserialises a [`Tagged`] union.
pub(crate) fn tagged<'de, T: Tagged, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let mut place = None;
    place_tagged(&mut place, deserializer)?;
    place.ok_or_else(|| D::Error::custom(format_args!("{} without a variant", T::NAME)))
}

/// Deserialises a [`Tagged`] union to where it will stay.
pub(crate) fn place_tagged<'de, T: Tagged, D: Deserializer<'de>>(
    place: &mut Option<T>,
    deserializer: D,
) -> Result<(), D::Error> {
    deserializer.deserialize_map(TaggedVisitor(place))
}

struct TaggedVisitor<'a, T>(&'a mut Option<T>);

impl<'de, T: Tagged> Visitor<'de> for TaggedVisitor<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the tag `{}` ({})", T::KEY, T::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        let mut rest = Rest { union: T::NAME, tags: Tags::default(), before: Vec::new(), map };
        match rest.take(T::KEY)? {
            Some(tag) => {
                rest.tags.first = Some((T::KEY, tag.clone()));
                T::from_tag(self.0, &tag, rest)
            }
            None => Err(A::Error::custom(format_args!("{} without its tag `{}`", T::NAME, T::KEY))),
        }
    }
}

/// The tags of an object that have been read.
///
/// Where a key comes twice the last one counts, and a tag that comes again with another value has led to the wrong
/// variant. That is an error here, and the second, lenient reading gets it right.
#[derive(Default)]
pub(super) struct Tags<'de> {
    /// The first tag, which is no field of the variant's struct unless it was given back.
    first: Option<(&'static str, Cow<'de, str>)>,
    /// A further tag, which is a field.
    further: Option<(&'static str, Cow<'de, str>)>,
}

impl Tags<'_> {
    pub(super) fn has(&self, key: &str) -> bool {
        [&self.first, &self.further].into_iter().flatten().any(|(known, _)| *known == key)
    }

    /// Refuses a tag that comes again with another value.
    pub(super) fn confirm<'de, A: MapAccess<'de>>(&self, key: &str, map: &mut A) -> Result<(), A::Error> {
        let known = [&self.first, &self.further].into_iter().flatten().find(|(known, _)| *known == key);
        match known {
            None => map.next_value::<IgnoredAny>().map(|_| ()),
            Some((_, tag)) => {
                let again = map.next_value_seed(Text)?;
                if *tag == again { Ok(()) } else { Err(A::Error::custom(format_args!("two different tags `{key}`"))) }
            }
        }
    }
}

/// An object of which the tag has been read: what stood before it, and what is still to come.
pub(crate) struct Rest<'de, A> {
    union: &'static str,
    tags: Tags<'de>,
    before: Vec<(Cow<'de, str>, Json)>,
    map: A,
}

impl<'de, A: MapAccess<'de>> Rest<'de, A> {
    /// Reads on to `key` and returns its string, putting other keys aside.
    fn take(&mut self, key: &str) -> Result<Option<Cow<'de, str>>, A::Error> {
        while let Some(next) = self.map.next_key_seed(Text)? {
            if next == key {
                return self.map.next_value_seed(Text).map(Some);
            }
            if self.tags.has(&next) {
                self.tags.confirm(&next, &mut self.map)?;
                continue;
            }
            let value = self.map.next_value()?;
            self.before.push((next, value));
        }
        Ok(None)
    }

    /// Finds a further tag, which stays a field of the variant's struct.
    pub(crate) fn tag(&mut self, key: &'static str) -> Result<Option<Cow<'de, str>>, A::Error> {
        if let Some((_, value)) = self.before.iter().rev().find(|(name, _)| name == key) {
            let tag: Option<Cow<'de, str>> = serde_json::from_str(value.get()).ok().map(Cow::Owned);
            self.tags.further = tag.clone().map(|tag| (key, tag));
            return Ok(tag);
        }
        let tag = self.take(key)?;
        if let Some(tag) = &tag {
            self.tags.further = Some((key, tag.clone()));
            self.keep(key, tag);
        }
        Ok(tag)
    }

    /// Gives a tag back to the variant's struct, which has it as a field.
    pub(crate) fn keep(&mut self, key: &'static str, tag: &str) {
        self.before.push((Cow::Borrowed(key), Json::from(Value::from(tag))));
    }

    /// Reads the object into the variant's struct.
    pub(crate) fn fill<T: Object>(self, object: &mut T) -> Result<(), A::Error> {
        let mut seen = Seen::default();
        for (key, value) in &self.before {
            seen.note::<T>(key);
            object.read(key, &mut One(value)).map_err(|error| {
                failed_in(key);
                A::Error::custom(error)
            })?;
        }
        read_keys(object, self.map, &mut seen, &self.tags)?;
        seen.check::<T, _>()
    }

    /// Keeps an object whose tags, together `joined`, are not known.
    pub(crate) fn unknown(mut self, key: &str, tag: &str, joined: &str) -> Result<Json, A::Error> {
        note_unknown_tag(self.union, joined);
        let mut text = String::from("{");
        push_entry(&mut text, key, &Value::from(tag).to_string());
        for (key, value) in std::mem::take(&mut self.before) {
            push_entry(&mut text, &key, value.get());
        }
        while let Some(key) = self.map.next_key_seed(Text)? {
            if self.tags.has(&key) {
                return Err(A::Error::custom(format_args!("two tags `{key}`")));
            }
            let value: Json = self.map.next_value()?;
            push_entry(&mut text, &key, value.get());
        }
        text.push('}');
        Json::from_text(text).map_err(A::Error::custom)
    }
}

fn push_entry(text: &mut String, key: &str, value: &str) {
    if text.len() > 1 {
        text.push(',');
    }
    text.push_str(&Value::from(key).to_string());
    text.push(':');
    text.push_str(value);
}

/// A map of which one key has been read, and this is its value.
struct One<'a>(&'a Json);

impl<'a> MapAccess<'a> for One<'a> {
    type Error = serde_json::Error;

    fn next_key_seed<K: DeserializeSeed<'a>>(&mut self, _: K) -> Result<Option<K::Value>, serde_json::Error> {
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'a>>(&mut self, seed: V) -> Result<V::Value, serde_json::Error> {
        seed.deserialize(&mut serde_json::Deserializer::from_str(self.0.get()))
    }
}

/// Reads a string, borrowed from the input where it can be.
pub(super) struct Text;

impl<'de> DeserializeSeed<'de> for Text {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Cow<'de, str>, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Text {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(value))
    }
}
