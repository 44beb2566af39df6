//! What the host does in a scenario.

use serde::Deserialize;

/// The host's answer to a permission or question request of the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostAnswer {
    /// Allows it once. For a plan: approves it.
    Allow,
    /// Allows it and everything like it from now on.
    AllowAlways,
    /// Denies it, with an optional reason. For a plan: rejects it.
    Deny(Option<String>),
    /// Answers questions: the chosen options of each question.
    Choose(Vec<Vec<String>>),
    /// Declines to answer.
    Dismiss,
}

/// Something that the host does without being asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TriggeredAction {
    /// When the host does it.
    #[serde(rename = "on")]
    pub trigger: Trigger,
    /// The action.
    #[serde(rename = "do")]
    pub action: HostAction,
}

/// When the host does something: always an observation, never a delay.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The agent has streamed some of the model's text.
    Text,
    /// The agent requests a permission or asks a question. The request then gets no answer.
    #[serde(rename = "ask")]
    Request,
    /// The agent reports that it retries.
    Retry,
    /// This file exists in the workspace.
    File(String),
}

/// An action of the host.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostAction {
    /// Interrupts the agent's turn.
    Interrupt,
    /// Kills the agent's process (SIGKILL).
    Kill,
    /// Terminates the agent's process (SIGTERM).
    Terminate,
    /// Closes the agent's input.
    #[serde(rename = "close")]
    CloseInput,
    /// Sends the prompt of the next turn.
    #[serde(rename = "say")]
    SendMessage,
}

/// A [`HostAnswer`] as it is written in the file.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"allow\", \"always\", \"deny\", \"dismiss\", { deny = \"why\" } or { choose = [[\"…\"]] }"
)]
pub(super) enum AnswerValue {
    Name(AnswerName),
    Deny(Denial),
    Choose(Choice),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AnswerName {
    Allow,
    Always,
    Deny,
    Dismiss,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Denial {
    deny: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Choice {
    choose: Vec<Vec<String>>,
}

impl From<AnswerValue> for HostAnswer {
    fn from(answer: AnswerValue) -> Self {
        match answer {
            AnswerValue::Name(AnswerName::Allow) => Self::Allow,
            AnswerValue::Name(AnswerName::Always) => Self::AllowAlways,
            AnswerValue::Name(AnswerName::Deny) => Self::Deny(None),
            AnswerValue::Name(AnswerName::Dismiss) => Self::Dismiss,
            AnswerValue::Deny(Denial { deny }) => Self::Deny(Some(deny)),
            AnswerValue::Choose(Choice { choose }) => Self::Choose(choose),
        }
    }
}
