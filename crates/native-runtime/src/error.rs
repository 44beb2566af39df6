//! The error of strict decoding.

use std::fmt;

/// The result of decoding functions.
pub type ReadResult<T> = Result<T, ReadError>;

/// Why a text does not fit a type. It is one pointer wide, so that it does not make successful results larger.
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

    /// The text is nested too deeply.
    #[cold]
    pub(crate) fn too_deep() -> Self {
        Self(Box::new(Reason::TooDeep))
    }

    /// The value has another JSON kind than expected.
    #[cold]
    pub(crate) fn mismatch(expected: &'static str, found: &'static str) -> Self {
        Self(Box::new(Reason::Mismatch { expected, found }))
    }

    /// The number is out of range of its Rust type.
    #[cold]
    pub(crate) fn range(number: &str) -> Self {
        Self(Box::new(Reason::Range(number.to_owned())))
    }

    /// The type `name` lacks its required `key`.
    #[cold]
    pub(crate) fn missing(name: &'static str, key: &'static str) -> Self {
        Self(Box::new(Reason::Missing { name, key }))
    }

    /// The tag `key` occurs twice. The variant may have been chosen by the wrong one.
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
            Reason::RepeatedTag(key) => write!(f, "the tag `{key}` occurs twice"),
        }
    }
}
