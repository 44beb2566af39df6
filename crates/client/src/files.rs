//! Files of sessions, on a server that was started with `--fs`.

use reqwest::{Method, RequestBuilder};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::client::Client;
use crate::error::ClientError;

/// A path on the server's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FilePath {
    /// The path, relative to the session's directory, or to the first root of the server; or an absolute path in there.
    pub path: String,
    /// The session; `None` for the roots of the server.
    pub session: Option<String>,
}

impl FilePath {
    /// A path in the roots of the server.
    #[must_use]
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), session: None }
    }

    /// A path in the directory of a session.
    #[must_use]
    pub fn in_session(session: impl Into<String>, path: impl Into<String>) -> Self {
        Self { path: path.into(), session: Some(session.into()) }
    }
}

/// A file or directory.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct FileInfo {
    /// Its name; `None` if it was asked for by its path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its absolute path.
    pub path: String,
    /// `file`, `directory`, `link` or `other`.
    pub entry_type: String,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last change; `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
    /// Fields that this version does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A file to move.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct MoveRequest {
    /// Path of the file or directory.
    pub from: String,
    /// Its new path.
    pub to: String,
    /// Whether an existing file is replaced.
    pub overwrite: bool,
}

impl MoveRequest {
    /// Moves a file to a path where there is none.
    #[must_use]
    pub fn new(from: impl Into<String>, to: impl Into<String>) -> Self {
        Self { from: from.into(), to: to.into(), overwrite: false }
    }
}

/// What was unpacked from an archive.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[non_exhaustive]
pub struct UnpackedArchive {
    /// Absolute paths, but not more than the server lists.
    pub paths: Vec<String>,
    /// Whether more was unpacked.
    pub truncated: bool,
}

/// # Files
#[allow(clippy::missing_errors_doc, reason = "documented once for all methods")]
impl Client {
    /// Lists a directory.
    pub async fn list_files(&self, path: &FilePath) -> Result<Vec<FileInfo>, ClientError> {
        self.fetch(self.files(Method::GET, "entries", path)?).await
    }

    /// Reads what is known about a file or directory.
    pub async fn file_info(&self, path: &FilePath) -> Result<FileInfo, ClientError> {
        self.fetch(self.files(Method::GET, "stat", path)?).await
    }

    /// Reads a file. It is not read into memory: its bytes come from the response.
    pub async fn read_file(&self, path: &FilePath) -> Result<reqwest::Response, ClientError> {
        self.execute(self.files(Method::GET, "file", path)?).await
    }

    /// Writes a file, and the directories that contain it.
    pub async fn write_file(&self, path: &FilePath, content: impl Into<reqwest::Body>) -> Result<(), ClientError> {
        self.execute_empty(self.files(Method::PUT, "file", path)?.body(content)).await
    }

    /// Creates a directory, and those that contain it.
    pub async fn create_directory(&self, path: &FilePath) -> Result<(), ClientError> {
        self.execute_empty(self.files(Method::POST, "mkdir", path)?).await
    }

    /// Moves a file or directory of a session, or of the roots of the server.
    pub async fn move_file(&self, session: Option<&str>, request: &MoveRequest) -> Result<(), ClientError> {
        let query = [("sessionId", session.map(str::to_owned))];
        self.execute_empty(self.endpoint(Method::POST, &["fs", "move"], &query)?.json(request)).await
    }

    /// Deletes a file, or a directory, with everything in it if `recursive`.
    pub async fn delete_file(&self, path: &FilePath, recursive: bool) -> Result<(), ClientError> {
        let recursive = recursive.then(|| "true".to_owned());
        self.execute_empty(self.files_with(Method::DELETE, "entry", path, ("recursive", recursive))?).await
    }

    /// Unpacks a tar archive into a directory.
    pub async fn upload_archive(
        &self,
        path: &FilePath,
        archive: impl Into<reqwest::Body>,
    ) -> Result<UnpackedArchive, ClientError> {
        let request = self.files(Method::POST, "upload-batch", path)?;
        self.fetch(request.header("content-type", "application/x-tar").body(archive)).await
    }

    fn files(&self, method: Method, operation: &str, path: &FilePath) -> Result<RequestBuilder, ClientError> {
        self.files_with(method, operation, path, ("", None))
    }

    /// A request with another query parameter, which is omitted if it has no value.
    fn files_with(
        &self,
        method: Method,
        operation: &str,
        path: &FilePath,
        parameter: (&str, Option<String>),
    ) -> Result<RequestBuilder, ClientError> {
        let query = [("path", Some(path.path.clone())), ("sessionId", path.session.clone()), parameter];
        self.endpoint(method, &["fs", operation], &query)
    }
}
