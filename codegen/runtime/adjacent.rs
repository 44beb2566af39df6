//! Unions whose tag and content are two keys side by side, as JSON-RPC's `method` and `params`.

use std::borrow::Cow;

use serde::ser::SerializeMap;

use super::Json;
use super::decode::{failed_in, failed_in_needed};
use super::fault::{Fault, Result};
use super::losses::note_unknown_tag;
use super::reader::Reader;

/// A generated union of this form: knows its keys and which struct the content of a tag is.
pub(crate) trait Adjacent: Sized {
    /// The key of the tag.
    const TAG: &'static str;
    /// The key of the content.
    const CONTENT: &'static str;
    /// The union's name, for error messages.
    const NAME: &'static str;

    /// Reads the content into the variant that `tag` names. Of an unknown one nothing is made, and the content is
    /// passed over.
    fn from_tag(place: &mut Option<Self>, tag: &str, content: &mut Reader<'_>) -> Result<()>;

    /// A message with an unknown tag.
    fn unknown(tag: String, raw: Json) -> Self;
}

/// A message around an [`Adjacent`] union: the union, and the keys beside its tag and content.
pub(crate) trait Envelope: Sized {
    /// The union inside.
    type Message: Adjacent;
    /// The keys beside it, while they are being read.
    type Siblings: Default;

    /// Reads the value of `key` if it is a sibling; says whether it was.
    fn sibling(into: &mut Self::Siblings, key: &str, reader: &mut Reader<'_>) -> Result<bool>;

    /// Puts the message together, or names the sibling that is missing.
    fn build(siblings: Self::Siblings, message: Self::Message) -> std::result::Result<Self, &'static str>;
}

/// The message alone: siblings are passed over.
pub(crate) struct Parts<T>(pub(crate) T);

impl<T: Adjacent> Envelope for Parts<T> {
    type Message = T;
    type Siblings = ();

    fn sibling((): &mut (), _: &str, _: &mut Reader<'_>) -> Result<bool> {
        Ok(false)
    }

    fn build((): (), message: T) -> std::result::Result<Self, &'static str> {
        Ok(Self(message))
    }
}

/// Puts a struct into its variant and reads the content there.
macro_rules! content {
    ($place:ident, $content:ident, $variant:ident) => {{
        if let Self::$variant(payload) = $place.insert(Self::$variant(Default::default())) {
            $crate::runtime::fill(payload, $content)?;
        }
        Ok(())
    }};
}
pub(crate) use content;

/// Writes a message with an unknown tag: the tag, and all else that stood in it but what is `written` already.
pub(crate) fn write_unknown<M: SerializeMap>(
    map: &mut M,
    (key, tag): (&str, &str),
    raw: &Json,
    written: &[&str],
) -> std::result::Result<(), M::Error> {
    map.serialize_entry(key, tag)?;
    let mut reader = Reader::new(raw.get());
    // What somebody made up may be no object, and then there is no more to be written.
    let Ok(mut members) = reader.object() else { return Ok(()) };
    while let Ok(Some(member)) = members.key(&mut reader)
        && let Ok(value) = Json::read(&mut reader)
    {
        if member != key && !written.contains(&Cow::as_ref(&member)) {
            map.serialize_entry(&member, &value)?;
        }
    }
    Ok(())
}

/// Reads an [`Envelope`].
pub(crate) fn adjacent<T: Envelope>(reader: &mut Reader<'_>) -> Result<T> {
    let mut tag = None;
    let mut message = None;
    let mut early: Option<Reader<'_>> = None;
    let mut siblings = T::Siblings::default();
    let mut whole = reader.clone();
    let mut members = reader.object()?;
    while let Some(key) = members.key(reader)? {
        if key == T::Message::TAG {
            let found = reader.string().inspect_err(|_| failed_in_needed(&key))?;
            if message.is_some() && tag.as_ref() != Some(&found) {
                return Err(Fault::repeated(&key));
            }
            tag = Some(found);
        } else if key == T::Message::CONTENT {
            match &tag {
                Some(tag) => T::Message::from_tag(&mut message, tag, reader).inspect_err(|_| failed_in_needed(&key))?,
                None => {
                    early = Some(reader.clone());
                    reader.skip()?;
                }
            }
        } else if !T::sibling(&mut siblings, &key, reader).inspect_err(|_| failed_in(&key))? {
            reader.skip()?;
        }
    }
    let Some(tag) = tag else { return Err(Fault::missing(T::Message::NAME, T::Message::TAG)) };
    if message.is_none() {
        // The content came before the tag, or there is none, which reads as an empty one.
        let mut content = early.unwrap_or_else(|| Reader::new("{}"));
        T::Message::from_tag(&mut message, &tag, &mut content)?;
    }
    let message = match message {
        Some(message) => message,
        None => {
            let raw = Json::read(&mut whole)?;
            note_unknown_tag(T::Message::NAME, &tag, &whole);
            T::Message::unknown(tag.into_owned(), raw)
        }
    };
    T::build(siblings, message).map_err(|key| Fault::missing(T::Message::NAME, key))
}
