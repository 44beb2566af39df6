//! Why reading a text into a type stopped.

use std::fmt;

/// The result of everything that reads a text into a type.
pub type ReadResult<T> = Result<T, ReadError>;

/// Why a text could not be read into a type. It is one pointer wide, so that success does not pay for it.
#[derive(Debug)]
pub struct ReadError(Box<Reason>);

#[derive(Debug)]
enum Reason {
    Syntax,
    TooDeep,
    Mismatch { expected: &'static str, found: &'static str },
    Range(String),
    Missing { name: &'static str, key: &'static str },
    RepeatedTag(String),
}

impl ReadError {
    /// The text is not JSON.
    #[cold]
    pub(crate) fn syntax() -> Self {
        Self(Box::new(Reason::Syntax))
    }

    /// The text nests deeper than the reader follows.
    #[cold]
    pub(crate) fn too_deep() -> Self {
        Self(Box::new(Reason::TooDeep))
    }

    /// The value is of another kind of JSON than expected.
    #[cold]
    pub(crate) fn mismatch(expected: &'static str, found: &'static str) -> Self {
        Self(Box::new(Reason::Mismatch { expected, found }))
    }

    /// The number does not fit its Rust type.
    #[cold]
    pub(crate) fn range(number: &str) -> Self {
        Self(Box::new(Reason::Range(number.to_owned())))
    }

    /// The type `name` lacks its required `key`.
    #[cold]
    pub(crate) fn missing(name: &'static str, key: &'static str) -> Self {
        Self(Box::new(Reason::Missing { name, key }))
    }

    /// The tag `key` occurs twice, so the first one may have led to the wrong variant.
    #[cold]
    pub(crate) fn repeated_tag(key: &str) -> Self {
        Self(Box::new(Reason::RepeatedTag(key.to_owned())))
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Reason::Syntax => f.write_str("not JSON"),
            Reason::TooDeep => f.write_str("nested too deeply"),
            Reason::Mismatch { expected, found } => write!(f, "expected {expected}, found {found}"),
            Reason::Range(number) => write!(f, "the number {number} is out of range"),
            Reason::Missing { name, key } => write!(f, "{name} lacks `{key}`"),
            Reason::RepeatedTag(key) => write!(f, "the tag `{key}` comes twice"),
        }
    }
}
