//! What became of a scenario on an agent.

use interlingua_record::table::Entry;

/// What became of a scenario on an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cell {
    /// There was no recording of it.
    New,
    /// The recording was as the one before.
    Same,
    /// The recording was different and was replaced.
    Changed,
    /// It could not be played.
    Failed,
    /// It is not for this agent, for a reason.
    Absent(String),
}

impl Cell {
    /// It in the table.
    pub(crate) fn entry(&self) -> Entry {
        let (word, remark) = match self {
            Self::New => ("new", None),
            Self::Same => ("same", None),
            Self::Changed => ("changed", None),
            Self::Failed => ("FAILED", None),
            Self::Absent(reason) => ("", Some(reason.clone())),
        };
        Entry { word: word.to_owned(), remark }
    }
}
