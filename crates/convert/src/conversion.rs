//! The path from inputs to events: a converter and a sequencer, end to end.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use interlingua_schema::{EventSink, RawJson, SessionMetadata, Timestamp, Usage};
use sha2::{Digest, Sha256};

use crate::draft::{DraftAction, Unparsed};
use crate::sequencer::{Provenance, ResumePoint, Sequencer, StreamEnd};
use crate::{Converter, CountingIds, Drafts, Failure, IdSource, Input, InputRef, Key, Launch};

/// Initial capacity for pending inputs. It stays below 1 KiB, which an allocator hands out fast, because a conversion
/// may be short.
const INITIAL_CAPACITY: usize = 8;

/// How events are made.
#[non_exhaustive]
pub struct ConversionOptions {
    /// Whether events carry the native payload that they were made from.
    pub raw: bool,
    /// Source of ids.
    pub ids: Box<dyn IdSource>,
    /// Whether each use of a model is kept for [`Conversion::take_usage`].
    pub keep_usage: bool,
}

impl ConversionOptions {
    /// Options with ids from this source, and with native payloads if `raw`.
    #[must_use]
    pub fn new(raw: bool, ids: Box<dyn IdSource>) -> Self {
        Self { raw, ids, keep_usage: false }
    }

    /// Default options, with native payloads if `raw`.
    #[must_use]
    pub fn with_raw(raw: bool) -> Self {
        Self { raw, ..Self::default() }
    }
}

impl Default for ConversionOptions {
    /// No payloads, and [`CountingIds`].
    fn default() -> Self {
        Self { raw: false, ids: Box::new(CountingIds::default()), keep_usage: false }
    }
}

/// What the agent used of one model at one time. A turn's usage is the sum of these, and names only one model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct UsageEntry {
    /// Time of the payload, if it is known.
    pub time: Option<Timestamp>,
    /// The usage.
    pub usage: Usage,
}

/// Counts of what happened to the payloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversionStats {
    /// Number of payloads from the agent: lines and HTTP bodies.
    pub payloads: u64,
    /// Payloads that the converter made drafts of.
    pub converted: u64,
    /// Payloads that the converter dropped, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Payloads that the converter neither used nor dropped by name: a bug in the converter.
    pub unaccounted: u64,
    /// Payloads that did not fit what is known about the agent.
    pub unparsed: u64,
    /// Reason for the first of these.
    pub first_unparsed: Option<String>,
    /// Number of occurrences of each reason, with the native type if there is one. At most
    /// [`MAX_UNPARSED_REASONS`](Self::MAX_UNPARSED_REASONS) different reasons.
    pub unparsed_reasons: BTreeMap<UnparsedReason, u64>,
}

impl ConversionStats {
    /// Maximum number of different reasons that are kept.
    pub const MAX_UNPARSED_REASONS: usize = 1000;
}

/// Reason for an `agent.unparsed` event.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct UnparsedReason {
    /// Native type of the payload.
    pub native_type: Option<String>,
    /// What is wrong with the payload, and where.
    pub error: String,
}

/// Converts the inputs of one agent process after another into universal events.
///
/// Live sessions, files and tests all use it: inputs go in one at a time, and events come out as soon as they are
/// certain.
pub struct Conversion<C> {
    converter: C,
    sequencer: Sequencer,
    drafts: Drafts,
    /// Number of drafts that are counted in `pending`.
    queued: usize,
    pending: Vec<PendingInput>,
    raw: bool,
    stats: ConversionStats,
    /// `None` if usage is not kept.
    usage: Option<Vec<UsageEntry>>,
}

impl<C: Converter> Conversion<C> {
    /// A conversion with this converter.
    pub fn new(converter: C, options: ConversionOptions) -> Self {
        let mut drafts = Drafts::default();
        drafts.list.reserve(INITIAL_CAPACITY);
        Self {
            sequencer: Sequencer::new(converter.agent(), options.ids),
            converter,
            drafts,
            queued: 0,
            pending: Vec::with_capacity(INITIAL_CAPACITY),
            raw: options.raw,
            stats: ConversionStats::default(),
            usage: options.keep_usage.then(Vec::new),
        }
    }

