//! Events that cannot be read.
//!
//! A damaged database costs the events that are damaged, and no others: an `agent.unparsed` event is read in the place
//! of each. It has the sequence of the lost event, so that the stream has no gap, and is the same for every reader.

use std::fmt::Write as _;
use std::ops::ControlFlow;

use interlingua_schema::{AgentUnparsed, EventData, Origin, Timestamp, UniversalEvent};
use sha2::{Digest as _, Sha256};

use crate::events::EventLines;
use crate::{ReadLimits, SessionKey, stored_chunk};

/// What a damaged row has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remains<'a> {
    /// Its events, one per line, as far as they can be decoded.
    pub(crate) text: &'a str,
    /// The checksums of its events; `None` if it was written without them.
    pub(crate) event_checksums: Option<&'a [u8]>,
}

/// Makes the events that are read in the place of unreadable ones.
pub(crate) struct Replacement {
    session_id: String,
    key: SessionKey,
    /// Time of the last readable event before them: the time of a stream never goes back.
    time: Timestamp,
}

impl Replacement {
    /// For the events of a session after a readable one of this time.
    pub(crate) fn new(session_id: String, key: SessionKey, time: Timestamp) -> Self {
        Self { session_id, key, time }
    }

    /// Adds the events up to the last one of a damaged row.
    pub(crate) fn push_row(
        &mut self,
        lines: &mut EventLines,
        limits: ReadLimits,
        (first, last): (u64, u64),
        remains: Remains<'_>,
    ) -> Result<ControlFlow<()>, serde_json::Error> {
        let intact = |line| {
            let event = parse_intact(line)?;
            let index = usize::try_from(event.sequence.checked_sub(first)?).ok()?;
            // Without a checksum, an event counts as intact if it can be parsed.
            let is_intact = stored_chunk::is_intact(line, index, remains.event_checksums).unwrap_or(true);
            is_intact.then_some((event, line))
        };
        let mut stored = remains.text.split('\n').filter_map(intact).peekable();
        let by_position: Vec<&str> = remains.text.split('\n').collect();
        while lines.next() <= last {
            let next = lines.next();
            // Also of the events that were read before: every reader finds the same time.
            while let Some((event, _)) = stored.next_if(|(event, _)| event.sequence < next) {
                self.time = event.time;
            }
            let flow = if let Some((event, line)) = stored.next_if(|(event, _)| event.sequence == next) {
                self.time = event.time;
                lines.push_within(line, None, limits)
            } else {
                let index = next.checked_sub(first).and_then(|index| usize::try_from(index).ok());
                let remains = index.and_then(|index| by_position.get(index)).copied().unwrap_or_default();
                lines.push_within(&self.event(next, remains)?, None, limits)
            };
            if flow.is_break() {
                return Ok(flow);
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Adds events up to this one in the place of those whose rows are missing.
    pub(crate) fn push_missing(
        &self,
        lines: &mut EventLines,
        limits: ReadLimits,
        last: u64,
    ) -> Result<(), serde_json::Error> {
        while lines.next() <= last {
            if lines.push_within(&self.event(lines.next(), "")?, None, limits).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The event in the place of the one with this sequence. `remains` is what is left of it.
    fn event(&self, sequence: u64, remains: &str) -> Result<String, serde_json::Error> {
        let hash = Sha256::digest(remains.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
            // Writing to a string does not fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        });
        let error = "the stored event cannot be read, because the database is damaged; `interlingua store check` lists \
                     the damage";
        let data = EventData::AgentUnparsed(AgentUnparsed::new(error, "store", hash));
        let id = format!("evt_unreadable_{}_{sequence}", self.key.0);
        let event = UniversalEvent::new(id, sequence, self.time, self.session_id.as_str(), Origin::DAEMON, data);
        serde_json::to_string(&event)
    }
}

/// Decodes a line of a damaged row; `None` if it is not an event.
pub(crate) fn parse_intact(line: &str) -> Option<UniversalEvent> {
    // The replacement character stands for bytes that are not text.
    if line.contains(char::REPLACEMENT_CHARACTER) { None } else { serde_json::from_str(line).ok() }
}
