//! Conversion of a whole log.

use std::io::{self, BufRead, Write};

use interlingua_schema::{EventSink, JsonLines, Timestamp, UniversalEvent};
use interlingua_wirelog::{Entry, Reader};

use crate::sequencer::StreamEnd;
use crate::{Conversion, Converter, Input, Launch};

/// Maximum number of lines that are converted before their events are flushed. A batch is shorter if the next line is
/// not available yet.
const LINES_PER_BATCH: usize = 64;

/// Converts a log and passes each event to `sink` as soon as it is certain. Memory is bounded by a few lines and what
/// is open at the time. No event waits for a line that is not available yet.
///
/// The time of an event is the header's `recorded_at` plus the record's `t`. A plain log has only the times within
/// payloads.
///
/// # Errors
///
/// If the log cannot be read, or `sink` fails. A line that cannot be understood is not an error, but an
/// `agent.unparsed` event.
pub fn convert_log<R: BufRead, C: Converter>(
    reader: &mut Reader<R>,
    conversion: &mut Conversion<C>,
    mut sink: impl FnMut(UniversalEvent) -> io::Result<()>,
) -> io::Result<()> {
    read(reader, conversion, &mut Vec::new(), |events| events.drain(..).try_for_each(&mut sink))
}

/// Converts a log like [`convert_log`], but writes each event as one line of JSON. This is faster, because most events
/// are written without creating a `UniversalEvent`.
///
/// # Errors
///
/// If the log cannot be read, or `out` cannot be written to.
pub fn convert_log_to_writer<R: BufRead, C: Converter>(
    reader: &mut Reader<R>,
    conversion: &mut Conversion<C>,
    out: &mut impl Write,
) -> io::Result<()> {
    read(reader, conversion, &mut JsonLines::new(), |lines| {
        out.write_all(lines.as_bytes())?;
        lines.clear();
        Ok(())
    })
}

/// Reads a log to its end. `drain` is called when there may be new events in `events`, and takes them out.
fn read<R: BufRead, C: Converter, S: EventSink>(
    reader: &mut Reader<R>,
    conversion: &mut Conversion<C>,
    events: &mut S,
    mut drain: impl FnMut(&mut S) -> io::Result<()>,
) -> io::Result<()> {
    let start = reader
        .header()
        .map(|header| header.recorded_at.as_deref().and_then(|time| time.parse().ok()).unwrap_or(Timestamp::EPOCH));
    let launch = reader.header().map(Launch::from).unwrap_or_default();
    let mut now = start;
    let mut batched = 0;
    conversion.observe_launch(now, &launch, events);
    while let Some(entry) = reader.next()? {
        match entry {
            Entry::Record(record) => {
                if let (Some(start), Some(t)) = (start, record.t) {
                    now = Some(start.plus_millis(t));
                }
                conversion.receive(now, record.input.borrowed());
            }
            Entry::Invalid(bad) => conversion.receive(now, Input::from(bad).borrowed()),
        }
        batched += 1;
        if batched == LINES_PER_BATCH || !reader.has_more() {
            batched = 0;
            conversion.flush(events);
            drain(events)?;
        }
    }
    conversion.finish(now, StreamEnd::Log, events);
    drain(events)
}
