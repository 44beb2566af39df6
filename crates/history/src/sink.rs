//! Where the events of a history go.

use std::io::{self, Write};

use interlingua_schema::{EventRef, EventSink, JsonLines, UniversalEvent};

/// Receives the events of a history, in batches.
pub trait HistorySink: EventSink {
    /// Passes on the events so far. Called after each batch of records.
    ///
    /// # Errors
    /// If the events cannot be passed on.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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
