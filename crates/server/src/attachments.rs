//! Uploading the files that are attached to messages.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;

use crate::app::App;
use crate::body::{MIB, read_body};
use crate::messages::FileToSend;
use crate::path::SessionPath;
use crate::problem::Problem;
use crate::query::Query;

/// Maximum size of a file.
const MAX_FILE_BYTES: usize = 32 * MIB;

/// Uploads a file, for a client that is not on the server's machine or that has no file. The answer is an attachment for
/// a message of this session. The file is removed when the session is deleted.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/attachments",
    tag = "messages",
    operation_id = "uploadAttachment",
    params(
        ("id" = String, Path, description = "Session id"),
        ("filename" = String, Query, description = "Name of the file, at most 200 bytes, which agents may see"),
    ),
    request_body(
        content = Vec<u8>,
        content_type = "application/octet-stream",
        description = "The content. Its `Content-Type` is the file's; `application/octet-stream` stands for an unknown one.",
    ),
    responses(
        (status = 200, description = "The file is stored", body = FileToSend),
        (status = 409, description = "The session has ended"),
    )
)]
pub(crate) async fn upload(
    State(app): State<App>,
    SessionPath(id): SessionPath,
    query: Query,
    request: Request,
) -> Result<Json<FileToSend>, Problem> {
    query.expect_only(&["filename"])?;
    let Some(filename) = query.text("filename")?.map(str::to_owned) else {
        return Err(Problem::invalid("the query parameter `filename` is missing").field("filename"));
    };
    // A session that does not exist is reported before its file is read.
    app.session(&id).await?;
    let content_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let mime = content_type.filter(|mime| *mime != "application/octet-stream").map(str::to_owned);
    let content = read_body(request, MAX_FILE_BYTES).await?;
    let attachment = app.runtime().upload(&id, filename, mime, content).await?;
    Ok(Json(attachment.into()))
}
