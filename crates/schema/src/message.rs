//! What a user says to an agent.

use crate::wire_struct;

/// What a user says to an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// The words.
    pub text: String,
    /// The files that go with them.
    pub attachments: Vec<Attachment>,
}

impl Message {
    /// A message without attachments.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), attachments: Vec::new() }
    }

    /// Sets the files that go with it.
    #[must_use]
    pub fn attachments(mut self, attachments: Vec<Attachment>) -> Self {
        self.attachments = attachments;
        self
    }
}

wire_struct! {
    /// A file that goes with a message.
    #[derive(Clone, Debug, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Attachment {
        /// Where it is.
        pub path: String,
        /// Its media type. Left out when the client does not say.
        pub mime?: Option<String>,
        /// What to call it. Left out when the client does not say.
        pub filename?: Option<String>,
    }
    /// The file at this path.
    new(path: impl Into<String>)
}
