//! Conversion of the recordings. The baselines read the same bytes:
//!
//! * The least that a tool without native types does to write the same output: it parses each native line to a
//!   `serde_json::Value`, and writes the same universal events from `Value`s, which it need not even construct.
//! * The least that any tool does with such lines: it parses each to a `Value` and writes it again.
//! * The skipping of each line by the reader of the native types.

use std::cell::{LazyCell, RefCell};
use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::Result;
use interlingua_bench::{Benchmark, Corpus, Task};
use interlingua_convert::{Agent, Conversion, ConversionOptions, Input, Launch, StreamEnd, converter_for};
use interlingua_native_runtime::generated::Reader as JsonReader;
use interlingua_recordings::RecordingFile;
use interlingua_schema::JsonLines;
use interlingua_wirelog::{Entry, Reader};
use serde::de::IgnoredAny;
use serde_json::Value;

/// Number of inputs per flush, as in the conversion of a log.
const INPUTS_PER_BATCH: usize = 64;

/// Runs the benchmark.
pub(crate) fn run(name: &'static str) -> ExitCode {
    interlingua_bench::run(&Benchmark { name, agents: &["amp", "claude", "codex", "opencode"], load })
}

/// What a task does with one recording, which has this index: it appends its output.
type Work = Box<dyn FnMut(usize, &Recording, &mut Vec<u8>)>;

/// The inputs of one recording.
struct Recording {
    launch: Launch,
    inputs: Vec<Input>,
}

impl Recording {
    fn read(path: &Path) -> Result<Self> {
        let mut reader = Reader::new(BufReader::new(File::open(path)?))?;
        let launch = reader.header().map(Launch::from).unwrap_or_default();
        let mut inputs = Vec::new();
        while let Some(entry) = reader.next()? {
            if let Entry::Record(record) = entry {
                inputs.push(record.input);
            }
        }
        Ok(Self { launch, inputs })
    }

    /// The native payloads, in both directions.
    fn payloads(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().filter_map(|input| input.borrowed().payload())
    }

    /// Whether there are payloads and all of them are JSON. The baselines skip plain text, so it would not be comparable.
    fn is_json(&self) -> bool {
        let is_json = |payload| serde_json::from_str::<IgnoredAny>(payload).is_ok();
        self.payloads().next().is_some() && self.payloads().all(is_json)
    }

    /// Converts the recording to universal JSON lines, which are appended to `out`.
    fn convert(&self, agent: Agent, out: &mut Vec<u8>) {
        let mut lines = JsonLines::append_to(std::mem::take(out));
        let mut stream = Conversion::new(converter_for(agent), ConversionOptions::default());
        stream.observe_launch(None, &self.launch, &mut lines);
        for inputs in self.inputs.chunks(INPUTS_PER_BATCH) {
            for input in inputs {
                stream.receive(None, input.borrowed());
            }
            stream.flush(&mut lines);
        }
        stream.finish(None, StreamEnd::Log, &mut lines);
        *out = lines.into_bytes();
    }
}

/// All recordings of an agent whose payloads are JSON.
fn load(agent: &str, files: &[RecordingFile]) -> Result<Corpus> {
    let agent: Agent = agent.parse()?;
    let mut recordings = Vec::new();
    for file in files {
        let recording = Recording::read(&file.path)?;
        if recording.is_json() {
            recordings.push(recording);
        }
    }
    let payloads = || recordings.iter().flat_map(Recording::payloads);
    let (lines, bytes) = (payloads().count(), payloads().map(str::len).sum());
    let recordings: Rc<[Recording]> = recordings.into();
    let out = Rc::new(RefCell::new(Vec::new()));
    let task = |name, mut work: Work| {
        let (recordings, out) = (Rc::clone(&recordings), Rc::clone(&out));
        Task::new(name, move || {
            let mut out = out.borrow_mut();
            out.clear();
            recordings.iter().enumerate().for_each(|(index, recording)| work(index, recording, &mut out));
            black_box(&*out);
        })
    };
    let events = LazyCell::new({
        let recordings = Rc::clone(&recordings);
        move || recordings.iter().map(|recording| universal_events(agent, recording)).collect::<Vec<_>>()
    });
    let tasks = vec![
        task("convert", Box::new(move |_, recording, out| recording.convert(agent, out))),
        task(
            "parse to Value, write events from Value",
            Box::new(move |index, recording, out| {
                for payload in recording.payloads() {
                    black_box(parse(payload));
                }
                events[index].iter().for_each(|event| write(event, out));
            }),
        ),
        task(
            "parse to Value, write it",
            Box::new(|_, recording, out| {
                recording.payloads().for_each(|payload| write(&parse(payload), out));
            }),
        ),
        task(
            "skip each line",
            Box::new(|_, recording, _| {
                for payload in recording.payloads() {
                    let _ = black_box(JsonReader::new(payload).skip());
                }
            }),
        ),
    ];
    Ok(Corpus { lines, bytes, tasks })
}

/// The events that a recording converts to.
fn universal_events(agent: Agent, recording: &Recording) -> Vec<Value> {
    let mut out = Vec::new();
    recording.convert(agent, &mut out);
    out.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

fn parse(payload: &str) -> Value {
    serde_json::from_str(payload).unwrap_or_default()
}

/// Appends a value as a line.
fn write(value: &Value, out: &mut Vec<u8>) {
    // Writing to a vector does not fail.
    let _ = serde_json::to_writer(&mut *out, value);
    out.push(b'\n');
}
