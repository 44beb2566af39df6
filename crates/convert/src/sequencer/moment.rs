//! When and from what an event is made.

use interlingua_schema::{EventSink, Origin, RawJson, Timestamp};

use crate::IdSource;

/// The input that drafts were made from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    /// When it came; the time of the event before when absent.
    pub(crate) time: Option<Timestamp>,
    /// Whether these are the agent's own words.
    pub(crate) from_agent: bool,
    /// The payload, where raw payloads are asked for.
    pub(crate) raw: Option<RawJson>,
}

impl Moment {
    /// Who says what is made of it.
    pub(crate) fn origin(&self, synthetic: bool) -> Origin {
        if self.from_agent && !synthetic { Origin::AGENT } else { Origin::DAEMON }
    }

    /// Whether the `drafts` noted since this moment and those of a later one can share this moment.
    pub(crate) fn covers(&self, later: &Self, drafts: usize) -> bool {
        let is_alike = || self.time == later.time && self.raw.is_none() && later.raw.is_none();
        self.from_agent == later.from_agent && (drafts == 0 || is_alike())
    }

    /// The same with another payload, if there is one.
    pub(crate) fn with_raw(&self, raw: Option<RawJson>) -> Self {
        Self { time: self.time, from_agent: self.from_agent, raw: raw.or_else(|| self.raw.clone()) }
    }
}

/// What a session needs to make events.
pub(crate) struct Scene<'a> {
    pub(crate) moment: &'a Moment,
    pub(crate) ids: &'a mut dyn IdSource,
    pub(crate) out: &'a mut dyn EventSink,
}

impl Scene<'_> {
    /// The same at another moment, for what was held back.
    pub(crate) fn at<'b>(&'b mut self, moment: &'b Moment) -> Scene<'b> {
        Scene { moment, ids: &mut *self.ids, out: &mut *self.out }
    }
}
