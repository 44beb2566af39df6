//! Requests that a session of another server can be sent, and their results, as text.
//!
//! The text is only read by servers of the same fleet, which may be of another version: an unknown request is answered
//! with an error, and an unknown result is one.

use interlingua_schema::SessionId;
use interlingua_store::{MessageState, Session, SessionChanges, StoreError};
use serde::{Deserialize, Serialize};

use super::command::{QuestionReply, ReplySender, SessionCommand};
use crate::driver::PermissionReply;
use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// A command without the caller who waits for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionRequest {
    Wake,
    /// The message with this id for clients is removed from the queue.
    CancelMessage {
        message: String,
    },
    Update(OptionChanges),
    Permission {
        id: String,
        reply: PermissionReply,
        by: Option<String>,
    },
    Question {
        id: String,
        reply: QuestionReply,
    },
    Interrupt,
    Terminate,
    HandOver,
}

/// Changes of a session that its agent is started with. A value in a list replaces what there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OptionChanges {
    title: Option<[Option<String>; 1]>,
    model: Option<[Option<String>; 1]>,
    permission_mode: Option<String>,
    labels: std::collections::BTreeMap<String, Option<String>>,
}

impl From<SessionChanges> for OptionChanges {
    fn from(changes: SessionChanges) -> Self {
        Self {
            title: changes.title.map(|title| [title]),
            model: changes.model.map(|model| [model]),
            permission_mode: changes.permission_mode,
            labels: changes.labels,
        }
    }
}

impl From<OptionChanges> for SessionChanges {
    fn from(changes: OptionChanges) -> Self {
        Self::default()
            .title(changes.title.map(|[title]| title))
            .model(changes.model.map(|[model]| model))
            .permission_mode(changes.permission_mode)
            .labels(changes.labels)
    }
}

impl SessionRequest {
    pub(crate) fn encode(&self) -> String {
        // Strings, numbers and lists can be encoded.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn decode(text: &str) -> Result<Self, RuntimeError> {
        serde_json::from_str(text).map_err(|error| {
            let reason =
                format!("this server does not understand a command of another one, which may be newer: {error}");
            StoreError::Database(reason).into()
        })
    }

    /// The command for the session's actor; `None` if there is nothing to do.
    pub(crate) async fn into_command(
        self,
        runtime: &Runtime,
        session: &Session,
    ) -> Result<Option<Box<dyn FnOnce(ReplySender) -> SessionCommand + Send>>, RuntimeError> {
        Ok(Some(match self {
            Self::Wake => Box::new(SessionCommand::Wake),
            Self::Interrupt => Box::new(SessionCommand::Interrupt),
            Self::Terminate => Box::new(SessionCommand::Terminate),
            Self::HandOver => Box::new(SessionCommand::HandOver),
            Self::Update(changes) => Box::new(|reply_to| SessionCommand::Update { changes: changes.into(), reply_to }),
            Self::Permission { id, reply, by } => {
                Box::new(move |reply_to| SessionCommand::Permission { id, reply, by, reply_to })
            }
            Self::Question { id, reply } => Box::new(|reply_to| SessionCommand::Question { id, reply, reply_to }),
            Self::CancelMessage { message } => {
                let found = runtime.shared.store.find_message(session.key, &message).await?;
                match found.map(|record| (record.id, record.state)) {
                    None => return Err(RuntimeError::MessageNotFound { session: session.id.clone(), id: message }),
                    Some((_, MessageState::Cancelled)) => return Ok(None),
                    Some((_, MessageState::Begun { .. })) => {
                        return Err(RuntimeError::message_begun(session.id.clone()));
                    }
                    Some((id, MessageState::Queued)) => {
                        Box::new(move |reply_to| SessionCommand::CancelMessage { id, reply_to })
                    }
                }
            }
        }))
    }
}

/// The result of a request, as text for the server that sent it. The sender knows the session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RequestResult {
    Done,
    SessionNotFound,
    SessionEnded,
    PermissionNotFound { id: String },
    QuestionNotFound { id: String },
    AlreadyResolved { id: String },
    MessageConflict { detail: String },
    MessageNotFound { id: String },
    ChangeRefused { reason: String },
    StorageFull { reason: String },
    Timeout { detail: String },
    Failed { reason: String },
}

impl RequestResult {
    pub(crate) fn encode(result: Result<(), RuntimeError>) -> String {
        let result = match result {
            Ok(()) => Self::Done,
            Err(error) => Self::from_error(error),
        };
        // Strings can be encoded.
        serde_json::to_string(&result).unwrap_or_default()
    }

