//! Replies of clients to permission requests and questions of the agent.

use std::collections::{HashMap, HashSet};

use interlingua_convert::Key;

use super::SessionActor;
use super::command::QuestionReply;
use crate::driver::{DriverCommand, PermissionReply};
use crate::error::RuntimeError;

/// The replies in the running turn. The stream may not show them yet.
#[derive(Debug, Default)]
pub(super) struct Replies {
    permissions: HashSet<String>,
    /// Answers by question id. A request with several questions waits for the last answer.
    questions: HashMap<String, Vec<String>>,
    /// Requests whose questions were all answered, or rejected.
    closed: HashSet<Key>,
}

impl SessionActor {
    pub(super) fn reply_permission(&mut self, id: String, reply: PermissionReply) -> Result<(), RuntimeError> {
        let Some(key) = self.conversion.permission_key(&id).cloned() else {
            return Err(if self.checkpoint.has_permission(&id) {
                self.already_resolved(id)
            } else {
                RuntimeError::PermissionNotFound { session: self.session.id.clone(), id }
            });
        };
        if self.replies.permissions.contains(&id) || !self.send_command(DriverCommand::ReplyPermission { key, reply }) {
            return Err(self.already_resolved(id));
        }
        self.replies.permissions.insert(id);
        Ok(())
    }

    pub(super) fn reply_question(&mut self, id: String, reply: QuestionReply) -> Result<(), RuntimeError> {
        let Some((key, question_ids)) = self.conversion.question_key(&id) else {
            return Err(if self.checkpoint.has_question(&id) {
                self.already_resolved(id)
            } else {
                RuntimeError::QuestionNotFound { session: self.session.id.clone(), id }
            });
        };
        let key = key.clone();
        if self.replies.closed.contains(&key) || self.replies.questions.contains_key(&id) {
            return Err(self.already_resolved(id));
        }
        let command = match reply {
            QuestionReply::Rejected => DriverCommand::RejectQuestions { key: key.clone() },
            QuestionReply::Answered(answers) => {
                self.replies.questions.insert(id.clone(), answers);
                let answers: Option<Vec<Vec<String>>> =
                    question_ids.iter().map(|question| self.replies.questions.get(*question).cloned()).collect();
                // Other questions of the request are not answered yet.
                let Some(answers) = answers else { return Ok(()) };
                DriverCommand::AnswerQuestions { key: key.clone(), answers }
            }
        };
        self.replies.closed.insert(key);
        if self.send_command(command) { Ok(()) } else { Err(self.already_resolved(id)) }
    }

    fn already_resolved(&self, id: String) -> RuntimeError {
        RuntimeError::AlreadyResolved { session: self.session.id.clone(), id }
    }
}
