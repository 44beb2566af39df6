//! A recorded log, start to end.

use std::io::{self, BufRead};

use interlingua_schema::{Timestamp, UniversalEvent};
use interlingua_wirelog::{Entry, Reader};

use crate::sequencer::End;
use crate::{Converter, Input, Launch, Stream};

/// Reads a log to its end and hands each event to `sink` as soon as it is certain. One line and what is open at the
/// time are all that is kept.
///
/// An event's time is the header's `recorded_at` plus the record's `t`; a plain log has only the payloads' own.
///
/// # Errors
///
/// When the log cannot be read, or `sink` fails. A line that makes no sense is no error but an `agent.unparsed` event.
pub fn convert_log<R: BufRead, C: Converter>(
    reader: &mut Reader<R>,
    stream: &mut Stream<C>,
    mut sink: impl FnMut(UniversalEvent) -> io::Result<()>,
) -> io::Result<()> {
    let start = reader
        .header()
        .map(|header| header.recorded_at.as_deref().and_then(|time| time.parse().ok()).unwrap_or(Timestamp::EPOCH));
    let launch = reader.header().map(Launch::from).unwrap_or_default();
    let mut events = Vec::new();
    let mut now = start;
    stream.launch(now, &launch, &mut events);
    while let Some(entry) = reader.next()? {
        match entry {
            Entry::Record(record) => {
                if let (Some(start), Some(t)) = (start, record.t) {
                    now = Some(start.plus_millis(t));
                }
                stream.push(now, Input::from(&record.wire), &mut events);
            }
            Entry::Bad(bad) => stream.push_garbled(now, bad.bytes, &bad.to_string(), &mut events),
        }
        events.drain(..).try_for_each(&mut sink)?;
    }
    stream.finish(now, End::Log, &mut events);
    events.into_iter().try_for_each(sink)
}
