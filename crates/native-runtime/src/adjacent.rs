//! Unions with the tag and the content under two keys of the same object, such as JSON-RPC's `method` and `params`.

use std::borrow::Cow;

use serde::ser::SerializeMap;

use crate::error::{ReadError, ReadResult};
use crate::field::Field as _;
use crate::json::Json;
use crate::losses::report_unknown_tag;
use crate::reader::Reader;
use crate::repair::{record_failure_in_needed, record_failure_in_optional};

/// A generated union with an adjacent tag.
pub trait AdjacentUnion: Sized {
    /// The key of the tag.
    const TAG: &'static str;
    /// The key of the content.
    const CONTENT: &'static str;
    /// The union's name, for error messages.
    const NAME: &'static str;

    /// Reads the content into the variant of `tag`. If the tag is unknown, skips the content and leaves `place` empty.
    fn from_tag(place: &mut Option<Self>, tag: &str, content: &mut Reader<'_>) -> ReadResult<()>;

    /// Wraps a message with an unknown tag.
    fn unknown(tag: String, raw: Json) -> Self;
}

/// An [`AdjacentUnion`] together with the other keys of its object, such as the `id` of a JSON-RPC request.
pub trait Envelope: Sized {
    /// The union inside.
    type Message: AdjacentUnion;
    /// The other keys, while they are being read.
    type Siblings: Default;

    /// Reads the value of `key` if it is one of the other keys, and returns whether it is.
    fn read_sibling(into: &mut Self::Siblings, key: &[u8], reader: &mut Reader<'_>) -> ReadResult<bool>;

    /// Builds the envelope, or returns the required key that is missing.
    fn build(siblings: Self::Siblings, message: Self::Message) -> Result<Self, &'static str>;
}

/// The message alone. Other keys are skipped.
pub struct WithoutSiblings<T>(pub T);

impl<T: AdjacentUnion> Envelope for WithoutSiblings<T> {
    type Message = T;
    type Siblings = ();

    fn read_sibling((): &mut (), _: &[u8], _: &mut Reader<'_>) -> ReadResult<bool> {
        Ok(false)
    }

    fn build((): (), message: T) -> Result<Self, &'static str> {
        Ok(Self(message))
    }
}

/// Reads an [`Envelope`].
pub fn read_envelope<T: Envelope>(reader: &mut Reader<'_>) -> ReadResult<T> {
    let mut tag = None;
    let mut message = None;
    let mut content_before_tag: Option<Reader<'_>> = None;
    let mut siblings = T::Siblings::default();
    reader.peek();
    let start = reader.clone();
    let mut members = reader.enter_object()?;
    while let Some(key) = members.next_key_bytes(reader)? {
        if *key == *T::Message::TAG.as_bytes() {
            let found = reader.read_string().inspect_err(|_| record_failure_in_needed(T::Message::TAG))?;
            if message.is_some() && tag.as_ref() != Some(&found) {
                return Err(ReadError::repeated_tag(T::Message::TAG));
            }
            tag = Some(found);
        } else if *key == *T::Message::CONTENT.as_bytes() {
            if let Some(tag) = &tag {
                T::Message::from_tag(&mut message, tag, reader)
                    .inspect_err(|_| record_failure_in_needed(T::Message::CONTENT))?;
            } else {
                content_before_tag = Some(reader.clone());
                reader.skip()?;
            }
        } else if !T::read_sibling(&mut siblings, &key, reader)
            .inspect_err(|_| record_failure_in_optional(&String::from_utf8_lossy(&key)))?
        {
            reader.skip()?;
        }
    }
    let Some(tag) = tag else { return Err(ReadError::missing(T::Message::NAME, T::Message::TAG)) };
    if message.is_none() {
        // Missing content is read as an empty object.
        let mut content = content_before_tag.unwrap_or_else(Reader::empty_object);
        T::Message::from_tag(&mut message, &tag, &mut content)?;
    }
    let message = if let Some(message) = message {
        message
    } else {
        report_unknown_tag(T::Message::NAME, &tag, reader);
        T::Message::unknown(tag.into_owned(), Json::from_valid(reader.text_since(&start)))
    };
    T::build(siblings, message).map_err(|key| ReadError::missing(T::Message::NAME, key))
}

/// Writes a message with an unknown tag: the tag, and every other key of `raw` that is not in `written`.
pub fn write_unknown_message<M: SerializeMap>(
    map: &mut M,
    (key, tag): (&str, &str),
    raw: &Json,
    written: &[&str],
) -> Result<(), M::Error> {
    map.serialize_entry(key, tag)?;
    let mut reader = Reader::new(raw.get());
    // A caller may have built the value from JSON that is not an object. It has no keys to write.
    let Ok(mut members) = reader.enter_object() else { return Ok(()) };
    while let Ok(Some(member)) = members.next_key(&mut reader)
        && let Ok(value) = Json::read(&mut reader)
    {
        if member != key && !written.contains(&Cow::as_ref(&member)) {
            map.serialize_entry(&member, &value)?;
        }
    }
    Ok(())
}

/// Creates a variant with an empty struct and reads the content into the struct.
#[doc(hidden)]
#[macro_export]
macro_rules! read_content {
    ($place:ident, $content:ident, $variant:ident) => {{
        if let Self::$variant(payload) = $place.insert(Self::$variant(Default::default())) {
            $crate::generated::read_object(payload, $content)?;
        }
        Ok(())
    }};
}
