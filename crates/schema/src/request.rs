//! Requests of the agent to a person: permissions and questions.

use crate::{PermissionMetadata, QuestionMetadata, lenient, wire_enum, wire_struct};

wire_enum! {
    /// The state of a permission.
    pub enum PermissionStatus {
        /// Waiting for an answer.
        Requested = "requested",
        /// The host approved it.
        Approved = "approved",
        /// The host denied it, or did not answer before the turn ended.
        Denied = "denied",
    } else Unknown
}

/// How a permission is resolved. A permission without an answer is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// The agent may do it.
    Approved,
    /// The agent must not do it.
    Denied,
}

wire_struct! {
    /// Data of `permission.requested` and `permission.resolved`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Permission {
        /// Id of the permission, unique in the session. The agent's id, unless the agent uses it twice.
        pub permission_id: String,
        /// What the agent wants to do, in one line; worded like the title of a tool call.
        pub action: String,
        /// The state of the permission.
        pub status: PermissionStatus,
        /// The tool call and the possible scopes; null only in streams of other producers.
        #[serde(default, deserialize_with = "lenient::deserialize_permission_metadata")]
        pub metadata: Option<Box<PermissionMetadata>>,
    }
}

impl Permission {
    /// A permission for an action. The constructors of [`EventData`](crate::EventData) set its status.
    #[must_use]
    pub fn new(permission_id: impl Into<String>, action: impl Into<String>) -> Self {
        Self {
            permission_id: permission_id.into(),
            action: action.into(),
            status: PermissionStatus::Requested,
            metadata: None,
        }
    }
}

wire_enum! {
    /// The state of a question.
    pub enum QuestionStatus {
        /// Waiting for an answer.
        Requested = "requested",
        /// The user answered.
        Answered = "answered",
        /// The user rejected it, or did not answer before the turn ended.
        Rejected = "rejected",
    } else Unknown
}

/// How a question is resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QuestionAnswer {
    /// Answered with this response. Several chosen options are joined by `, `.
    Answered(String),
    /// Rejected, with an optional reason.
    Rejected(Option<String>),
}

wire_struct! {
    /// Data of `question.requested` and `question.resolved`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Question {
        /// Id of the question, unique in the session. The agent's id; with `:0`, `:1` … appended if one request has several
        /// questions.
        pub question_id: String,
        /// Text of the question.
        pub prompt: String,
        /// Labels of the options; empty if the answer is free text.
        pub options: Vec<String>,
        /// The answer; null until there is one.
        pub response: Option<String>,
        /// The state of the question.
        pub status: QuestionStatus,
        /// Heading, descriptions of the options, and how the question may be answered. Omitted only in streams of other
        /// producers.
        #[serde(deserialize_with = "lenient::deserialize_question_metadata")]
        pub metadata?: Option<Box<QuestionMetadata>>,
    }
}

impl Question {
    /// A question with these options. The constructors of [`EventData`](crate::EventData) set its status.
    #[must_use]
    pub fn new(question_id: impl Into<String>, prompt: impl Into<String>, options: Vec<String>) -> Self {
        Self {
            question_id: question_id.into(),
            prompt: prompt.into(),
            options,
            response: None,
            status: QuestionStatus::Requested,
            metadata: None,
        }
    }
}
