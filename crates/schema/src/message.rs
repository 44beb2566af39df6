//! A user's message to an agent.

use crate::wire_struct;

/// A user's message to an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The text of the message.
    pub text: String,
    /// Files attached to the message.
    pub attachments: Vec<Attachment>,
}

impl Message {
    /// A message without attachments.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), attachments: Vec::new() }
    }

    /// Sets the attached files.
    #[must_use]
    pub fn attachments(mut self, attachments: Vec<Attachment>) -> Self {
        self.attachments = attachments;
        self
    }
}

wire_struct! {
    /// A file attached to a message.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Attachment {
        /// Path of the file.
        pub path: String,
        /// Media type of the file. Omitted if the client does not give one.
        pub mime?: Option<String>,
        /// Name to show for the file. Omitted if the client does not give one.
        pub filename?: Option<String>,
    }
    /// The file at this path.
    new(path: impl Into<String>)
}
