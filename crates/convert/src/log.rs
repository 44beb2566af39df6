//! A recorded log, start to end.

use std::io::{self, BufRead, Write};

use interlingua_schema::{EventSink, JsonLines, Timestamp, UniversalEvent};
use interlingua_wirelog::{Entry, Reader};

use crate::sequencer::StreamEnd;
use crate::{Conversion, Converter, Input, Launch};

/// Number of lines that are converted before events are made of them, unless the next line is still to come.
const LINES_PER_BATCH: usize = 64;

/// Reads a log to its end and hands each event to `sink` as soon as it is certain. A few lines and what is open at the
/// time are all that is kept; nothing is held back for a line that the input does not have yet.
///
/// An event's time is the header's `recorded_at` plus the record's `t`; a plain log has only the payloads' own.
///
/// # Errors
///
/// When the log cannot be read, or `sink` fails. A line that makes no sense is no error but an `agent.unparsed` event.
pub fn convert_log<R: BufRead, C: Converter>(
    reader: &mut Reader<R>,
    conversion: &mut Conversion<C>,
    mut sink: impl FnMut(UniversalEvent) -> io::Result<()>,
) -> io::Result<()> {
    read(reader, conversion, &mut Vec::new(), |events| events.drain(..).try_for_each(&mut sink))
}

/// As [`convert_log`], but writes each event as one line of JSON. This is faster, because most events need not be made
/// for that.
///
/// # Errors
///
/// When the log cannot be read, or `out` cannot be written to.
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

/// Reads a log to its end. Whenever there are new events in `events`, `hand_over` puts them where they belong.
fn read<R: BufRead, C: Converter, S: EventSink>(
    reader: &mut Reader<R>,
    conversion: &mut Conversion<C>,
    events: &mut S,
    mut hand_over: impl FnMut(&mut S) -> io::Result<()>,
) -> io::Result<()> {
    let start = reader
        .header()
        .map(|header| header.recorded_at.as_deref().and_then(|time| time.parse().ok()).unwrap_or(Timestamp::EPOCH));
    let launch = reader.header().map(Launch::from).unwrap_or_default();
    let mut now = start;
    let mut heard = 0;
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
        heard += 1;
        if heard == LINES_PER_BATCH || !reader.has_more() {
            heard = 0;
            conversion.flush(events);
            hand_over(events)?;
        }
    }
    conversion.finish(now, StreamEnd::Log, events);
    hand_over(events)
}
