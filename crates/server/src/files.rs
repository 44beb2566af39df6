//! The filesystem API: listing, reading, writing, moving and deleting files, and unpacking archives.
//!
//! A path is relative to the directory of a session (`sessionId`), or to a root that the server was started with. It never
//! leads out of that folder ([`beneath`]).

mod beneath;
mod error;
mod folder;
mod relative_path;
mod root;
#[cfg(test)]
mod tests;
mod transfer;
mod upload;

use std::time::SystemTime;

use axum::Json;
use axum::extract::{Request, State};
use axum::response::Response;
use interlingua_schema::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::JsonBody;
use crate::compat::Compat;
use crate::problem::{Problem, ProblemKind};
use crate::query::Query;

use beneath::Links;
use error::FileError;
pub(crate) use error::NOT_EMPTY;
use folder::{EntryKind, Folder, Metadata};
use relative_path::RelativePath;
use root::Root;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FsEntryType {
    /// A file, or a link to one.
    File,
    /// A directory, or a link to one.
    Directory,
    /// A link that leads to nothing, or out of the directory. It cannot be followed.
    Link,
    /// A device, pipe or socket.
    Other,
}

impl FsEntryType {
    /// The type of an entry. Clients of sandbox-agent know files and directories only.
    fn new(kind: EntryKind, compat: Option<Compat>) -> Self {
        match kind {
            EntryKind::Directory => Self::Directory,
            EntryKind::File => Self::File,
            EntryKind::Link | EntryKind::Other if compat.is_some() => Self::File,
            EntryKind::Link => Self::Link,
            EntryKind::Other => Self::Other,
        }
    }
}

/// An entry of a directory.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FsEntry {
    /// Name of the entry.
    name: String,
    #[serde(flatten)]
    stat: FsStat,
}

/// What is known about a file or directory.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FsStat {
    /// Its absolute path.
    path: String,
    /// What it is.
    entry_type: FsEntryType,
    /// Size in bytes.
    size: u64,
    /// Time of the last change; omitted if the file system does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "2026-01-31T08:00:00.000Z")]
    modified: Option<String>,
}

impl FsStat {
    fn new(path: String, metadata: &Metadata, compat: Option<Compat>) -> Self {
        let since_epoch = metadata.modified.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let millis = since_epoch.and_then(|time| i64::try_from(time.as_millis()).ok());
        Self {
            path,
            entry_type: FsEntryType::new(metadata.kind, compat),
            size: metadata.size,
            modified: millis.map(|millis| Timestamp::from_millis(millis).to_string()),
        }
    }
}

/// A file was written.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FsWriteResponse {
    /// Its absolute path.
    path: String,
    /// Its size in bytes.
    bytes_written: u64,
}

/// An entry was created or deleted.
#[derive(Serialize, ToSchema)]
pub(crate) struct FsActionResponse {
    /// Its absolute path.
    path: String,
}

/// What to move.
#[derive(Deserialize, ToSchema)]
pub(crate) struct FsMoveRequest {
    /// Path of the entry.
    from: String,
    /// Its new path.
    to: String,
    /// Whether an existing file, or an empty directory, is replaced; false if absent.
    overwrite: Option<bool>,
}

/// An entry was moved.
#[derive(Serialize, ToSchema)]
pub(crate) struct FsMoveResponse {
    /// Its old absolute path.
    from: String,
    /// Its new absolute path.
    to: String,
}

/// An archive was unpacked.
#[derive(Serialize, ToSchema)]
pub(crate) struct FsUploadBatchResponse {
    /// Absolute paths of what was unpacked; at most 1024.
    paths: Vec<String>,
    /// Whether more was unpacked than `paths` has.
    truncated: bool,
}

/// The folder of a request, and the path in it.
struct Target {
    root: Root,
    path: RelativePath,
}

impl Target {
    /// The target of a request with the query parameter `path`; `default` if it has none.
    async fn from_query(app: &App, query: &Query, default: Option<&str>) -> Result<Self, Problem> {
        let Some(path) = query.text("path")?.or(default) else {
            return Err(Problem::invalid("the query parameter `path` is missing").field("path"));
        };
        let root = Root::find(app, query, path).await?;
        let path = root.relative(path)?;
        Ok(Self { root, path })
    }

    fn absolute(&self) -> String {
        display(&self.root, &self.path)
    }

