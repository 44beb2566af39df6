//! What an agent asks a person.

use interlingua_schema::{ApprovalScope, QuestionMetadata, QuestionOption, ToolInput, ToolKind};
use serde_json::Value;

/// A permission that the agent asks for.
///
/// What it is about is the tool call that waits for it. The sequencer takes kind, input and title from that call where
/// it is known, so that a request need not repeat them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PermissionDraft {
    /// The agent's id of the call. Without one, the call is found by `kind` and `input`.
    pub call_id: Option<String>,
    /// What sort of tool it is about, where the call is not known.
    pub kind: Option<ToolKind>,
    /// What the tool would be called with, where the call is not known.
    pub input: Option<ToolInput>,
    /// One line for a person, where neither the call nor the input says what is asked.
    pub title: Option<String>,
    /// Why the agent asks.
    pub reason: Option<String>,
    /// What an approval may mean; `once` when empty.
    pub scopes: Vec<ApprovalScope>,
    /// The rest, as the agent says it.
    pub native: Option<Value>,
}

impl PermissionDraft {
    /// A permission for this call.
    #[must_use]
    pub fn new(call_id: impl Into<String>) -> Self {
        Self { call_id: Some(call_id.into()), ..Self::default() }
    }
}

/// A question to the user.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct QuestionDraft {
    /// The question itself.
    pub prompt: String,
    /// What can be chosen; empty when the answer is free.
    pub options: Vec<QuestionOption>,
    /// The question in a word or two.
    pub header: Option<String>,
    /// Whether several options may be chosen.
    pub multi_select: bool,
    /// Whether the answer may be something else than an option.
    pub free_text: bool,
    /// Whether the answer is not to be shown.
    pub secret: bool,
    /// The agent's id of the call that waits for the answer.
    pub call_id: Option<String>,
    /// The rest, as the agent says it.
    pub native: Option<Value>,
}

impl QuestionDraft {
    /// A question with a free answer.
    #[must_use]
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), ..Self::default() }
    }

    /// The options that approve and reject a plan, whichever agent proposes it.
    #[must_use]
    pub fn plan_approval(plan: impl Into<String>) -> Self {
        Self { options: vec![QuestionOption::new("approve"), QuestionOption::new("reject")], ..Self::new(plan) }
    }

    /// The prompt, the names of the options, and the metadata.
    pub(crate) fn into_parts(self) -> (String, Vec<String>, QuestionMetadata) {
        let labels = self.options.iter().map(|option| option.label.clone()).collect();
        let mut metadata = QuestionMetadata::default();
        metadata.header = self.header;
        metadata.options = self.options;
        metadata.multi_select = self.multi_select;
        metadata.free_text = self.free_text;
        metadata.secret = self.secret;
        metadata.call_id = self.call_id;
        metadata.native = self.native;
        (self.prompt, labels, metadata)
    }
}
