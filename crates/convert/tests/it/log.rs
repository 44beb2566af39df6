//! Conversion of whole logs, with a converter that echoes its input.

use std::cell::Cell;
use std::io::{self, BufRead, Cursor, Read};

use interlingua_convert::{
    Conversion, ConversionOptions, Converter, Drafts, Input, InputRef, Launch, MessageDraft, MessageEnd, PromptDraft,
    ResumePoint, StreamEnd, convert_log,
};
use interlingua_schema::{Checker, EventData, RawJson, Timestamp, UniversalEvent};
use interlingua_wirelog::Reader;

/// Makes a message of every received line. A line `at 70` also sets the payload's time.
#[derive(Default)]
struct EchoConverter {
    lines: u64,
}

impl Converter for EchoConverter {
    fn agent(&self) -> &'static str {
        "echo"
    }

    fn observe_launch(&mut self, launch: &Launch, out: &mut Drafts) {
        if let Some(prompt) = &launch.prompt {
            out.current_session().prompt_sent(PromptDraft::text(prompt));
        }
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        let (Input::Received(line) | Input::Reply { body: Some(line), .. }) = input else {
            return;
        };
        self.lines += 1;
        if let Some(millis) = line.strip_prefix("at ").and_then(|millis| millis.parse().ok()) {
            out.set_payload_time(Timestamp::from_millis(millis));
        }
        match line {
            "tick" => out.dropped("keep-alive"),
            "ignored" => {}
            _ => {
                let key = self.lines.to_string();
                out.session("echo").message_finished(key, MessageDraft::assistant(), MessageEnd::text(line));
            }
        }
    }
}

fn convert(log: &[u8], raw: bool) -> (Vec<UniversalEvent>, Conversion<EchoConverter>) {
    let mut stream = Conversion::new(EchoConverter::default(), ConversionOptions::with_raw(raw));
    let mut events = Vec::new();
    let mut reader = Reader::new(Cursor::new(log)).unwrap();
    convert_log(&mut reader, &mut stream, |event| {
        events.push(event);
        Ok(())
    })
    .unwrap();
    let mut checker = if raw { Checker::with_raw() } else { Checker::new() };
    let violations: Vec<_> = events.iter().flat_map(|event| checker.push(event)).collect();
    assert!(violations.is_empty(), "{violations:?}");
    (events, stream)
}

fn kinds(events: &[UniversalEvent]) -> Vec<&str> {
    events.iter().map(|event| event.data.kind()).collect()
}

const LOG: &[u8] = br#"{"wirelog":1,"agent":"echo","recorded_at":"2026-01-01T00:00:00Z","prompt":"hi"}
{"t":5,"dir":"recv","line":"{\"a\" : 1.0}"}
{"t":9,"dir":"reply","call":1,"status":200,"body":{"b" : 2}}
garbage
{"t":12,"dir":"exit","code":0}
"#;

#[test]
fn a_wirelog_has_a_prompt_times_and_an_end() {
    let (events, stream) = convert(LOG, false);
    assert_eq!(
        kinds(&events),
        [
            "session.started",
            "turn.started",
            "item.started",
            "item.delta",
            "item.completed",
            "item.started",
            "item.delta",
            "item.completed",
            "item.started",
            "item.delta",
            "item.completed",
            "agent.unparsed",
            "turn.ended",
            "session.ended",
        ]
    );
    assert_eq!(events[0].time.to_string(), "2026-01-01T00:00:00.005Z");
    assert_eq!(events[13].time.to_string(), "2026-01-01T00:00:00.012Z");
    assert_eq!(stream.stats().unparsed, 1);
    assert_eq!(
        stream.stats().first_unparsed.as_deref(),
        Some("wire: line 4: expected a wirelog record: expected value at line 1 column 1")
    );
}

