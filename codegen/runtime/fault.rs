//! Why reading stopped.

use std::fmt;

pub(crate) type Result<T> = std::result::Result<T, Fault>;

/// Why a text could not be read into a type; one pointer wide, since success should not pay for it.
#[derive(Debug)]
pub(crate) struct Fault(Box<Reason>);

#[derive(Debug)]
enum Reason {
    Syntax,
    TooDeep,
    Mismatch { expected: &'static str, found: &'static str },
    Range(String),
    Missing { what: &'static str, key: &'static str },
    Repeated(String),
}

impl Fault {
    /// The text is not JSON.
    #[cold]
    pub(crate) fn syntax() -> Self {
        Self(Box::new(Reason::Syntax))
    }

    /// The text nests deeper than the stack should be trusted with.
    #[cold]
    pub(crate) fn too_deep() -> Self {
        Self(Box::new(Reason::TooDeep))
    }

    /// One kind of JSON in the place of another.
    #[cold]
    pub(crate) fn mismatch(expected: &'static str, found: &'static str) -> Self {
        Self(Box::new(Reason::Mismatch { expected, found }))
    }

    /// A number too large, too small or too fine for its type.
    #[cold]
    pub(crate) fn range(number: &str) -> Self {
        Self(Box::new(Reason::Range(number.to_owned())))
    }

    /// `what` without the `key` that it cannot be without.
    #[cold]
    pub(crate) fn missing(what: &'static str, key: &'static str) -> Self {
        Self(Box::new(Reason::Missing { what, key }))
    }

    /// A tag that comes again, so that the first may have led to the wrong variant.
    #[cold]
    pub(crate) fn repeated(key: &str) -> Self {
        Self(Box::new(Reason::Repeated(key.to_owned())))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Reason::Syntax => f.write_str("not JSON"),
            Reason::TooDeep => f.write_str("nested too deeply"),
            Reason::Mismatch { expected, found } => write!(f, "expected {expected}, found {found}"),
            Reason::Range(number) => write!(f, "the number {number} is out of range"),
            Reason::Missing { what, key } => write!(f, "{what} lacks `{key}`"),
            Reason::Repeated(key) => write!(f, "the tag `{key}` comes twice"),
        }
    }
}
