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

    /// Decodes the content into the variant that `tag` names.
    fn from_tag<'de, D: Deserializer<'de>>(tag: &str, content: D) -> Result<Self, D::Error>;
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
                tag = Some(map.next_value_seed(Text)?);
            } else if key == T::Message::CONTENT {
                match &tag {
                    Some(tag) => {
                        let content = map.next_value_seed(Content::<T::Message>(tag, PhantomData));
                        message = Some(content.inspect_err(|_| failed_in(T::Message::CONTENT))?);
                    }
                    None => early = Some(map.next_value()?),
                }
            } else if !T::sibling(&mut siblings, &key, &mut map).inspect_err(|_| failed_in(&key))? {
                map.next_value::<IgnoredAny>()?;
            }
        }
        let Some(tag) = tag else {
            return Err(A::Error::custom(format_args!("{} without its tag `{}`", T::Message::NAME, T::Message::TAG)));
        };
        let message = match message {
            Some(message) => message,
            None => {
                let text = early.as_ref().map_or("{}", Json::get);
                T::Message::from_tag(&tag, &mut serde_json::Deserializer::from_str(text)).map_err(A::Error::custom)?
            }
        };
        T::build(siblings, message).map_err(A::Error::missing_field)
    }
}

struct Content<'a, T>(&'a str, PhantomData<T>);

impl<'de, T: Adjacent> DeserializeSeed<'de> for Content<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::from_tag(self.0, deserializer)
    }
}