    fn from_error(error: RuntimeError) -> Self {
        let text = error.to_string();
        match error {
            RuntimeError::SessionNotFound(_) | RuntimeError::Store(StoreError::SessionNotFound) => {
                Self::SessionNotFound
            }
            RuntimeError::SessionEnded(_) | RuntimeError::Store(StoreError::SessionEnded) => Self::SessionEnded,
            RuntimeError::PermissionNotFound { id, .. } => Self::PermissionNotFound { id },
            RuntimeError::QuestionNotFound { id, .. } => Self::QuestionNotFound { id },
            RuntimeError::AlreadyResolved { id, .. } => Self::AlreadyResolved { id },
            RuntimeError::MessageConflict { detail, .. } => Self::MessageConflict { detail },
            RuntimeError::MessageNotFound { id, .. } => Self::MessageNotFound { id },
            RuntimeError::ChangeRefused { reason, .. } => Self::ChangeRefused { reason },
            RuntimeError::Store(error) if error.is_storage_full() => Self::StorageFull { reason: text },
            RuntimeError::Timeout(detail) => Self::Timeout { detail },
            _ => Self::Failed { reason: text },
        }
    }

    /// The result of a request on a session.
    pub(crate) fn decode(text: &str, session: &SessionId) -> Result<(), RuntimeError> {
        let unknown = || Self::Failed { reason: format!("the owner of the session answered {text:?}") };
        let session = session.clone();
        Err(match serde_json::from_str(text).unwrap_or_else(|_| unknown()) {
            Self::Done => return Ok(()),
            Self::SessionNotFound => RuntimeError::SessionNotFound(session),
            Self::SessionEnded => RuntimeError::SessionEnded(session),
            Self::PermissionNotFound { id } => RuntimeError::PermissionNotFound { session, id },
            Self::QuestionNotFound { id } => RuntimeError::QuestionNotFound { session, id },
            Self::AlreadyResolved { id } => RuntimeError::AlreadyResolved { session, id },
            Self::MessageConflict { detail } => RuntimeError::MessageConflict { session, detail },
            Self::MessageNotFound { id } => RuntimeError::MessageNotFound { session, id },
            Self::ChangeRefused { reason } => RuntimeError::ChangeRefused { session, reason },
            Self::StorageFull { reason } => StoreError::DiskFull(reason).into(),
            Self::Timeout { detail } => RuntimeError::Timeout(detail),
            Self::Failed { reason } => StoreError::Database(reason).into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_as_they_are_written() {
        let changes = SessionChanges::default().title(Some(None::<String>)).model(Some(Some("m".to_owned())));
        let changes = changes.permission_mode("plan".to_owned());
        for request in [
            SessionRequest::Wake,
            SessionRequest::CancelMessage { message: "m".to_owned() },
            SessionRequest::Update(changes.clone().into()),
            SessionRequest::Permission {
                id: "p".to_owned(),
                reply: PermissionReply::Always,
                by: Some("ci".to_owned()),
            },
            SessionRequest::Question { id: "q".to_owned(), reply: QuestionReply::Answered(vec!["a".to_owned()]) },
            SessionRequest::Question { id: "q".to_owned(), reply: QuestionReply::Rejected },
            SessionRequest::Interrupt,
            SessionRequest::Terminate,
            SessionRequest::HandOver,
        ] {
            assert_eq!(SessionRequest::decode(&request.encode()), Ok(request));
        }
        assert_eq!(SessionChanges::from(OptionChanges::from(changes.clone())), changes);
        assert!(SessionRequest::decode(r#"{"from_the_future":{}}"#).is_err());
    }

    #[test]
    fn a_client_gets_the_same_error_whatever_server_it_asks() {
        let session = SessionId::from("s");
        for error in [
            RuntimeError::SessionNotFound(session.clone()),
            RuntimeError::SessionEnded(session.clone()),
            RuntimeError::PermissionNotFound { session: session.clone(), id: "p".to_owned() },
            RuntimeError::QuestionNotFound { session: session.clone(), id: "q".to_owned() },
            RuntimeError::AlreadyResolved { session: session.clone(), id: "p".to_owned() },
            RuntimeError::message_begun(session.clone()),
            RuntimeError::MessageNotFound { session: session.clone(), id: "m".to_owned() },
            RuntimeError::ChangeRefused { session: session.clone(), reason: "busy".to_owned() },
            RuntimeError::Timeout("too slow".to_owned()),
        ] {
            let result = RequestResult::encode(Err(error.clone()));
            assert_eq!(RequestResult::decode(&result, &session), Err(error));
        }
        assert_eq!(RequestResult::decode(&RequestResult::encode(Ok(())), &session), Ok(()));
        assert!(RequestResult::decode("{}", &session).is_err());
    }
}
