//! What can be wrong with a schema, and where.

use std::fmt;

/// A schema that cannot become Rust: the file, the place in it, what is wrong and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// The file, as it was named by the caller.
    pub file: String,
    /// A JSON pointer into the file; empty for the whole document.
    pub pointer: String,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub advice: String,
}

impl Error {
    pub(crate) fn new(file: &str, pointer: &str, problem: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { file: file.to_owned(), pointer: pointer.to_owned(), problem: problem.into(), advice: advice.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}: {}\n  help: {}", self.file, self.pointer, self.problem, self.advice)
    }
}

impl std::error::Error for Error {}

/// The result of everything that reads a schema.
pub type Result<T> = std::result::Result<T, Error>;
