//! Unions whose tag and content are two keys side by side, as JSON-RPC's `method` and `params`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};

use super::Json;
use super::decode::failed_in;
use super::tagged::Text;

/// A generated union of this form: knows its keys and which struct the content of a tag is.
pub(crate) trait Adjacent: Sized {
    /// The key of the tag.
    const TAG: &'static str;
    /// The key of the content.
    const CONTENT: &'static str;
    /// The union's name, for error messages.
    const NAME: &'static str;

    /// Reads the content into the variant that `tag` names.
    fn from_tag<'de, D: Deserializer<'de>>(place: &mut Option<Self>, tag: &str, content: D) -> Result<(), D::Error>;
}

/// A message around an [`Adjacent`] union: the union, and the keys beside its tag and content.
pub(crate) trait Envelope: Sized {
    /// The union inside.
    type Message: Adjacent;
    /// The keys beside it, while they are being read.
    type Siblings: Default;

    /// Reads the value of `key` if it is a sibling; says whether it was.
    fn sibling<'de, A: MapAccess<'de>>(into: &mut Self::Siblings, key: &str, map: &mut A) -> Result<bool, A::Error>;

    /// Puts the message together, or names the sibling that is missing.
    fn build(siblings: Self::Siblings, message: Self::Message) -> Result<Self, &'static str>;
}

/// The message alone: siblings are passed over.
pub(crate) struct Parts<T>(pub(crate) T);

impl<T: Adjacent> Envelope for Parts<T> {
    type Message = T;
    type Siblings = ();

    fn sibling<'de, A: MapAccess<'de>>((): &mut (), _: &str, _: &mut A) -> Result<bool, A::Error> {
        Ok(false)
    }

    fn build((): (), message: T) -> Result<Self, &'static str> {
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

/// Deserialises an [`Envelope`].
pub(crate) fn adjacent<'de, T: Envelope, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(AdjacentVisitor(PhantomData))
}

/// The content of an unknown tag for writing: nothing where there was none.
pub(crate) fn params_of(raw: &Json) -> Option<&Json> {
    (raw.get() != "null").then_some(raw)
}

struct AdjacentVisitor<T>(PhantomData<T>);

impl<'de, T: Envelope> Visitor<'de> for AdjacentVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the tag `{}` ({})", T::Message::TAG, T::Message::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut tag = None;
        let mut message = None;
        let mut early: Option<Json> = None;
        let mut siblings = T::Siblings::default();
        while let Some(key) = map.next_key_seed(Text)? {
            if key == T::Message::TAG {
                let found = map.next_value_seed(Text)?;
                if message.is_some() && tag.as_ref() != Some(&found) {
                    return Err(A::Error::custom(format_args!("two different tags `{}`", T::Message::TAG)));
                }
                tag = Some(found);
            } else if key == T::Message::CONTENT {
                match &tag {
                    Some(tag) => map
                        .next_value_seed(Content { place: &mut message, tag })
                        .inspect_err(|_| failed_in(T::Message::CONTENT))?,
                    None => early = Some(map.next_value()?),
                }
            } else if !T::sibling(&mut siblings, &key, &mut map).inspect_err(|_| failed_in(&key))? {
                map.next_value::<IgnoredAny>()?;
            }
        }
        let Some(tag) = tag else {
            return Err(A::Error::custom(format_args!("{} without its tag `{}`", T::Message::NAME, T::Message::TAG)));
        };
        if message.is_none() {
            // The content came before the tag, or there is none, which reads as an empty one.
            let text = early.as_ref().map_or("{}", Json::get);
            let mut content = serde_json::Deserializer::from_str(text);
            T::Message::from_tag(&mut message, &tag, &mut content).map_err(A::Error::custom)?;
        }
        match message {
            Some(message) => T::build(siblings, message).map_err(A::Error::missing_field),
            None => Err(A::Error::custom(format_args!("{} without a variant", T::Message::NAME))),
        }
    }
}

struct Content<'a, T> {
    place: &'a mut Option<T>,
    tag: &'a str,
}

impl<'de, T: Adjacent> DeserializeSeed<'de> for Content<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        T::from_tag(self.place, self.tag, deserializer)
    }
}