    /// Runs file operations on a thread that may wait for the disk.
    async fn run<T: Send + 'static>(
        &self,
        operation: impl FnOnce(Folder, RelativePath) -> Result<T, FileError> + Send + 'static,
    ) -> Result<T, Problem> {
        let (root, path) = (self.root.clone(), self.path.clone());
        let result = spawn_blocking(move || operation(Folder::open(root.path())?, path)).await;
        Ok(result.map_err(|_| operation_panicked())??)
    }
}

/// A path of a root as clients see it.
fn display(root: &Root, path: &RelativePath) -> String {
    path.below(root.path()).to_string_lossy().into_owned()
}

fn operation_panicked() -> Problem {
    Problem::new(ProblemKind::InternalError, "internal error while using files; see the log of the server")
}

/// Lists a directory.
#[utoipa::path(
    get,
    path = "/v1/fs/entries",
    tag = "files",
    operation_id = "listFsEntries",
    params(
        ("path" = Option<String>, Query, description = "Path of the directory; the session's directory or the root if absent"),
        ("sessionId" = Option<String>, Query, description = "Session whose directory the path is relative to; the first root if absent"),
    ),
    responses((status = 200, description = "The entries, by name", body = Vec<FsEntry>))
)]
pub(crate) async fn entries(State(app): State<App>, query: Query) -> Result<Json<Vec<FsEntry>>, Problem> {
    let target = Target::from_query(&app, &query, Some(".")).await?;
    let entries = target.run(|folder, path| folder.entries(&path)).await?;
    let compat = app.config().compat;
    let entry = |(name, metadata): (String, Metadata)| FsEntry {
        stat: FsStat::new(display(&target.root, &target.path.join(&name)), &metadata, compat),
        name,
    };
    Ok(Json(entries.into_iter().map(entry).collect()))
}

/// Reads what is known about a file or directory.
#[utoipa::path(
    get,
    path = "/v1/fs/stat",
    tag = "files",
    operation_id = "statFsEntry",
    params(
        ("path" = String, Query, description = "Path of the file or directory"),
        ("sessionId" = Option<String>, Query, description = "Session whose directory the path is relative to; the first root if absent"),
    ),
    responses((status = 200, description = "What is known about it", body = FsStat))
)]
pub(crate) async fn stat(State(app): State<App>, query: Query) -> Result<Json<FsStat>, Problem> {
    let target = Target::from_query(&app, &query, None).await?;
    let metadata = target.run(|folder, path| folder.metadata(&path)).await?;
    Ok(Json(FsStat::new(target.absolute(), &metadata, app.config().compat)))
}

/// Reads a file.
#[utoipa::path(
    get,
    path = "/v1/fs/file",
    tag = "files",
    operation_id = "readFsFile",
    params(
        ("path" = String, Query, description = "Path of the file"),
        ("sessionId" = Option<String>, Query, description = "Session whose directory the path is relative to; the first root if absent"),
    ),
    responses((status = 200, description = "The content of the file", body = Vec<u8>, content_type = "application/octet-stream"))
)]
pub(crate) async fn read(State(app): State<App>, query: Query) -> Result<Response, Problem> {
    let target = Target::from_query(&app, &query, None).await?;
    let (file, size) = target.run(|folder, path| folder.read(&path)).await?;
    Ok(transfer::send_file(file, size))
}

/// Writes a file, and the directories that contain it. An existing file is replaced in one step, when all of the new one
/// has arrived. The size is not limited.
#[utoipa::path(
    put,
    path = "/v1/fs/file",
    tag = "files",
    operation_id = "writeFsFile",
    params(
        ("path" = String, Query, description = "Path of the file"),
        ("sessionId" = Option<String>, Query, description = "Session whose directory the path is relative to; the first root if absent"),
    ),
    request_body(content = Vec<u8>, description = "The content", content_type = "application/octet-stream"),
    responses((status = 200, description = "The file was written", body = FsWriteResponse))
)]
pub(crate) async fn write(
    State(app): State<App>,
    query: Query,
    request: Request,
) -> Result<Json<FsWriteResponse>, Problem> {
    let target = Target::from_query(&app, &query, None).await?;
    let (root, path) = (target.root.clone(), target.path.clone());
    let bytes_written = transfer::receive(request, move |mut body| {
        let mut file = Folder::open(root.path())?.create_file(&path, Links::Follow)?;
        let bytes = std::io::copy(&mut body, file.file());
        let bytes = bytes.map_err(|error| FileError::io(&format!("write {path}"), &error))?;
        file.commit()?;
        Ok(bytes)
    })
    .await?;
    Ok(Json(FsWriteResponse { path: target.absolute(), bytes_written }))
}

