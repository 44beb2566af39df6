//! Replies of clients to permission requests and questions of the agent.

use std::collections::{HashMap, HashSet};

use interlingua_convert::Key;
use interlingua_schema::EventData;
use tokio::time::Instant;

use super::SessionActor;
use super::command::QuestionReply;
use super::request_deadlines::PendingRequest;
use crate::driver::{DriverCommand, PermissionReply};
use crate::error::RuntimeError;

/// The replies in the running turn. The stream may not show them yet.
#[derive(Debug, Default)]
pub(super) struct Replies {
    permissions: HashMap<String, ReplySource>,
    /// Answers by question id. A request with several questions waits for the last answer.
    questions: HashMap<String, Vec<String>>,
    /// Requests whose questions were all answered, or rejected.
    closed: HashSet<Key>,
    /// Questions that were not answered in time.
    expired_questions: HashSet<String>,
}

/// Where a reply comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReplySource {
    /// A client, which used the API token with this name, if it has one.
    Client { token: Option<String> },
    /// There was no answer in time.
    Expired,
}

impl Replies {
    /// Adds to an event what only the session knows: who answered a request, or that there was no answer in time.
    pub(super) fn complete_event(&self, data: &mut EventData) {
        match data {
            EventData::PermissionResolved(permission) => {
                let Some(source) = self.permissions.get(&permission.permission_id) else { return };
                let Some(metadata) = &mut permission.metadata else { return };
                match source {
                    ReplySource::Client { token } => metadata.by.clone_from(token),
                    ReplySource::Expired => metadata.expired = Some(true),
                }
            }
            EventData::QuestionResolved(question) if self.expired_questions.contains(&question.question_id) => {
                question.metadata.get_or_insert_default().expired = Some(true);
            }
            _ => {}
        }
    }
}

impl SessionActor {
    /// Denies and rejects the requests that were not answered in time.
    pub(super) fn expire_requests(&mut self) {
        for request in self.request_deadlines.take_expired(Instant::now()) {
            let (session, agent) = (&self.session.id, self.driver.id());
            let result = match request {
                PendingRequest::Permission(id) => {
                    tracing::info!(%session, agent, permission = id, "denying a permission request: no answer in time");
                    self.reply_permission(id, PermissionReply::Reject, ReplySource::Expired)
                }
                PendingRequest::Question(id) => {
                    tracing::info!(%session, agent, question = id, "rejecting a question: no answer in time");
                    self.reply_question(id, QuestionReply::Rejected, &ReplySource::Expired)
                }
            };
            // Another client was faster, or the question was rejected together with another one of its request.
            if let Err(error) = result {
                tracing::debug!(session = %self.session.id, %error, "an expired request is resolved already");
            }
        }
    }

    pub(super) fn reply_permission(
        &mut self,
        id: String,
        reply: PermissionReply,
        source: ReplySource,
    ) -> Result<(), RuntimeError> {
        let Some(key) = self.conversion.permission_key(&id).cloned() else {
            return Err(if self.checkpoint.has_permission(&id) {
                self.already_resolved(id)
            } else {
                RuntimeError::PermissionNotFound { session: self.session.id.clone(), id }
            });
        };
        if self.replies.permissions.contains_key(&id)
            || !self.send_command(DriverCommand::ReplyPermission { key, reply })
        {
            return Err(self.already_resolved(id));
        }
        self.replies.permissions.insert(id, source);
        Ok(())
    }

    pub(super) fn reply_question(
        &mut self,
        id: String,
        reply: QuestionReply,
        source: &ReplySource,
    ) -> Result<(), RuntimeError> {
        let Some((key, question_ids)) = self.conversion.question_key(&id) else {
            return Err(if self.checkpoint.has_question(&id) {
                self.already_resolved(id)
            } else {
                RuntimeError::QuestionNotFound { session: self.session.id.clone(), id }
            });
        };
        let key = key.clone();
        let question_ids: Vec<String> = question_ids.into_iter().map(str::to_owned).collect();
        if self.replies.closed.contains(&key) || self.replies.questions.contains_key(&id) {
            return Err(self.already_resolved(id));
        }
        let command = match reply {
            QuestionReply::Rejected => DriverCommand::RejectQuestions { key: key.clone() },
            QuestionReply::Answered(answers) => {
                self.replies.questions.insert(id.clone(), answers);
                let answers: Option<Vec<Vec<String>>> =
                    question_ids.iter().map(|question| self.replies.questions.get(question).cloned()).collect();
                // Other questions of the request are not answered yet.
                let Some(answers) = answers else { return Ok(()) };
                DriverCommand::AnswerQuestions { key: key.clone(), answers }
            }
        };
        if *source == ReplySource::Expired {
            self.replies.expired_questions.extend(question_ids);
        }
        self.replies.closed.insert(key);
        if self.send_command(command) { Ok(()) } else { Err(self.already_resolved(id)) }
    }

    fn already_resolved(&self, id: String) -> RuntimeError {
        RuntimeError::AlreadyResolved { session: self.session.id.clone(), id }
    }
}
