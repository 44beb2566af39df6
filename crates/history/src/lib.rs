//! Reads the sessions that coding agents keep on disk, as universal events.
//!
//! ```text
//! record on disk ──translate──▶ line of the wire ──▶ converter ──drafts──▶ sequencer ──▶ UniversalEvent
//! ```
//!
//! A reader per agent translates each record to what the agent would have said on its wire, and hands it to the agent's
//! [converter](interlingua_convert::Converter). There is no second conversion: what a live session shows and a history
//! contains looks the same. The native payload of an event is the record, not the translation.
//!
//! Nothing in an agent's folder is written.

mod claude;
mod codex;
mod discovery;
mod error;
mod follow;
mod ids;
mod import;
mod import_sink;
mod json;
mod merge;
mod opencode;
mod output;
mod parallel;
mod record_reader;
mod report;
mod session;
mod sink;
mod source;
mod tail;
mod zstd;

pub use discovery::default_folders;
pub use error::HistoryError;
pub use follow::{FollowedFiles, Follower};
pub(crate) use ids::HistoryIds;
pub use import::{Import, ImportError, ImportOutcome, Importer};
pub use parallel::for_each_session;
pub use report::{HistoryReport, Problem};
pub use session::{Branch, HistoryFormat, HistorySession};
pub use sink::{EventSinkFn, HistorySink, LineSink, UsageSink};
pub use source::{HistoryReader, detect_format};

/// How a history is converted.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ConvertOptions {
    /// Whether events carry the native records that they were made from.
    pub raw: bool,
    /// Whether the agent may be writing the files. A line without an end is not damaged then, but left out.
    pub is_growing: bool,
    /// Which [branch](HistoryReader::branches) of the conversation is shown, from 1; `None` for the current one.
    pub branch: Option<usize>,
}

impl ConvertOptions {
    interlingua_schema::setters! {
        pub raw: bool,
        pub is_growing: bool,
        pub branch: Option<usize>,
    }
}

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
