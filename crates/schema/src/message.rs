//! What a user says to an agent.

use serde::{Deserialize, Serialize};

/// What a user says to an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message {
    /// The words.
    pub text: String,
    /// The files that go with them.
    pub attachments: Vec<Attachment>,
}

/// A file that goes with a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Where it is.
    pub path: String,
    /// Its media type. Left out when the client does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime: Option<String>,
    /// What to call it. Left out when the client does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
}
