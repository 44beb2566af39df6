//! Answers of clients to what the agent asks.

use std::collections::{HashMap, HashSet};

use interlingua_convert::Key;

use super::Actor;
use super::command::QuestionReply;
use crate::driver::{DriverCommand, PermissionReply};
use crate::error::RuntimeError;

/// What was answered in the running turn, and has perhaps not come through yet.
#[derive(Debug, Default)]
pub(super) struct Replies {
    permissions: HashSet<String>,
    /// Answers by question, for requests that have several and wait for the rest.
    questions: HashMap<String, Vec<String>>,
    /// Requests whose questions are all answered, or refused.
    closed: HashSet<Key>,
}

impl Actor {
    pub(super) fn reply_permission(&mut self, id: String, reply: PermissionReply) -> Result<(), RuntimeError> {
        let Some(key) = self.conversion.permission_key(&id).cloned() else {
            return Err(if self.standing.has_permission(&id) {
                self.already_resolved(id)
            } else {
                RuntimeError::PermissionNotFound { session: self.session.id.clone(), id }
            });
        };
        if self.replies.permissions.contains(&id) || !self.order(DriverCommand::ReplyPermission { key, reply }) {
            return Err(self.already_resolved(id));
        }
        self.replies.permissions.insert(id);
        Ok(())
    }

    pub(super) fn reply_question(&mut self, id: String, reply: QuestionReply) -> Result<(), RuntimeError> {
        let Some((key, together)) = self.conversion.question_key(&id) else {
            return Err(if self.standing.has_question(&id) {
                self.already_resolved(id)
            } else {
                RuntimeError::QuestionNotFound { session: self.session.id.clone(), id }
            });
        };
        let key = key.clone();
        if self.replies.closed.contains(&key) || self.replies.questions.contains_key(&id) {
            return Err(self.already_resolved(id));
        }
        let order = match reply {
            QuestionReply::Rejected => DriverCommand::RejectQuestions { key: key.clone() },
            QuestionReply::Answered(answers) => {
                self.replies.questions.insert(id.clone(), answers);
                let answers: Option<Vec<Vec<String>>> =
                    together.iter().map(|question| self.replies.questions.get(*question).cloned()).collect();
                // The rest of the request is still to be answered.
                let Some(answers) = answers else { return Ok(()) };
                DriverCommand::AnswerQuestions { key: key.clone(), answers }
            }
        };
        self.replies.closed.insert(key);
        if self.order(order) { Ok(()) } else { Err(self.already_resolved(id)) }
    }

    fn already_resolved(&self, id: String) -> RuntimeError {
        RuntimeError::AlreadyResolved { session: self.session.id.clone(), id }
    }
}
