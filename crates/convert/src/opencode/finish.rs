//! Finish reasons of the model, as OpenCode passes them on from the providers.

use interlingua_schema::StopReason;

/// Why a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    /// The model has finished its answer.
    Stop,
    /// The answer reached the model's token limit.
    Length,
    /// The provider withheld the answer.
    ContentFilter,
    /// Tools were called, or the provider gave no reason. Another step follows.
    Continues,
    Error,
    /// Another reason of the provider.
    Other,
    /// A value that is not listed here.
    Unknown,
}

impl Finish {
    pub(super) fn parse(word: &str) -> Self {
        match word {
            "stop" => Self::Stop,
            "length" => Self::Length,
            "content-filter" => Self::ContentFilter,
            "tool-calls" | "unknown" => Self::Continues,
            "error" => Self::Error,
            "other" => Self::Other,
            _ => Self::Unknown,
        }
    }

    /// Stop reason of a turn with this last step.
    pub(super) fn stop_reason(self) -> Option<StopReason> {
        match self {
            Self::Stop => Some(StopReason::EndTurn),
            Self::Length => Some(StopReason::MaxTokens),
            Self::ContentFilter => Some(StopReason::Refusal),
            Self::Other => Some(StopReason::Other),
            Self::Continues | Self::Error | Self::Unknown => None,
        }
    }

    /// Whether a turn with this last step has succeeded; `None` if the finish does not determine that.
    pub(super) fn is_success(self) -> Option<bool> {
        match self {
            Self::Stop | Self::Length | Self::ContentFilter | Self::Other => Some(true),
            Self::Error | Self::Unknown => Some(false),
            Self::Continues => None,
        }
    }
}
