//! What is to be started.

use std::ffi::OsString;
use std::path::PathBuf;

/// A program, as it is to be started.
#[derive(Clone)]
pub(crate) struct Program {
    /// The program's file.
    pub(crate) path: PathBuf,
    /// Its arguments, without its name. Other processes of this machine can see them: nothing secret.
    pub(crate) args: Vec<String>,
    /// All of its environment. See [`variables`](crate::variables).
    pub(crate) env: Vec<(OsString, OsString)>,
    /// Its working directory.
    pub(crate) directory: PathBuf,
}
