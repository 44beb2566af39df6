//! Where the events of a history go.

use std::io::{self, Write};

use interlingua_convert::UsageEntry;
use interlingua_schema::{EventRef, EventSink, JsonLines, UniversalEvent};

/// Receives the events of a history, in batches.
pub trait HistorySink: EventSink {
    /// Passes on the events so far. Called after each batch of records.
    ///
    /// # Errors
    /// If the events cannot be passed on. The conversion ends.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// All records are read. The events that follow close what is open, and change when the agent writes more.
    fn end_records(&mut self) {}

    /// What was used of one model at one time.
    fn record_usage(&mut self, entry: &UsageEntry) {
        let _ = entry;
    }
}

impl HistorySink for Vec<UniversalEvent> {}

/// Writes each event as one line of JSON.
pub struct LineSink<W> {
    lines: JsonLines,
    output: W,
}

impl<W: Write> LineSink<W> {
    /// Writes to this output.
    pub fn new(output: W) -> Self {
        Self { lines: JsonLines::new(), output }
    }
}

impl<W: Write> EventSink for LineSink<W> {
    fn write_event(&mut self, event: EventRef<'_>) {
        self.lines.write_event(event);
    }
}

impl<W: Write> HistorySink for LineSink<W> {
    fn flush(&mut self) -> io::Result<()> {
        self.output.write_all(self.lines.as_bytes())?;
        self.lines.clear();
        Ok(())
    }
}

/// Passes each event to a function.
pub struct EventSinkFn<F> {
    events: Vec<UniversalEvent>,
    function: F,
}

impl<F: FnMut(UniversalEvent) -> io::Result<()>> EventSinkFn<F> {
    /// Passes events to this function.
    pub fn new(function: F) -> Self {
        Self { events: Vec::new(), function }
    }
}

impl<F> EventSink for EventSinkFn<F> {
    fn write_event(&mut self, event: EventRef<'_>) {
        self.events.push(event.into_event());
    }
}

impl<F: FnMut(UniversalEvent) -> io::Result<()>> HistorySink for EventSinkFn<F> {
    fn flush(&mut self) -> io::Result<()> {
        self.events.drain(..).try_for_each(&mut self.function)
    }
}

/// Passes what was used to a function, and drops the events.
pub struct UsageSink<F>(F);

impl<F: FnMut(&UsageEntry)> UsageSink<F> {
    /// Passes usage to this function.
    pub fn new(function: F) -> Self {
        Self(function)
    }
}

impl<F> EventSink for UsageSink<F> {
    fn write_event(&mut self, _event: EventRef<'_>) {}
}

impl<F: FnMut(&UsageEntry)> HistorySink for UsageSink<F> {
    fn record_usage(&mut self, entry: &UsageEntry) {
        (self.0)(entry);
    }
}