#[test]
fn raw_is_the_payload_byte_for_byte() {
    let (events, _) = convert(LOG, true);
    let raw = |index: usize| events[index].raw.as_ref().map(RawJson::as_str);
    assert_eq!(raw(7), Some(r#"{"a" : 1.0}"#));
    assert_eq!(raw(10), Some(r#"{"b" : 2}"#));
    assert_eq!(raw(11), Some(r#""garbage""#));
    assert_eq!(raw(13), None);
    let EventData::AgentUnparsed(unparsed) = &events[11].data else { panic!("{:?}", events[11]) };
    assert_eq!(unparsed.raw_hash, "795b6904e54f82411df4b0e27a373a55eea3f9d66dac5a9bce1dd92f7b401da5");
}

#[test]
fn a_plain_log_takes_its_times_from_the_payloads() {
    let (events, stream) = convert(b"at 70\nno time\nat 60\n\xFF\ntick\nignored\n{\"half", false);
    let times: Vec<i64> = events.iter().map(|event| event.time.as_millis()).collect();
    assert!(times.iter().all(|time| *time == 70), "{times:?}");
    assert_eq!(kinds(&events)[10], "agent.unparsed");
    let stats = stream.stats();
    assert_eq!((stats.payloads, stats.converted, stats.unaccounted), (7, 5, 1));
    assert_eq!(stats.dropped["keep-alive"], 1);
}

#[test]
fn an_empty_log_has_no_events() {
    assert!(convert(b"", false).0.is_empty());
    assert!(convert(b"{\"wirelog\":1}\n", false).0.is_empty());
}

#[test]
fn the_same_log_gives_the_same_bytes() {
    let bytes = |raw| serde_json::to_string(&convert(LOG, raw).0).unwrap();
    assert_eq!(bytes(true), bytes(true));
}

#[test]
fn a_resumed_session_continues_its_sequence_numbers() {
    let (mut events, mut first) = convert(b"one\n", false);
    let last = events.last().unwrap().clone();
    let mut second = Conversion::new(EchoConverter { lines: 7 }, ConversionOptions::default());
    let mut resume = ResumePoint::new(last.session_id);
    resume.native_session_id = last.native_session_id;
    resume.sequence = last.sequence;
    resume.time = last.time;
    second.resume(resume);
    let mut more = Vec::new();
    second.push(None, Input::Received("two"), &mut more);
    assert_eq!(kinds(&more), ["item.started", "item.delta", "item.completed"]);
    assert_eq!(more[0].sequence, last.sequence + 1);
    first.finish(None, StreamEnd::Terminated, &mut events);
    assert_eq!(events.last().unwrap().data.kind(), "session.ended");
}

#[test]
fn a_batch_gives_the_same_events_as_single_inputs() {
    let inputs = [
        Input::Received("hello"),
        Input::Stderr("a warning"),
        Input::Received("tick"),
        Input::Received("at 2000"),
        Input::Exit { code: Some(1) },
        Input::Received("again"),
        Input::Exit { code: None },
    ];
    let stream = || Conversion::new(EchoConverter::default(), ConversionOptions::with_raw(true));
    let (mut one_by_one, mut expected) = (stream(), Vec::new());
    let (mut batched, mut events) = (stream(), Vec::new());
    for input in inputs {
        one_by_one.push(None, input, &mut expected);
        batched.receive(None, input);
    }
    let unreadable = Input::Unreadable { bytes: &b"\xff"[..], error: "not UTF-8" };
    one_by_one.push(None, unreadable, &mut expected);
    batched.receive(None, unreadable);
    batched.flush(&mut events);
    assert_eq!(events, expected);
    assert_eq!(batched.stats(), one_by_one.stats());
    one_by_one.finish(None, StreamEnd::Log, &mut expected);
    batched.finish(None, StreamEnd::Log, &mut events);
    assert_eq!(events, expected);
}

/// A reader that returns one chunk per read, and counts the chunks that were read.
struct ChunkReader<'a> {
    chunks: &'a [&'static str],
    chunks_read: &'a Cell<usize>,
    rest: &'static [u8],
}

impl Read for ChunkReader<'_> {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        unreachable!("a log is read through its buffer")
    }
}

impl BufRead for ChunkReader<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.rest.is_empty()
            && let Some(chunk) = self.chunks.get(self.chunks_read.get())
        {
            self.chunks_read.set(self.chunks_read.get() + 1);
            self.rest = chunk.as_bytes();
        }
        Ok(self.rest)
    }

    fn consume(&mut self, amount: usize) {
        self.rest = &self.rest[amount..];
    }
}

#[test]
fn no_event_waits_for_a_line_that_is_not_available_yet() {
    let chunks_read = Cell::new(0);
    let chunks = ["first\n", "second\nthird\nhalf a", " line\n"];
    let mut reader = Reader::new(ChunkReader { chunks: &chunks, chunks_read: &chunks_read, rest: b"" }).unwrap();
    let mut stream = Conversion::new(EchoConverter::default(), ConversionOptions::default());
    let mut seen = Vec::new();
    convert_log(&mut reader, &mut stream, |event| {
        if let EventData::ItemCompleted(data) = &event.data {
            seen.push((data.item.streamed_text().collect::<String>(), chunks_read.get()));
        }
        Ok(())
    })
    .unwrap();
    let seen: Vec<_> = seen.iter().map(|(text, chunks_read)| (text.as_str(), *chunks_read)).collect();
    assert_eq!(seen, [("first", 1), ("second", 2), ("third", 2), ("half a line", 3)]);
}
