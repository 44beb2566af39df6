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
mod ids;
mod import;
mod json;
mod merge;
mod opencode;
mod output;
mod record_reader;
mod report;
mod session;
mod sink;
mod source;
mod tail;

use interlingua_convert::{ConversionOptions, IdSource};

pub use discovery::default_folders;
pub use error::HistoryError;
pub use ids::SharedIds;
pub use import::{ImportError, ImportOutcome, Importer};
pub use report::{HistoryReport, Problem};
pub use session::{HistoryFormat, HistorySession};
pub use sink::{EventSinkFn, HistorySink, LineSink};
pub use source::{HistoryReader, detect_format};

/// How a history is converted.
#[derive(Default)]
#[non_exhaustive]
pub struct ConvertOptions {
    /// How events are made.
    pub conversion: ConversionOptions,
}

impl ConvertOptions {
    /// Options with these ids, and with native records if `raw`.
    #[must_use]
    pub fn new(raw: bool, ids: impl IdSource + 'static) -> Self {
        Self { conversion: ConversionOptions::new(raw, Box::new(ids)) }
    }

    /// Default options, with native records if `raw`.
    #[must_use]
    pub fn with_raw(raw: bool) -> Self {
        Self { conversion: ConversionOptions::with_raw(raw) }
    }
}

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