/// Creates a directory, and those that contain it. Does nothing if it exists.
#[utoipa::path(
    post,
    path = "/v1/fs/mkdir",
    tag = "files",
    operation_id = "createFsDirectory",
    params(
        ("path" = String, Query, description = "Path of the directory"),
        ("sessionId" = Option<String>, Query, description = "Session whose directory the path is relative to; the first root if absent"),
    ),
    responses((status = 200, description = "The directory exists", body = FsActionResponse))
)]
pub(crate) async fn create_directory(State(app): State<App>, query: Query) -> Result<Json<FsActionResponse>, Problem> {
    let target = Target::from_query(&app, &query, None).await?;
    target.run(|folder, path| folder.create_folders(&path, Links::Follow).map(drop)).await?;
    Ok(Json(FsActionResponse { path: target.absolute() }))
}

/// Moves a file or directory. Directories that contain the new path are created.
#[utoipa::path(
    post,
    path = "/v1/fs/move",
    tag = "files",
    operation_id = "moveFsEntry",
    params(("sessionId" = Option<String>, Query, description = "Session whose directory the paths are relative to; the first root if absent")),
    request_body = FsMoveRequest,
    responses((status = 200, description = "The entry was moved", body = FsMoveResponse))
)]
pub(crate) async fn rename(
    State(app): State<App>,
    query: Query,
    JsonBody(request): JsonBody<FsMoveRequest>,
) -> Result<Json<FsMoveResponse>, Problem> {
    let root = Root::find(&app, &query, &request.from).await?;
    let (path, to) = (root.relative(&request.from)?, root.relative(&request.to)?);
    let response = FsMoveResponse { from: display(&root, &path), to: display(&root, &to) };
    let overwrite = request.overwrite.unwrap_or_default();
    Target { root, path }.run(move |folder, from| folder.rename(&from, &to, overwrite)).await?;
    Ok(Json(response))
}

/// Deletes a file, link or directory. Links are not followed.
#[utoipa::path(
    delete,
    path = "/v1/fs/entry",
    tag = "files",
    operation_id = "deleteFsEntry",
    params(
        ("path" = String, Query, description = "Path of the entry"),
        ("sessionId" = Option<String>, Query, description = "Session whose directory the path is relative to; the first root if absent"),
        ("recursive" = Option<bool>, Query, description = "Whether a directory is deleted with everything in it"),
    ),
    responses((status = 200, description = "The entry was deleted", body = FsActionResponse))
)]
pub(crate) async fn delete(State(app): State<App>, query: Query) -> Result<Json<FsActionResponse>, Problem> {
    let recursive = query.flag("recursive")?;
    let target = Target::from_query(&app, &query, None).await?;
    target.run(move |folder, path| folder.delete(&path, recursive)).await?;
    Ok(Json(FsActionResponse { path: target.absolute() }))
}

/// Unpacks a tar archive into a directory, which is created. Existing files are replaced. An entry that could lead out of
/// the directory, a device or a pipe is refused; what comes before it in the archive stays.
#[utoipa::path(
    post,
    path = "/v1/fs/upload-batch",
    tag = "files",
    operation_id = "uploadFsBatch",
    params(
        ("path" = Option<String>, Query, description = "Path of the directory; the session's directory or the root if absent"),
        ("sessionId" = Option<String>, Query, description = "Session whose directory the path is relative to; the first root if absent"),
    ),
    request_body(content = Vec<u8>, description = "A tar archive that is not compressed", content_type = "application/x-tar"),
    responses((status = 200, description = "The archive was unpacked", body = FsUploadBatchResponse))
)]
pub(crate) async fn upload_batch(
    State(app): State<App>,
    query: Query,
    request: Request,
) -> Result<Json<FsUploadBatchResponse>, Problem> {
    let target = Target::from_query(&app, &query, Some(".")).await?;
    let (root, path) = (target.root.clone(), target.path.clone());
    let unpacked =
        transfer::receive(request, move |body| upload::unpack(&Folder::open(root.path())?, &path, body)).await?;
    let absolute = |path: &RelativePath| display(&target.root, &target.path.join_path(path));
    Ok(Json(FsUploadBatchResponse {
        paths: unpacked.paths.iter().map(absolute).collect(),
        truncated: unpacked.is_truncated,
    }))
}
