//! Why the model stopped, in the words that OpenCode has from its providers.

use interlingua_schema::StopReason;

/// Why a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// The model had said what it had to say.
    Stop,
    /// The answer was cut off at the model's limit.
    Length,
    /// The provider withheld the answer.
    ContentFilter,
    /// Tools were called: the next step follows. So it does where the provider gives no reason.
    GoesOn,
    /// The model failed.
    Error,
    /// The provider gives another reason.
    Other,
    /// A word that is not known.
    Unlisted,
}

impl Finish {
    pub(super) fn from_word(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "content-filter" => Self::ContentFilter,
            "tool-calls" | "unknown" => Self::GoesOn,
            "error" => Self::Error,
            "other" => Self::Other,
            _ => Self::Unlisted,
        }
    }

    /// Why the turn ended, if this was its last step.
    pub(super) fn stop_reason(self) -> Option<StopReason> {
        match self {
            Self::Stop => Some(StopReason::EndTurn),
            Self::Length => Some(StopReason::MaxTokens),
            Self::ContentFilter => Some(StopReason::Refusal),
            Self::Other => Some(StopReason::Other),
            Self::GoesOn | Self::Error | Self::Unlisted => None,
        }
    }

    /// Whether the turn went well, if this was its last step; `None` where that does not follow.
    pub(super) fn went_well(self) -> Option<bool> {
        match self {
            Self::Stop | Self::Length | Self::ContentFilter | Self::Other => Some(true),
            Self::Error | Self::Unlisted => Some(false),
            Self::GoesOn => None,
        }
    }
}
