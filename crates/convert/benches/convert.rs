//! Conversion of native JSON lines to universal JSON lines. The baseline is the least that any tool does with such lines:
//! parse each to a `serde_json::Value` and write it again. Both read the same bytes in the same run.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use interlingua_convert::{Agent, Conversion, ConversionOptions, Input, Launch, StreamEnd, converter_for};
use interlingua_recordings::Transcripts;
use interlingua_schema::JsonLines;
use interlingua_wirelog::{Entry, Reader};
use serde::de::IgnoredAny;
use serde_json::Value;

/// Rounds per agent. Conversion and baseline alternate, and the fastest round of each counts, so that other load on the
/// machine matters little.
const ROUNDS: usize = 15;
/// Minimum number of bytes per round, so that a round takes long enough to be timed.
const BYTES_PER_ROUND: usize = 4 << 20;
/// Number of inputs per flush, as in the conversion of a log.
const INPUTS_PER_BATCH: usize = 64;

/// The inputs of one recording.
struct Recording {
    launch: Launch,
    inputs: Vec<Input>,
}

impl Recording {
    fn read(path: &Path) -> io::Result<Self> {
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

    /// Whether there are payloads and all of them are JSON. The baseline skips plain text, so it would not be comparable.
    fn is_json(&self) -> bool {
        let is_json = |payload| serde_json::from_str::<IgnoredAny>(payload).is_ok();
        self.payloads().next().is_some() && self.payloads().all(is_json)
    }
}

fn main() -> io::Result<()> {
    let mut worst = f64::INFINITY;
    println!(
        "{:<10} {:>10} {:>10} {:>13} {:>12} {:>12} {:>7}",
        "agent", "bytes in", "events", "convert MB/s", "events/s", "Value MB/s", "ratio"
    );
    for agent in Agent::ALL {
        let recordings = corpus(agent)?;
        let bytes: usize = recordings.iter().flat_map(Recording::payloads).map(str::len).sum();
        let mut out = Vec::new();
        let events = convert(agent, &recordings, &mut out);
        let repeat = BYTES_PER_ROUND.div_ceil(bytes.max(1));
        let (mut converting, mut untyped) = (Duration::MAX, Duration::MAX);
        for _ in 0..ROUNDS {
            converting = converting.min(timed(repeat, || {
                convert(agent, &recordings, &mut out);
                black_box(&out);
                Ok(())
            })?);
            untyped = untyped.min(timed(repeat, || {
                round_trip(&recordings, &mut out)?;
                black_box(&out);
                Ok(())
            })?);
        }
        let per_second = |amount: usize, time: Duration| to_float(amount * repeat) / time.as_secs_f64();
        let ratio = untyped.as_secs_f64() / converting.as_secs_f64();
        worst = worst.min(ratio);
        println!(
            "{agent:<10} {bytes:>10} {events:>10} {:>13.1} {:>12.0} {:>12.1} {ratio:>7.2}",
            per_second(bytes, converting) / 1e6,
            per_second(events, converting),
            per_second(bytes, untyped) / 1e6,
            agent = agent.id()
        );
    }
    println!("min ratio: {worst:.2}");
    Ok(())
}

/// Converts each recording to universal JSON lines. Returns the number of lines.
fn convert(agent: Agent, recordings: &[Recording], out: &mut Vec<u8>) -> usize {
    out.clear();
    let mut count = 0;
    for recording in recordings {
        let mut lines = JsonLines::append_to(std::mem::take(out));
        let mut stream = Conversion::new(converter_for(agent), ConversionOptions::default());
        stream.observe_launch(None, &recording.launch, &mut lines);
        for inputs in recording.inputs.chunks(INPUTS_PER_BATCH) {
            for input in inputs {
                stream.receive(None, input.borrowed());
            }
            stream.flush(&mut lines);
        }
        stream.finish(None, StreamEnd::Log, &mut lines);
        count += lines.count();
        *out = lines.into_bytes();
    }
    count
}

/// The baseline: parses each payload and writes it again.
fn round_trip(recordings: &[Recording], out: &mut Vec<u8>) -> io::Result<()> {
    out.clear();
    for payload in recordings.iter().flat_map(Recording::payloads) {
        if let Ok(value) = serde_json::from_str::<Value>(payload) {
            serde_json::to_writer(&mut *out, &value)?;
            out.push(b'\n');
        }
    }
    Ok(())
}

fn timed(repeat: usize, mut work: impl FnMut() -> io::Result<()>) -> io::Result<Duration> {
    let start = Instant::now();
    for _ in 0..repeat {
        work()?;
    }
    Ok(start.elapsed())
}

#[allow(clippy::cast_precision_loss, reason = "a few megabytes")]
fn to_float(amount: usize) -> f64 {
    amount as f64
}

/// All recordings of an agent, of every version, whose payloads are JSON.
fn corpus(agent: Agent) -> io::Result<Vec<Recording>> {
    let mut recordings = Vec::new();
    for file in Transcripts::in_repository().for_agent(agent.id())? {
        let recording = Recording::read(&file.path)?;
        if recording.is_json() {
            recordings.push(recording);
        }
    }
    Ok(recordings)
}