    /// Takes what was used since the last call, if it is [kept](ConversionOptions::keep_usage).
    pub fn take_usage(&mut self) -> Vec<UsageEntry> {
        self.usage.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Counts of the payloads so far.
    pub fn stats(&self) -> &ConversionStats {
        &self.stats
    }

    /// Starts the only session of this stream, before any input of its agent. When the agent describes itself later,
    /// that becomes metadata of its next turn. The stream has no second session, even if the agent uses another native
    /// id.
    pub fn start_session(
        &mut self,
        at: Option<Timestamp>,
        native: Option<&str>,
        metadata: SessionMetadata,
        out: &mut dyn EventSink,
    ) {
        let provenance = Provenance { time: at, ..Provenance::default() };
        self.sequencer.start_only_session(&provenance, native, metadata, out);
    }

    /// Resumes a session of an earlier stream: there is no second start, and sequence numbers continue. As after
    /// [`start_session`](Self::start_session), this is the only session of the stream. If the earlier stream was cut
    /// off, call [`close_unfinished`](Self::close_unfinished) next.
    pub fn resume(&mut self, resume: ResumePoint) {
        self.sequencer.resume(resume);
    }

    /// Closes what the earlier stream left open: items and the turn fail for this reason, permissions are denied and
    /// questions rejected.
    pub fn close_unfinished(&mut self, at: Option<Timestamp>, failure: &Failure, out: &mut dyn EventSink) {
        let provenance = Provenance { time: at, ..Provenance::default() };
        self.sequencer.close_unfinished(&provenance, failure, out);
    }

    /// Adds drafts of the host for what did not cross the wire: a message that could not be delivered, an interrupt by
    /// a signal.
    pub fn push_host_drafts(
        &mut self,
        at: Option<Timestamp>,
        write: impl FnOnce(&mut Drafts),
        out: &mut dyn EventSink,
    ) {
        self.receive_host_drafts(at, write);
        self.flush(out);
    }

    /// Adds drafts of the host like [`push_host_drafts`](Self::push_host_drafts), but writes their events at the next
    /// [`flush`](Self::flush).
    pub fn receive_host_drafts(&mut self, at: Option<Timestamp>, write: impl FnOnce(&mut Drafts)) {
        write(&mut self.drafts);
        self.queue_drafts(at, None, false);
    }

    /// The converter's key of the request for this permission, while it is pending. The id equals the key, unless the
    /// key was used before.
    pub fn permission_key(&self, permission_id: &str) -> Option<&Key> {
        self.sequencer.permission_key(permission_id)
    }

    /// The converter's key of the request with this question, while it is pending, and the ids of all questions of that
    /// request in order.
    pub fn question_key(&self, question_id: &str) -> Option<(&Key, Vec<&str>)> {
        self.sequencer.question_key(question_id)
    }

    /// Tells the converter how the agent was started.
    pub fn observe_launch(&mut self, at: Option<Timestamp>, launch: &Launch, out: &mut dyn EventSink) {
        self.converter.observe_launch(launch, &mut self.drafts);
        self.queue_drafts(at, None, false);
        self.flush(out);
    }

    /// Converts one input and writes its events. Without a time `at`, the payload's own time is used, or else the time
    /// of the event before.
    pub fn push(&mut self, at: Option<Timestamp>, input: InputRef<'_>, out: &mut dyn EventSink) {
        self.receive(at, input);
        self.flush(out);
    }

    /// Converts one input like [`push`](Self::push), but writes its events at the next [`flush`](Self::flush). That is
    /// faster for several inputs, because each half of the work stays in the processor's cache.
    pub fn receive(&mut self, at: Option<Timestamp>, input: InputRef<'_>) {
        self.receive_payload(at, input, input.payload());
    }

    /// Converts one input that was translated from a record of the agent's history. Its events carry the record, not
    /// the translation. As after [`receive`](Self::receive), they are written at the next [`flush`](Self::flush).
    pub fn receive_translated(&mut self, at: Option<Timestamp>, input: InputRef<'_>, record: &str) {
        self.receive_payload(at, input, Some(record));
    }

    /// Adds drafts that were made from a record of the agent's history, without a translation to an input. As after
    /// [`receive`](Self::receive), their events are written at the next [`flush`](Self::flush).
    pub fn receive_drafts(&mut self, at: Option<Timestamp>, record: &str, write: impl FnOnce(&mut Drafts)) {
        self.drafts.start_input();
        self.drafts.payload = self.raw.then(|| RawJson::from_payload(record));
        write(&mut self.drafts);
        self.count_payload();
        self.queue_drafts(at, Some(record), true);
    }

    fn receive_payload(&mut self, at: Option<Timestamp>, input: InputRef<'_>, payload: Option<&str>) {
        if let Input::Unreadable { bytes, error } = input {
            return self.receive_unreadable(at, bytes, error);
        }
        let from_agent = input.is_from_agent();
        self.drafts.start_input();
        self.drafts.payload = payload.filter(|_| self.raw).map(RawJson::from_payload);
        self.converter.push(input, &mut self.drafts);
        if from_agent {
            self.count_payload();
        }
        if let Input::Stderr(line) = input {
            self.pending.push(PendingInput::Stderr(line.to_owned()));
        }
        self.queue_drafts(at, payload, from_agent);
        if let Input::Exit { code } = input {
            self.pending.push(PendingInput::Exit(Provenance { time: at, ..Provenance::default() }, code));
        }
    }

    /// Writes the events of all pending inputs.
    pub fn flush(&mut self, out: &mut dyn EventSink) {
        let mut drafts = self.drafts.list.iter_mut();
        for pending in self.pending.drain(..) {
            match pending {
                PendingInput::Stderr(line) => self.sequencer.push_stderr(&line),
                PendingInput::Drafts(provenance, count) => {
                    if provenance.from_agent {
                        self.sequencer.mark_running();
                    }
                    for draft in drafts.by_ref().take(count) {
                        self.sequencer.apply(&provenance, draft, out);
                    }
                }
                PendingInput::Exit(provenance, code) => self.sequencer.process_exited(&provenance, code, out),
            }
        }
        self.drafts.list.clear();
        self.queued = 0;
    }

    /// Reports input that is not a line of text. Converters do not get it.
    fn receive_unreadable(&mut self, at: Option<Timestamp>, bytes: &[u8], error: &str) {
        self.drafts.current_session().unparsed("wire", error, None);
        self.count_payload();
        if let Some(DraftAction::Unparsed(unparsed)) = self.drafts.list.last_mut().map(|draft| &mut draft.action) {
            unparsed.hash = sha256(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        self.drafts.payload = self.raw.then(|| RawJson::from_payload(&text));
        self.queue_drafts(at, Some(&text), true);
    }

    /// Ends the stream. Writes the events of all pending inputs, and ends the sessions according to `end`.
    pub fn finish(&mut self, at: Option<Timestamp>, end: StreamEnd, out: &mut dyn EventSink) {
        self.flush(out);
        let provenance = Provenance { time: at, ..Provenance::default() };
        self.sequencer.finish(&provenance, end, out);
    }

    /// Ends the session with an error, because no agent can resume it.
    pub fn fail_session(&mut self, at: Option<Timestamp>, reason: &str, out: &mut dyn EventSink) {
        self.flush(out);
        let provenance = Provenance { time: at, ..Provenance::default() };
        self.sequencer.fail_sessions(&provenance, reason, out);
    }

    /// Updates the statistics by the drafts of one payload.
    fn count_payload(&mut self) {
        self.stats.payloads += 1;
        let drafts = &self.drafts.list[self.queued..];
        let mut unparsed = drafts.iter().filter_map(|draft| match &draft.action {
            DraftAction::Unparsed(unparsed) => Some(&**unparsed),
            _ => None,
        });
        if let Some(first) = unparsed.next() {
            self.stats.unparsed += 1;
            if self.stats.first_unparsed.is_none() {
                self.stats.first_unparsed = Some(format!("{}: {}", first.location, first.error));
            }
            let reasons = &mut self.stats.unparsed_reasons;
            for Unparsed { native_type, error, .. } in std::iter::once(first).chain(unparsed) {
                let reason = UnparsedReason { native_type: native_type.clone(), error: error.clone() };
                if reasons.len() < ConversionStats::MAX_UNPARSED_REASONS || reasons.contains_key(&reason) {
                    *reasons.entry(reason).or_default() += 1;
                }
            }
        }
        match self.drafts.dropped {
            _ if !drafts.is_empty() => self.stats.converted += 1,
            Some(reason) => *self.stats.dropped.entry(reason).or_default() += 1,
            None => self.stats.unaccounted += 1,
        }
    }

    /// Queues the new drafts for the sequencer, with their provenance.
    fn queue_drafts(&mut self, at: Option<Timestamp>, payload: Option<&str>, from_agent: bool) {
        self.drafts.dropped = None;
        let time = self.drafts.time.take();
        let raw = self.drafts.payload.take();
        let drafts = &mut self.drafts.list[self.queued..];
        // Input of the agent without drafts is queued, too: it shows that the agent is running.
        if drafts.is_empty() && !from_agent {
            return;
        }
        for draft in &mut *drafts {
            if let DraftAction::Unparsed(unparsed) = &mut draft.action
                && unparsed.hash.is_empty()
            {
                unparsed.hash = sha256(payload.unwrap_or_default().as_bytes());
            }
        }
        if let Some(entries) = &mut self.usage {
            let used = drafts.iter().filter_map(|draft| match &draft.action {
                DraftAction::UsageAdded(usage) => Some((**usage).clone()),
                DraftAction::TurnEnded(end) => end.usage.clone(),
                _ => None,
            });
            entries.extend(used.map(|usage| UsageEntry { time: at.or(time), usage }));
        }
        let (count, provenance) = (drafts.len(), Provenance { time: at.or(time), from_agent, raw });
        self.queued = self.drafts.list.len();
        match self.pending.last_mut() {
            // Many inputs have no drafts, and inputs with the same time can share an entry.
            Some(PendingInput::Drafts(last, before)) if last.can_share(&provenance, count) => *before += count,
            _ => self.pending.push(PendingInput::Drafts(provenance, count)),
        }
    }
}

/// Input that the sequencer has not processed yet.
enum PendingInput {
    /// A line of the agent's standard error.
    Stderr(String),
    /// Number of drafts that the converter made of inputs with this provenance. May be 0 for input from the agent.
    Drafts(Provenance, usize),
    /// The agent exited with this code.
    Exit(Provenance, Option<i32>),
}

/// SHA-256 digest in lower-case hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
