//! From translated records to events.

use interlingua_convert::{Conversion, ConversionOptions, Converter, Drafts, Input, StreamEnd};
use interlingua_schema::{EventRef, EventSink, Timestamp};

use crate::{ConvertOptions, HistoryError, HistoryIds, HistoryReport, HistorySink};

/// Number of records after which events are passed on.
const RECORDS_PER_BATCH: u32 = 64;
/// Number of bytes of records after which events are passed on.
const BYTES_PER_BATCH: usize = 1 << 20;

/// Converts the records of one session, and counts what becomes of them.
pub(crate) struct Output<'a> {
    conversion: Conversion<Box<dyn Converter>>,
    sink: &'a mut dyn HistorySink,
    report: &'a mut HistoryReport,
    /// Time of the latest record with a time.
    now: Option<Timestamp>,
    /// Number of records and bytes since events were passed on.
    batched: (u32, usize),
}

impl<'a> Output<'a> {
    pub(crate) fn new(
        converter: Box<dyn Converter>,
        native_session_id: &str,
        options: ConvertOptions,
        sink: &'a mut dyn HistorySink,
        report: &'a mut HistoryReport,
    ) -> Self {
        let mut conversion = ConversionOptions::new(options.raw, Box::new(HistoryIds::new(native_session_id)));
        conversion.keep_usage = true;
        Self { conversion: Conversion::new(converter, conversion), sink, report, now: None, batched: (0, 0) }
    }

    pub(crate) fn report(&mut self) -> &mut HistoryReport {
        self.report
    }

    /// Notes the time of the next record. Times never go back: records are sometimes written late.
    pub(crate) fn set_time(&mut self, time: Option<Timestamp>) {
        self.now = self.now.max(time);
    }

    /// Converts a record that was translated to a line of the agent.
    pub(crate) fn receive(&mut self, record: &str, line: &str) {
        self.batched.1 += line.len();
        self.conversion.receive_translated(self.now, Input::Received(line), record);
    }

    /// Adds drafts made from a record.
    pub(crate) fn receive_drafts(&mut self, record: &str, write: impl FnOnce(&mut Drafts)) {
        self.conversion.receive_drafts(self.now, record, write);
    }

    /// Adds drafts for what no record says.
    pub(crate) fn infer(&mut self, write: impl FnOnce(&mut Drafts)) {
        self.conversion.receive_host_drafts(self.now, write);
    }

    /// Drops a record that carries nothing for a client.
    pub(crate) fn drop_record(&mut self, reason: &'static str) {
        self.report.drop_record(reason);
    }

    /// Passes on the events of a full batch.
    pub(crate) fn end_record(&mut self) -> Result<(), HistoryError> {
        self.batched.0 += 1;
        let is_full = self.batched.0 >= RECORDS_PER_BATCH || self.batched.1 >= BYTES_PER_BATCH;
        if is_full { self.flush() } else { Ok(()) }
    }

    /// All records are read. What follows closes what is open.
    pub(crate) fn end_records(&mut self) -> Result<(), HistoryError> {
        self.flush()?;
        self.sink.end_records();
        Ok(())
    }

    fn flush(&mut self) -> Result<(), HistoryError> {
        self.batched = (0, 0);
        self.conversion.flush(&mut CountingSink { sink: self.sink, report: self.report });
        self.pass_usage();
        self.sink.flush().map_err(HistoryError::Write)
    }

    fn pass_usage(&mut self) {
        for entry in self.conversion.take_usage() {
            self.sink.record_usage(&entry);
            self.report.add_usage(entry.usage);
        }
    }

    /// Ends the session's stream. The session itself does not end: its agent can continue it.
    pub(crate) fn finish(mut self) -> Result<(), HistoryError> {
        self.conversion.finish(self.now, StreamEnd::Log, &mut CountingSink { sink: self.sink, report: self.report });
        self.pass_usage();
        self.sink.flush().map_err(HistoryError::Write)?;
        let stats = self.conversion.stats();
        self.report.unparsed += stats.unparsed;
        for (reason, count) in &stats.dropped {
            *self.report.dropped.entry(reason).or_default() += count;
        }
        Ok(())
    }
}

/// Counts the events.
struct CountingSink<'a> {
    sink: &'a mut dyn HistorySink,
    report: &'a mut HistoryReport,
}

impl EventSink for CountingSink<'_> {
    fn write_event(&mut self, event: EventRef<'_>) {
        self.report.events += 1;
        self.sink.write_event(event);
    }
}
