//! Errors of the filesystem API.

use std::io;

use rustix::io::Errno;
use serde_json::json;

use crate::problem::{Problem, ProblemKind};

/// `details.reason` of the problem when a folder is not empty.
pub(crate) const NOT_EMPTY: &str = "not_empty";

/// Why a file operation failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileError {
    kind: FileErrorKind,
    detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileErrorKind {
    /// The request cannot be carried out as it is: the path leads out of the folder, or is of another kind.
    Refused,
    /// There is no such file.
    NotFound,
    /// A folder is not empty.
    NotEmpty,
    /// The disk is full.
    Full,
    /// The file system failed.
    Failed,
}

impl FileError {
    /// The request cannot be carried out as it is.
    pub(super) fn refused(detail: impl Into<String>) -> Self {
        Self { kind: FileErrorKind::Refused, detail: detail.into() }
    }

    /// The path leads out of the folder that it is relative to.
    pub(super) fn escape(detail: impl Into<String>) -> Self {
        Self::refused(detail)
    }

    /// An error of the operating system. `action` says what failed: "read a.txt".
    pub(super) fn io(action: &str, error: &io::Error) -> Self {
        let (kind, reason) = match error.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::NOENT) => (FileErrorKind::NotFound, "it does not exist".to_owned()),
            Some(Errno::XDEV) => (FileErrorKind::Refused, "it leads out of the directory".to_owned()),
            Some(Errno::LOOP) => (FileErrorKind::Refused, "a symbolic link on the way may not be followed".to_owned()),
            Some(Errno::NOTDIR) => (FileErrorKind::Refused, "a part of the path is not a directory".to_owned()),
            Some(Errno::ISDIR) => (FileErrorKind::Refused, "it is a directory".to_owned()),
            Some(Errno::EXIST) => (FileErrorKind::Refused, "it exists already".to_owned()),
            Some(Errno::NAMETOOLONG) => (FileErrorKind::Refused, "the name is too long".to_owned()),
            Some(Errno::INVAL) => (FileErrorKind::Refused, "the path cannot be used for this".to_owned()),
            Some(Errno::ACCESS | Errno::PERM | Errno::ROFS) => {
                (FileErrorKind::Refused, format!("the server may not do that ({error})"))
            }
            Some(Errno::NOTEMPTY) => (
                FileErrorKind::NotEmpty,
                "the directory is not empty; `recursive=true` deletes what is in it".to_owned(),
            ),
            Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => (FileErrorKind::Full, error.to_string()),
            _ => (FileErrorKind::Failed, error.to_string()),
        };
        Self { kind, detail: format!("cannot {action}: {reason}") }
    }
}

impl From<FileError> for Problem {
    fn from(error: FileError) -> Self {
        let kind = match error.kind {
            FileErrorKind::Refused | FileErrorKind::NotEmpty => ProblemKind::InvalidRequest,
            FileErrorKind::NotFound => ProblemKind::NotFound,
            FileErrorKind::Full => ProblemKind::StorageFull,
            FileErrorKind::Failed => ProblemKind::InternalError,
        };
        let details = match error.kind {
            FileErrorKind::NotEmpty => json!({ "field": "path", "reason": NOT_EMPTY }),
            _ => json!({ "field": "path" }),
        };
        Self::new(kind, error.detail).details(details)
    }
}
