//! Answering what an agent asks.

use axum::extract::State;
use axum::http::StatusCode;
use interlingua_runtime::PermissionReply;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::JsonBody;
use crate::path::RequestPath;
use crate::problem::Problem;

/// The answer to a permission request.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ReplyPermission {
    reply: Reply,
}

/// Whether the agent may.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reply {
    /// Yes, this time.
    Once,
    /// Yes, from now on.
    Always,
    /// No.
    Reject,
}

/// Answers a permission request.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/permissions/{request}/reply",
    tag = "requests",
    operation_id = "replyPermission",
    params(
        ("id" = String, Path, description = "The session's name"),
        ("request" = String, Path, description = "The `permission_id` of the event"),
    ),
    request_body = ReplyPermission,
    responses((status = 204, description = "The agent is told"), (status = 409, description = "It is resolved, or the session has ended"))
)]
pub(crate) async fn reply_permission(
    State(app): State<App>,
    path: RequestPath,
    JsonBody(answer): JsonBody<ReplyPermission>,
) -> Result<StatusCode, Problem> {
    let reply = match answer.reply {
        Reply::Once => PermissionReply::Once,
        Reply::Always => PermissionReply::Always,
        Reply::Reject => PermissionReply::Reject,
    };
    app.runtime().reply_permission(&path.session, &path.request, reply).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The answer to a question.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ReplyQuestion {
    /// One list: the choices for this question, or words of one's own.
    #[schema(min_items = 1, max_items = 1)]
    answers: Vec<Vec<String>>,
}

/// Answers a question. Of several that were asked together, the last answer lets the agent go on.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/questions/{request}/reply",
    tag = "requests",
    operation_id = "replyQuestion",
    params(
        ("id" = String, Path, description = "The session's name"),
        ("request" = String, Path, description = "The `question_id` of the event"),
    ),
    request_body = ReplyQuestion,
    responses((status = 204, description = "It is answered"), (status = 409, description = "It is resolved, or the session has ended"))
)]
pub(crate) async fn reply_question(
    State(app): State<App>,
    path: RequestPath,
    JsonBody(mut answer): JsonBody<ReplyQuestion>,
) -> Result<StatusCode, Problem> {
    let count = answer.answers.len();
    let Some(choices) = answer.answers.pop().filter(|_| count == 1) else {
        let detail = format!(
            "`answers` should hold one list, the choices for this question; found {count}. Each question is answered by its own id"
        );
        return Err(Problem::misshapen(detail).field("answers"));
    };
    app.runtime().reply_question(&path.session, &path.request, choices).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Refuses to answer a question, and those that were asked together with it.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/questions/{request}/reject",
    tag = "requests",
    operation_id = "rejectQuestion",
    params(
        ("id" = String, Path, description = "The session's name"),
        ("request" = String, Path, description = "The `question_id` of the event"),
    ),
    responses((status = 204, description = "The agent is told"), (status = 409, description = "It is resolved, or the session has ended"))
)]
pub(crate) async fn reject_question(State(app): State<App>, path: RequestPath) -> Result<StatusCode, Problem> {
    app.runtime().reject_question(&path.session, &path.request).await?;
    Ok(StatusCode::NO_CONTENT)
}
