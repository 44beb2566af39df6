//! What the host does in a scenario.

use serde::Deserialize;

/// What the host answers when the agent asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this once. To a plan: go ahead.
    Allow,
    /// Yes, and do not ask for the like again.
    Always,
    /// No, with a reason if there is one. To a plan: not like this.
    Deny(Option<String>),
    /// For each question what was chosen.
    Choose(Vec<Vec<String>>),
    /// The user does not want to answer.
    Dismiss,
}

/// Something that the host does by itself.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// When.
    pub on: Trigger,
    /// What.
    #[serde(rename = "do")]
    pub deed: Deed,
}

/// When the host does something: when it has seen something, never after a while.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The agent has shown some of the model's words.
    Text,
    /// The agent asks something, which then gets no answer.
    Ask,
    /// The agent says that it tries again.
    Retry,
    /// This file is in the workspace.
    File(String),
}

/// What the host does.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// It tells the agent to stop what it does.
    Interrupt,
    /// It ends the agent so that the agent cannot do anything about it.
    Kill,
    /// It tells the agent's process to end.
    Terminate,
    /// It closes the agent's input.
    Close,
    /// The user says something more. The message is that of the next turn.
    Say,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected \"allow\", \"always\", \"deny\", \"dismiss\", { deny = \"why\" } or { choose = [[\"…\"]] }"
)]
pub(super) enum Written {
    Plain(Plain),
    Deny(Denial),
    Choose(Choice),
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Plain {
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

impl From<Written> for Answer {
    fn from(answer: Written) -> Self {
        match answer {
            Written::Plain(Plain::Allow) => Self::Allow,
            Written::Plain(Plain::Always) => Self::Always,
            Written::Plain(Plain::Deny) => Self::Deny(None),
            Written::Plain(Plain::Dismiss) => Self::Dismiss,
            Written::Deny(Denial { deny }) => Self::Deny(Some(deny)),
            Written::Choose(Choice { choose }) => Self::Choose(choose),
        }
    }
}
