//! Text in JSON that is looked at and seldom kept.

use std::borrow::Cow;
use std::ops::Deref;

use serde::Deserialize;

/// A text that is borrowed from the line it stands in, unless it has escapes. As a type of its own, because an
/// `Option<Cow<str>>` is always a copy to serde.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub(super) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Text<'_> {
    pub(super) fn into_owned(self) -> String {
        self.0.into_owned()
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_copy_only_where_there_are_escapes() {
        let read: [Option<Text<'_>>; 2] = serde_json::from_str(r#"["plain","a\"b"]"#).unwrap();
        let [Some(Text(Cow::Borrowed("plain"))), Some(Text(Cow::Owned(escaped)))] = &read else { panic!("{read:?}") };
        assert_eq!(escaped, "a\"b");
    }
}
