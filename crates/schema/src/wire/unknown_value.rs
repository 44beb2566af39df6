//! Unlisted values of open enums.

use std::fmt;
use std::ops::Deref;

/// A string that its open enum does not list, kept unchanged.
///
/// It is one pointer wide, because every value of an open enum is as large as its largest variant, and unlisted values
/// are rare.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnknownValue(Box<Box<str>>);

impl UnknownValue {
    /// The value as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for UnknownValue {
    fn from(value: &str) -> Self {
        Self(Box::new(value.into()))
    }
}

impl Deref for UnknownValue {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for UnknownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

impl fmt::Display for UnknownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use crate::{ItemKind, Role, ToolKind};

    #[test]
    fn an_open_enum_is_two_pointers_wide() {
        for size in [size_of::<ItemKind>(), size_of::<Option<Role>>(), size_of::<Option<ToolKind>>()] {
            assert_eq!(size, 2 * size_of::<usize>());
        }
    }
}
