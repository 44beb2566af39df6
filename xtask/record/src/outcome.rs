//! The outcome of recording a scenario on an agent.

use interlingua_record::table::Cell;

/// The outcome of recording a scenario on an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordingOutcome {
    /// There was no earlier recording.
    New,
    /// The recording has the same normal form as the earlier one.
    Same,
    /// The recording has the same normal form as the earlier one, but converts to a different universal stream.
    Unstable,
    /// The recording differs from the earlier one and has replaced it.
    Changed,
    /// The scenario could not be played.
    Failed,
    /// The agent cannot play the scenario, for this reason.
    Unsupported(String),
}

impl RecordingOutcome {
    /// Whether the earlier recording was kept.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self, Self::Same | Self::Unstable)
    }

    /// The cell of the table.
    pub(crate) fn cell(&self) -> Cell {
        let (text, note) = match self {
            Self::New => ("new", None),
            Self::Same => ("same", None),
            Self::Unstable => ("UNSTABLE", None),
            Self::Changed => ("changed", None),
            Self::Failed => ("FAILED", None),
            Self::Unsupported(reason) => ("", Some(reason.clone())),
        };
        Cell { text: text.to_owned(), note }
    }
}
