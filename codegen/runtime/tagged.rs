//! Unions told apart by one or more tag keys inside the object.
//!
//! The tag is read from the map and the rest of the map goes straight to the variant's struct. Keys that stand before
//! the tag wait as text, and are read by the struct before it goes on with the map.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::object::{Filling, Object};
use super::{Json, note_unknown_tag};

/// A generated union: knows its first tag key and which struct follows from a tag.
pub(crate) trait Tagged: Sized {
    /// The key of the (first) tag.
    const KEY: &'static str;
    /// The union's name, for error messages.
    const NAME: &'static str;

    /// Decodes the rest of the object into the variant that `tag` names.
    fn from_tag<'de, A: MapAccess<'de>>(tag: &str, rest: Rest<A>) -> Result<Self, A::Error>;
}

/// Deserialises a [`Tagged`] union.
pub(crate) fn tagged<'de, T: Tagged, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(TaggedVisitor(PhantomData))
}

struct TaggedVisitor<T>(PhantomData<T>);

impl<'de, T: Tagged> Visitor<'de> for TaggedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the tag `{}` ({})", T::KEY, T::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let mut rest = Rest { union: T::NAME, before: String::new(), map };
        match rest.take(T::KEY)? {
            Some(tag) => T::from_tag(&tag, rest),
            None => Err(A::Error::custom(format_args!("{} without its tag `{}`", T::NAME, T::KEY))),
        }
    }
}

/// An object of which the tag has been read: what stood before it, and what is still to come.
pub(crate) struct Rest<A> {
    union: &'static str,
    /// The entries before the tag, as the inside of a JSON object.
    before: String,
    map: A,
}

impl<'de, A: MapAccess<'de>> Rest<A> {
    /// Reads on to `key` and returns its string, putting other keys aside.
    fn take(&mut self, key: &str) -> Result<Option<Cow<'de, str>>, A::Error> {
        while let Some(next) = self.map.next_key_seed(Text)? {
            if next == key {
                return self.map.next_value_seed(Text).map(Some);
            }
            let value: Box<RawValue> = self.map.next_value()?;
            push_entry(&mut self.before, &next, value.get());
        }
        Ok(None)
    }

    /// Finds a further tag, which stays a field of the variant's struct.
    pub(crate) fn tag(&mut self, key: &'static str) -> Result<Option<Cow<'de, str>>, A::Error> {
        if !self.before.is_empty() {
            let before: Value = serde_json::from_str(&self.object_before()).map_err(A::Error::custom)?;
            if let Some(found) = before.get(key) {
                return Ok(found.as_str().map(|tag| Cow::Owned(tag.to_owned())));
            }
        }
        let tag = self.take(key)?;
        if let Some(tag) = &tag {
            self.keep(key, tag);
        }
        Ok(tag)
    }

    /// Gives a tag back to the variant's struct, which has it as a field.
    pub(crate) fn keep(&mut self, key: &'static str, tag: &str) {
        push_entry(&mut self.before, key, &quoted(tag));
    }

    /// Decodes the object into the variant's struct.
    pub(crate) fn decode<T: Object>(self) -> Result<T, A::Error> {
        let mut filling = Filling::new();
        if !self.before.is_empty() {
            let text = self.object_before();
            let mut parser = serde_json::Deserializer::from_str(&text);
            parser.deserialize_map(FillVisitor(&mut filling)).map_err(A::Error::custom)?;
        }
        filling.fill(self.map)?;
        filling.finish()
    }

    /// Keeps an object whose tags, together `joined`, are not known.
    pub(crate) fn unknown(mut self, key: &str, tag: &str, joined: &str) -> Result<Json, A::Error> {
        note_unknown_tag(self.union, joined);
        let mut inside = String::new();
        push_entry(&mut inside, key, &quoted(tag));
        if !self.before.is_empty() {
            inside.push(',');
            inside.push_str(&self.before);
        }
        while let Some(key) = self.map.next_key_seed(Text)? {
            let value: Box<RawValue> = self.map.next_value()?;
            push_entry(&mut inside, &key, value.get());
        }
        Json::from_text(format!("{{{inside}}}")).map_err(A::Error::custom)
    }

    fn object_before(&self) -> String {
        format!("{{{}}}", self.before)
    }
}

fn push_entry(inside: &mut String, key: &str, value: &str) {
    if !inside.is_empty() {
        inside.push(',');
    }
    inside.push_str(&quoted(key));
    inside.push(':');
    inside.push_str(value);
}

/// A string as JSON.
fn quoted(text: &str) -> Cow<'static, str> {
    if text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\') {
        return Cow::Owned(format!("\"{text}\""));
    }
    Cow::Owned(Value::from(text).to_string())
}

struct FillVisitor<'a, T>(&'a mut Filling<T>);

impl<'de, T: Object> Visitor<'de> for FillVisitor<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.0.fill(map)
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
