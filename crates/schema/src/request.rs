//! What an agent asks a person: permissions and questions.

use crate::{PermissionMetadata, QuestionMetadata, lenient, wire_enum, wire_struct};

wire_enum! {
    /// Where a permission stands.
    pub enum PermissionStatus {
        /// Waiting for an answer.
        Requested = "requested",
        /// The host said yes.
        Approved = "approved",
        /// The host said no, or nothing before the turn ended.
        Denied = "denied",
    } else Unknown
}

/// What a permission is resolved to. There is no third: silence is never consent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decision {
    /// Go ahead.
    Approved,
    /// Do not.
    Denied,
}

wire_struct! {
    /// Data of `permission.requested` and `permission.resolved`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Permission {
        /// Unique in the session; the agent's own id unless that repeats.
        pub permission_id: String,
        /// What the agent wants to do, in one line: the title of the tool call.
        pub action: String,
        /// Where it stands.
        pub status: PermissionStatus,
        /// What it is about and how it may be given; null only in streams from elsewhere.
        #[serde(default, deserialize_with = "lenient::permission")]
        pub metadata: Option<Box<PermissionMetadata>>,
    }
}

impl Permission {
    /// A permission to do this. [`EventData`](crate::EventData) makes an event of it.
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
    /// Where a question stands.
    pub enum QuestionStatus {
        /// Waiting for an answer.
        Requested = "requested",
        /// The user answered.
        Answered = "answered",
        /// The user declined, or said nothing before the turn ended.
        Rejected = "rejected",
    } else Unknown
}

/// What a question is resolved to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum QuestionAnswer {
    /// With this response; several choices are joined by `, `.
    Answered(String),
    /// Without an answer, perhaps with words why.
    Rejected(Option<String>),
}

wire_struct! {
    /// Data of `question.requested` and `question.resolved`.
    #[derive(Clone, Debug, PartialEq)]
    #[non_exhaustive]
    pub struct Question {
        /// Unique in the session; the agent's own id, with `:0`, `:1` … when one request has several questions.
        pub question_id: String,
        /// The question itself.
        pub prompt: String,
        /// What can be chosen; empty when the answer is free.
        pub options: Vec<String>,
        /// The answer; null while there is none.
        pub response: Option<String>,
        /// Where it stands.
        pub status: QuestionStatus,
        /// What a list of strings cannot say: header, descriptions of the options, whether several may be chosen. Left
        /// out only in streams from elsewhere.
        #[serde(deserialize_with = "lenient::question")]
        pub metadata?: Option<Box<QuestionMetadata>>,
    }
}

impl Question {
    /// A question with these options. [`EventData`](crate::EventData) makes an event of it.
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
