//! Answering permission requests and questions.

use axum::extract::State;
use axum::http::StatusCode;
use interlingua_runtime::PermissionReply;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::JsonBody;
use crate::identity::Identity;
use crate::path::RequestPath;
use crate::problem::Problem;

/// The answer to a permission request.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ReplyPermission {
    reply: Reply,
}

/// Whether the agent is allowed to act.
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
        ("id" = String, Path, description = "Session id"),
        ("request" = String, Path, description = "`permission_id` of the event"),
    ),
    request_body = ReplyPermission,
    responses((status = 204, description = "The answer was accepted and is passed to the agent"), (status = 409, description = "The request is already resolved, or the session has ended"))
)]
pub(crate) async fn reply_permission(
    State(app): State<App>,
    identity: Identity,
    path: RequestPath,
    JsonBody(answer): JsonBody<ReplyPermission>,
) -> Result<StatusCode, Problem> {
    let reply = match answer.reply {
        Reply::Once => PermissionReply::Once,
        Reply::Always => PermissionReply::Always,
        Reply::Reject => PermissionReply::Reject,
    };
    app.runtime().reply_permission_as(&path.session, &path.request, reply, identity.token).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The answer to a question.
#[derive(Deserialize, ToSchema)]
pub(crate) struct ReplyQuestion {
    /// One list: the chosen options of this question, or free text.
    #[schema(min_items = 1, max_items = 1)]
    answers: Vec<Vec<String>>,
}

/// Answers a question. If several questions were asked together, the agent continues after the last answer.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/questions/{request}/reply",
    tag = "requests",
    operation_id = "replyQuestion",
    params(
        ("id" = String, Path, description = "Session id"),
        ("request" = String, Path, description = "`question_id` of the event"),
    ),
    request_body = ReplyQuestion,
    responses((status = 204, description = "The question is answered"), (status = 409, description = "The question is already resolved, or the session has ended"))
)]
pub(crate) async fn reply_question(
    State(app): State<App>,
    path: RequestPath,
    JsonBody(mut answer): JsonBody<ReplyQuestion>,
) -> Result<StatusCode, Problem> {
    let count = answer.answers.len();
    let Some(choices) = answer.answers.pop().filter(|_| count == 1) else {
        let detail = format!(
            "expected `answers` to hold one list, the answers to this question, found {count}; each question is answered by \
             its own id"
        );
        return Err(Problem::unprocessable(detail).field("answers"));
    };
    app.runtime().reply_question(&path.session, &path.request, choices).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Rejects a question, together with those that were asked with it.
#[utoipa::path(
    post,
    path = "/v1/sessions/{id}/questions/{request}/reject",
    tag = "requests",
    operation_id = "rejectQuestion",
    params(
        ("id" = String, Path, description = "Session id"),
        ("request" = String, Path, description = "`question_id` of the event"),
    ),
    responses((status = 204, description = "The rejection was sent to the agent"), (status = 409, description = "The question is already resolved, or the session has ended"))
)]
pub(crate) async fn reject_question(State(app): State<App>, path: RequestPath) -> Result<StatusCode, Problem> {
    app.runtime().reject_question(&path.session, &path.request).await?;
    Ok(StatusCode::NO_CONTENT)
}
