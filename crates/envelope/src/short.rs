//! Short texts that are copied often.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// A short text that is cheap to copy: one of ours, or a pointer.
#[derive(Clone)]
pub(crate) enum Short {
    Ours(&'static str),
    Shared(Arc<str>),
}

impl Deref for Short {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Ours(text) => text,
            Self::Shared(text) => text,
        }
    }
}

impl Borrow<str> for Short {
    fn borrow(&self) -> &str {
        self
    }
}

impl PartialEq for Short {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Short {}

impl PartialOrd for Short {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Short {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}

impl Hash for Short {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl fmt::Debug for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
