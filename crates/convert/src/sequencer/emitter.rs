//! Emitting one event: where it comes from, and its id, sequence number and time.

use interlingua_schema::{EventDataRef, EventRef, EventSink, NativeSessionId, Origin, RawJson, SessionId, Timestamp};

use crate::IdSource;

/// The input that drafts were made from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Provenance {
    /// Time of the input. Without one, the events get the time of the event before them.
    pub(crate) time: Option<Timestamp>,
    /// Whether the input came from the agent, rather than from the host.
    pub(crate) from_agent: bool,
    /// The payload, if events carry raw payloads.
    pub(crate) raw: Option<RawJson>,
}

impl Provenance {
    /// Origin of events made from the input.
    pub(crate) fn origin(&self, synthetic: bool) -> Origin {
        if self.from_agent && !synthetic { Origin::AGENT } else { Origin::DAEMON }
    }

    /// Whether `drafts` drafts with the provenance `later` can be appended to those that have this one.
    pub(crate) fn can_share(&self, later: &Self, drafts: usize) -> bool {
        let is_alike = || self.time == later.time && self.raw.is_none() && later.raw.is_none();
        self.from_agent == later.from_agent && (drafts == 0 || is_alike())
    }

    /// The same with another payload, if one is given.
    pub(crate) fn with_raw(&self, raw: Option<RawJson>) -> Self {
        Self { time: self.time, from_agent: self.from_agent, raw: raw.or_else(|| self.raw.clone()) }
    }
}

/// What a session needs to emit events.
pub(crate) struct EmitContext<'a> {
    pub(crate) provenance: &'a Provenance,
    pub(crate) ids: &'a mut dyn IdSource,
    pub(crate) out: &'a mut dyn EventSink,
}

impl EmitContext<'_> {
    /// The same with another provenance, for drafts that were held back.
    pub(crate) fn with_provenance<'b>(&'b mut self, provenance: &'b Provenance) -> EmitContext<'b> {
        EmitContext { provenance, ids: &mut *self.ids, out: &mut *self.out }
    }
}

/// Emits the events of one session: numbers them and keeps their times in order.
pub(super) struct EventEmitter {
    id: SessionId,
    /// The agent's id of the session, once it is known.
    pub(super) native_id: Option<NativeSessionId>,
    /// Sequence number of the latest event.
    sequence: u64,
    /// Time of the latest event.
    time: Timestamp,
}

impl EventEmitter {
    /// An emitter whose next event follows the one with this sequence number and time.
    pub(super) fn new(id: SessionId, native_id: Option<NativeSessionId>, sequence: u64, time: Timestamp) -> Self {
        Self { id, native_id, sequence, time }
    }

    /// Time of the latest event.
    pub(super) fn time(&self) -> Timestamp {
        self.time
    }

    pub(super) fn emit(&mut self, ctx: &mut EmitContext<'_>, origin: Origin, data: EventDataRef<'_>) {
        if let Some(time) = ctx.provenance.time {
            self.time = self.time.max(time);
        }
        self.sequence += 1;
        ctx.out.write_event(EventRef {
            event_id: ctx.ids.next_event_id(),
            sequence: self.sequence,
            time: self.time,
            session_id: &self.id,
            native_session_id: self.native_id.as_ref(),
            origin,
            data,
            raw: ctx.provenance.raw.as_ref(),
        });
    }
}
