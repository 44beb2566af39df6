//! Paths of the filesystem API, relative to the folder that they stay in.

use std::fmt;
use std::path::{Path, PathBuf};

use super::error::FileError;

/// A path that is relative to a folder and names nothing outside of it: its components are names, never `..`. Links are
/// another matter ([`super::beneath`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RelativePath(Vec<String>);

impl RelativePath {
    /// Parses a path. Empty components and `.` have no meaning; the result may be the folder itself.
    pub(super) fn parse(text: &str) -> Result<Self, FileError> {
        if text.starts_with('/') {
            return Err(FileError::escape(format!("expected a relative path, found {text:?}")));
        }
        let mut names = Vec::new();
        for component in text.split('/') {
            match component {
                "" | "." => {}
                ".." => {
                    return Err(FileError::escape(format!("a path may not contain `..`, found {text:?}")));
                }
                name if name.contains('\0') => {
                    return Err(FileError::escape(format!("a path may not contain NUL, found {text:?}")));
                }
                name => names.push(name.to_owned()),
            }
        }
        Ok(Self(names))
    }

    /// Whether it is the folder itself.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn components(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The path for the kernel: `.` for the folder itself.
    pub(super) fn to_path(&self) -> PathBuf {
        if self.is_empty() { PathBuf::from(".") } else { self.0.iter().collect() }
    }

    /// The path below a folder.
    pub(super) fn below(&self, folder: &Path) -> PathBuf {
        let mut path = folder.to_owned();
        path.extend(&self.0);
        path
    }

    /// The path of the folder that contains it, and its name in there. `None` for the folder itself.
    pub(super) fn split_last(&self) -> Option<(Self, &str)> {
        let (name, parent) = self.0.split_last()?;
        Some((Self(parent.to_vec()), name))
    }

    /// The first `count` components.
    pub(super) fn prefix(&self, count: usize) -> Self {
        Self(self.0.iter().take(count).cloned().collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The path of an entry of this folder.
    pub(super) fn join(&self, name: &str) -> Self {
        Self(self.0.iter().cloned().chain([name.to_owned()]).collect())
    }

    /// The path of `other`, which is relative to this folder.
    pub(super) fn join_path(&self, other: &Self) -> Self {
        Self(self.0.iter().chain(&other.0).cloned().collect())
    }
}

impl fmt::Display for RelativePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() { f.write_str(".") } else { f.write_str(&self.0.join("/")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_consists_of_names() {
        for (text, expected) in [
            ("", "."),
            (".", "."),
            ("./", "."),
            ("a", "a"),
            ("a//b/./c/", "a/b/c"),
            (".hidden", ".hidden"),
            ("...", "..."),
        ] {
            assert_eq!(RelativePath::parse(text).unwrap().to_string(), expected, "{text:?}");
        }
        for text in ["..", "../a", "a/..", "a/../b", "/", "/a", "a\0b", "a/b\0"] {
            assert!(RelativePath::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_path_has_a_parent_and_a_name() {
        let path = RelativePath::parse("a/b/c").unwrap();
        let (parent, name) = path.split_last().unwrap();
        assert_eq!((parent.to_string().as_str(), name), ("a/b", "c"));
        assert_eq!(path.below(Path::new("/base")), Path::new("/base/a/b/c"));
        assert!(RelativePath::default().split_last().is_none());
    }
}
