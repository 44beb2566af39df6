//! Errors in a schema or its settings.

use std::fmt;

/// Why types cannot be generated: the file, the place in it, the problem and a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Name of the file, as the caller gave it.
    pub file: String,
    /// JSON pointer into the file; empty for the whole document.
    pub pointer: String,
    /// What is wrong.
    pub problem: String,
    /// How to fix it.
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

/// The result of functions that read a schema.
pub type Result<T> = std::result::Result<T, Error>;
