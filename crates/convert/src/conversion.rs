//! From inputs to events: a converter and a sequencer, end to end.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use interlingua_schema::{EventSink, RawJson, SessionMetadata, Timestamp};
use sha2::{Digest, Sha256};

use crate::draft::{DraftAction, Unparsed};
use crate::sequencer::{Provenance, ResumePoint, Sequencer, StreamEnd};
use crate::{Converter, CountingIds, Drafts, Failure, IdSource, Input, InputRef, Key, Launch};

/// Room for pending inputs at the start. It stays below what an allocator has at hand (1 KiB), because a conversion may
/// be short.
const INITIAL_CAPACITY: usize = 8;

/// How events are made.
#[non_exhaustive]
pub struct ConversionOptions {
    /// Whether events carry the native payload they were made from.
    pub raw: bool,
    /// Where ids come from.
    pub ids: Box<dyn IdSource>,
}

impl ConversionOptions {
    /// With ids from this source, and native payloads if `raw`.
    #[must_use]
    pub fn new(raw: bool, ids: Box<dyn IdSource>) -> Self {
        Self { raw, ids }
    }

    /// As the default, with native payloads if `raw`.
    #[must_use]
    pub fn with_raw(raw: bool) -> Self {
        Self { raw, ..Self::default() }
    }
}

impl Default for ConversionOptions {
    /// Without payloads, with ids that are counted.
    fn default() -> Self {
        Self { raw: false, ids: Box::new(CountingIds::default()) }
    }
}

/// What became of the payloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConversionStats {
    /// Lines and bodies from the agent.
    pub payloads: u64,
    /// Those of which the converter made something.
    pub converted: u64,
    /// Those it dropped, by reason.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Those it neither used nor dropped by name: a gap in the converter.
    pub unaccounted: u64,
    /// Those that did not fit what is known of the agent.
    pub unparsed: u64,
    /// Why the first of these did not.
    pub first_unparsed: Option<String>,
    /// Every reason, with the native type where there is one, and how often it was given. At most
    /// [`MAX_UNPARSED_REASONS`](Self::MAX_UNPARSED_REASONS) different ones.
    pub unparsed_reasons: BTreeMap<UnparsedReason, u64>,
}

impl ConversionStats {
    /// How many different reasons are kept.
    pub const MAX_UNPARSED_REASONS: usize = 1000;
}

/// Why something became `agent.unparsed`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct UnparsedReason {
    /// The native type of the payload.
    pub native_type: Option<String>,
    /// What is wrong with it, and where.
    pub error: String,
}

/// What one agent process after another says, as universal events.
///
/// A live session, a file and a test all go this way: inputs in, one at a time, events out as soon as they are
/// certain.
pub struct Conversion<C> {
    converter: C,
    sequencer: Sequencer,
    drafts: Drafts,
    /// How many of the drafts are accounted for in `pending`.
    noted: usize,
    pending: Vec<PendingInput>,
    raw: bool,
    tally: ConversionStats,
}

impl<C: Converter> Conversion<C> {
    /// A stream through this converter.
    pub fn new(converter: C, options: ConversionOptions) -> Self {
        let mut drafts = Drafts::default();
        drafts.list.reserve(INITIAL_CAPACITY);
        Self {
            sequencer: Sequencer::new(converter.agent(), options.ids),
            converter,
            drafts,
            noted: 0,
            pending: Vec::with_capacity(INITIAL_CAPACITY),
            raw: options.raw,
            tally: ConversionStats::default(),
        }
    }

    /// What became of the payloads so far.
    pub fn stats(&self) -> &ConversionStats {
        &self.tally
    }

    /// Begins the one session this stream is about, before its agent says anything. What the agent then tells of
    /// itself is metadata of its first turn, and whatever names it has for the session, there is no second one.
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

    /// Goes on with a session that an earlier stream left: no second start, and the count goes on. As after
    /// [`start_session`](Self::start_session), the stream is about that one session. If the earlier stream was cut off,
    /// [`close_unfinished`](Self::close_unfinished) is the next thing to do.
    pub fn resume(&mut self, resume: ResumePoint) {
        self.sequencer.resume(resume);
    }

    /// Closes what the stream before this one left open: items and the turn fail for this reason, permissions are
    /// denied, questions rejected.
    pub fn close_unfinished(&mut self, at: Option<Timestamp>, failure: &Failure, out: &mut dyn EventSink) {
        let provenance = Provenance { time: at, ..Provenance::default() };
        self.sequencer.close_unfinished(&provenance, failure, out);
    }

    /// The host itself has something to say that crossed no wire: a message that could not be delivered, an interrupt
    /// that is a signal.
    pub fn push_host_drafts(&mut self, at: Option<Timestamp>, say: impl FnOnce(&mut Drafts), out: &mut dyn EventSink) {
        say(&mut self.drafts);
        self.note(at, None, false);
        self.flush(out);
    }

    /// The key by which the converter knows the request for this permission, as long as nobody has answered it. The
    /// id is the key, unless that was used before.
    pub fn permission_key(&self, permission_id: &str) -> Option<&Key> {
        self.sequencer.permission_key(permission_id)
    }

    /// The key by which the converter knows the request with this question, as long as nobody has answered it, and
    /// the ids of all questions of that request in order.
    pub fn question_key(&self, question_id: &str) -> Option<(&Key, Vec<&str>)> {
        self.sequencer.question_key(question_id)
    }

    /// An agent was started.
    pub fn observe_launch(&mut self, at: Option<Timestamp>, launch: &Launch, out: &mut dyn EventSink) {
        self.converter.observe_launch(launch, &mut self.drafts);
        self.note(at, None, false);
        self.flush(out);
    }

