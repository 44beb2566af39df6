//! Sessions that agents keep on disk.

use std::path::Path;

use anyhow::Context as _;
use interlingua_history::{
    ConvertOptions, HistoryReader, HistoryReport, HistorySession, HistorySink, SharedIds, detect_format,
};

use crate::Outcome;

/// Whether a file or folder is a history. Standard input is not.
pub(crate) fn is_history(file: &str) -> anyhow::Result<bool> {
    let path = Path::new(file);
    if path.is_dir() {
        return Ok(true);
    }
    Ok(path.is_file() && detect_format(path).with_context(|| format!("cannot read {file}"))?.is_some())
}

/// The sessions of a file or folder.
pub(crate) struct History {
    reader: HistoryReader,
    pub(crate) sessions: Vec<HistorySession>,
    pub(crate) report: HistoryReport,
    ids: SharedIds,
}

impl History {
    /// Finds the sessions, oldest first.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let mut report = HistoryReport::default();
        let mut reader = HistoryReader::new();
        let sessions = reader.sessions(path, &mut report)?;
        Ok(Self { reader, sessions, report, ids: SharedIds::default() })
    }

    /// Converts one of the sessions.
    pub(crate) fn convert(
        &mut self,
        session: &HistorySession,
        raw: bool,
        sink: &mut dyn HistorySink,
    ) -> anyhow::Result<()> {
        let options = ConvertOptions::new(raw, self.ids.clone());
        Ok(self.reader.convert(session, options, sink, &mut self.report)?)
    }
}

/// Prints what is damaged. Records of unknown types only count if the command is strict.
pub(crate) fn outcome(report: &HistoryReport, is_strict: bool) -> Outcome {
    for problem in &report.problems {
        eprintln!("{problem}");
    }
    if report.damaged > 0 {
        eprintln!("{} of {} records are damaged", report.damaged, report.records);
    }
    Outcome::issues_if(report.damaged > 0 || (is_strict && report.unparsed > 0))
}
