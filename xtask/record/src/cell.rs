//! What became of a scenario on an agent.

use interlingua_record::table::Entry;

/// What became of a scenario on an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// There was no recording of it.
    New,
    /// The recording was as the one before.
    Same,
    /// It was as the one before, but became another universal stream.
    Unsteady,
    /// The recording was different and was replaced.
    Changed,
    /// It could not be played.
    Failed,
    /// It is not for this agent, for a reason.
    Absent(String),
}

impl Cell {
    /// Whether the recording is still the one that was there before.
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self, Self::Same | Self::Unsteady)
    }

    /// It in the table.
    pub(crate) fn entry(&self) -> Entry {
        let (word, remark) = match self {
            Self::New => ("new", None),
            Self::Same => ("same", None),
            Self::Unsteady => ("UNSTEADY", None),
            Self::Changed => ("changed", None),
            Self::Failed => ("FAILED", None),
            Self::Absent(reason) => ("", Some(reason.clone())),
        };
        Entry { word: word.to_owned(), remark }
    }
}