    /// Something crossed the wire at a time; without one, the payload's own time counts, or else the last one.
    pub fn push(&mut self, at: Option<Timestamp>, input: InputRef<'_>, out: &mut dyn EventSink) {
        self.receive(at, input);
        self.flush(out);
    }

    /// As [`push`](Self::push), but the events wait for [`flush`](Self::flush). Whoever has several inputs at hand
    /// is faster so, because each half of the work stays in the processor's cache.
    pub fn receive(&mut self, at: Option<Timestamp>, input: InputRef<'_>) {
        if let Input::Unreadable { bytes, error } = input {
            return self.receive_unreadable(at, bytes, error);
        }
        let from_agent = input.is_from_agent();
        self.drafts.begin_input();
        self.drafts.payload = input.payload().filter(|_| self.raw).map(RawJson::from_payload);
        self.converter.push(input, &mut self.drafts);
        if from_agent {
            self.count();
        }
        if let Input::Stderr(line) = input {
            self.pending.push(PendingInput::Stderr(line.to_owned()));
        }
        self.note(at, input.payload(), from_agent);
        if let Input::Exit { code } = input {
            self.pending.push(PendingInput::Exit(Provenance { time: at, ..Provenance::default() }, code));
        }
    }

    /// Makes events of what was pending.
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
        self.noted = 0;
    }

    /// The agent sent something that is not a line of text, which no converter needs to see.
    fn receive_unreadable(&mut self, at: Option<Timestamp>, bytes: &[u8], error: &str) {
        self.drafts.current_session().unparsed("wire", error, None);
        self.count();
        if let Some(DraftAction::Unparsed(unparsed)) = self.drafts.list.last_mut().map(|draft| &mut draft.action) {
            unparsed.hash = sha256(bytes);
        }
        let text = String::from_utf8_lossy(bytes);
        self.drafts.payload = self.raw.then(|| RawJson::from_payload(&text));
        self.note(at, Some(&text), true);
    }

    /// There is no more to come. What waits is said; sessions end as `end` says.
    pub fn finish(&mut self, at: Option<Timestamp>, end: StreamEnd, out: &mut dyn EventSink) {
        self.flush(out);
        let provenance = Provenance { time: at, ..Provenance::default() };
        self.sequencer.finish(&provenance, end, out);
    }

    /// No agent can go on with the session, for this reason: it ends as an error.
    pub fn fail_session(&mut self, at: Option<Timestamp>, reason: &str, out: &mut dyn EventSink) {
        self.flush(out);
        let provenance = Provenance { time: at, ..Provenance::default() };
        self.sequencer.fail_sessions(&provenance, reason, out);
    }

    /// Counts what the converter made of a payload.
    fn count(&mut self) {
        self.tally.payloads += 1;
        let made = &self.drafts.list[self.noted..];
        let mut unparsed = made.iter().filter_map(|draft| match &draft.action {
            DraftAction::Unparsed(unparsed) => Some(&**unparsed),
            _ => None,
        });
        if let Some(first) = unparsed.next() {
            self.tally.unparsed += 1;
            if self.tally.first_unparsed.is_none() {
                self.tally.first_unparsed = Some(format!("{}: {}", first.location, first.error));
            }
            let reasons = &mut self.tally.unparsed_reasons;
            for Unparsed { native_type, error, .. } in std::iter::once(first).chain(unparsed) {
                let reason = UnparsedReason { native_type: native_type.clone(), error: error.clone() };
                if reasons.len() < ConversionStats::MAX_UNPARSED_REASONS || reasons.contains_key(&reason) {
                    *reasons.entry(reason).or_default() += 1;
                }
            }
        }
        match self.drafts.dropped {
            _ if !made.is_empty() => self.tally.converted += 1,
            Some(reason) => *self.tally.dropped.entry(reason).or_default() += 1,
            None => self.tally.unaccounted += 1,
        }
    }

    /// Keeps the drafts that are new for the sequencer, with the moment they are from.
    fn note(&mut self, at: Option<Timestamp>, payload: Option<&str>, from_agent: bool) {
        self.drafts.dropped = None;
        let time = self.drafts.time.take();
        let raw = self.drafts.payload.take();
        let made = &mut self.drafts.list[self.noted..];
        // That the agent says anything at all is news.
        if made.is_empty() && !from_agent {
            return;
        }
        for draft in &mut *made {
            if let DraftAction::Unparsed(unparsed) = &mut draft.action
                && unparsed.hash.is_empty()
            {
                unparsed.hash = sha256(payload.unwrap_or_default().as_bytes());
            }
        }
        let (count, provenance) = (made.len(), Provenance { time: at.or(time), from_agent, raw });
        self.noted = self.drafts.list.len();
        match self.pending.last_mut() {
            // Many inputs are not worth a draft, and without times of their own one moment is like another.
            Some(PendingInput::Drafts(last, before)) if last.can_share(&provenance, count) => *before += count,
            _ => self.pending.push(PendingInput::Drafts(provenance, count)),
        }
    }
}

/// What the sequencer is yet to hear of, in order.
enum PendingInput {
    /// The agent wrote to its standard error.
    Stderr(String),
    /// The converter made so many drafts of an input; of one from the agent perhaps none.
    Drafts(Provenance, usize),
    /// The agent is gone, with this exit code.
    Exit(Provenance, Option<i32>),
}

/// The SHA-256 digest in lower-case hexadecimal digits.
fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut hex, byte| {
        // Writing to a string does not fail.
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
