//! Drafts of requests: permissions and questions.

use interlingua_schema::{ApprovalScope, QuestionMetadata, QuestionOption, ToolInput, ToolKind};
use serde_json::Value;

/// A permission that the agent requests.
///
/// It is for the tool call that waits for it. If that call is known, the sequencer takes kind, input and title from the
/// call, so the draft need not repeat them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PermissionDraft {
    /// Native id of the call. Without one, the call is found by `kind` and `input`.
    pub call_id: Option<String>,
    /// Kind of the tool, if the call is not known.
    pub kind: Option<ToolKind>,
    /// Input of the tool, if the call is not known.
    pub input: Option<ToolInput>,
    /// One line for a person, if neither the call nor the input describes the action.
    pub title: Option<String>,
    /// Why the agent requests the permission.
    pub reason: Option<String>,
    /// Scopes that an approval can have; `once` if empty.
    pub scopes: Vec<ApprovalScope>,
    /// Everything else, in the agent's own format.
    pub native: Option<Value>,
}

impl PermissionDraft {
    /// A permission for the call with this native id.
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
    /// Options to choose from; empty if the answer is free text.
    pub options: Vec<QuestionOption>,
    /// Short label of the question.
    pub header: Option<String>,
    /// Whether several options may be chosen.
    pub multi_select: bool,
    /// Whether the answer may be free text instead of an option.
    pub free_text: bool,
    /// Whether the answer is a secret and must not be shown.
    pub secret: bool,
    /// Native id of the call that waits for the answer.
    pub call_id: Option<String>,
    /// Everything else, in the agent's own format.
    pub native: Option<Value>,
}

impl QuestionDraft {
    /// A question with a free-text answer.
    #[must_use]
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), ..Self::default() }
    }

    /// A question whether to approve a plan. The options are the same for all agents.
    #[must_use]
    pub fn plan_approval(plan: impl Into<String>) -> Self {
        Self { options: vec![QuestionOption::new("approve"), QuestionOption::new("reject")], ..Self::new(plan) }
    }

    /// Splits into the prompt, the labels of the options, and the metadata.
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
