//! What nobody says: changes of state, questions, failures.

use interlingua_schema::{ContentPart, ErrorCode, NativeItemId, StatusLabel};
use serde_json::Value;

/// What a note is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoteKind {
    Status,
    System,
    Unknown,
}

/// An item that nobody says: a change of state, a system message, something there is no word for.
#[derive(Clone, Debug)]
pub struct Note {
    pub(crate) kind: NoteKind,
    pub(crate) native_id: Option<NativeItemId>,
    pub(crate) content: Vec<ContentPart>,
}

impl Note {
    /// A change of state, with a line for a person where the label does not say it all.
    #[must_use]
    pub fn status(label: StatusLabel, detail: Option<String>) -> Self {
        let content = vec![ContentPart::Status { label, detail }];
        Self { kind: NoteKind::Status, native_id: None, content }
    }

    /// A system message.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Self { kind: NoteKind::System, native_id: None, content: vec![ContentPart::text(text)] }
    }

    /// Something the agent has and the universal schema has no word for.
    #[must_use]
    pub fn unknown(json: Value) -> Self {
        Self { kind: NoteKind::Unknown, native_id: None, content: vec![ContentPart::Json { json }] }
    }

    /// Adds a part: the words of a hook, for one.
    #[must_use]
    pub fn with(mut self, part: ContentPart) -> Self {
        self.content.push(part);
        self
    }

    /// Sets the agent's own id of the item; without one it is null.
    #[must_use]
    pub fn native(mut self, id: impl Into<NativeItemId>) -> Self {
        self.native_id = Some(id.into());
        self
    }
}

/// How far an approval goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This time.
    Once,
    /// From now on.
    Always,
}

/// A question to the user.
#[derive(Clone, Debug, Default)]
pub struct Ask {
    /// The question itself.
    pub prompt: String,
    /// What can be chosen; empty when the answer is free.
    pub options: Vec<String>,
    /// Header, descriptions of the options, whether several may be chosen; absent when there is nothing of the kind.
    pub metadata: Option<Value>,
}

/// A failure the user must know of. The turn it happens in ends `failed`, unless the agent says otherwise.
#[derive(Clone, Debug)]
pub struct Failure {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
    pub(crate) aside: bool,
}

impl Failure {
    /// A failure of this kind, in the agent's own words.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None, aside: false }
    }

    /// Adds what else the agent says about it.
    #[must_use]
    pub fn details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }

    /// It happened beside the turn and says nothing about it: a request of the host's own that was refused. It does
    /// not fail the turn, and no prompt is shown before it.
    #[must_use]
    pub fn aside(mut self) -> Self {
        self.aside = true;
        self
    }
}

/// A payload that does not fit what is known of the agent.
#[derive(Clone, Debug)]
pub(crate) struct Unparsed {
    pub(crate) location: &'static str,
    pub(crate) error: String,
    pub(crate) native_type: Option<String>,
    /// Filled in by whoever has the payload.
    pub(crate) hash: String,
}
