//! Compares typed decoding of all recordings with `serde_json::Value`, on the same bytes in the same run.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufReader};
use std::path::Path;
use std::time::{Duration, Instant};

use interlingua_native::codex::{JsonrpcError, Response, ServerNotificationEnvelope, ServerRequestEnvelope};
use interlingua_native::{Native, amp, claude, codex, opencode};
use interlingua_recordings::Transcripts;
use interlingua_wirelog::{Entry, Input, Reader};
use serde_json::Value;

/// Rounds per agent. Typed and untyped decoding alternate, and the fastest round of each counts, so that other load on the
/// machine matters little.
const ROUNDS: usize = 15;
/// Minimum number of bytes per round, so that a round is long enough to measure.
const BYTES_PER_ROUND: usize = 8 << 20;

struct Line {
    text: String,
    decode: fn(&str) -> bool,
}

fn main() -> io::Result<()> {
    let mut worst = f64::INFINITY;
    println!("{:<10} {:>7} {:>10} {:>12} {:>12} {:>7}", "agent", "lines", "bytes", "typed MB/s", "Value MB/s", "ratio");
    for (agent, lines) in corpus()? {
        let bytes: usize = lines.iter().map(|line| line.text.len()).sum();
        let repeat = BYTES_PER_ROUND.div_ceil(bytes.max(1));
        let (mut typed, mut untyped) = (Duration::MAX, Duration::MAX);
        for _ in 0..ROUNDS {
            typed = typed.min(measure(repeat, || lines.iter().filter(|line| (line.decode)(&line.text)).count()));
            untyped = untyped.min(measure(repeat, || lines.iter().filter(|line| decode_untyped(&line.text)).count()));
        }
        #[allow(clippy::cast_precision_loss, reason = "a few megabytes")]
        let megabytes = (bytes * repeat) as f64 / 1e6;
        let speed = |time: Duration| megabytes / time.as_secs_f64();
        let ratio = untyped.as_secs_f64() / typed.as_secs_f64();
        worst = worst.min(ratio);
        println!(
            "{agent:<10} {:>7} {bytes:>10} {:>12.1} {:>12.1} {ratio:>7.2}",
            lines.len(),
            speed(typed),
            speed(untyped)
        );
    }
    println!("min ratio: {worst:.2}");
    Ok(())
}

fn measure(repeat: usize, work: impl Fn() -> usize) -> Duration {
    let start = Instant::now();
    for _ in 0..repeat {
        black_box(work());
    }
    start.elapsed()
}

fn decode_untyped(text: &str) -> bool {
    black_box(serde_json::from_str::<Value>(text)).is_ok()
}

fn decode_typed<T: Native>(text: &str) -> bool {
    black_box(T::decode(text)).is_ok()
}

/// The JSON that each agent sent, with a decoder for each line.
fn corpus() -> io::Result<BTreeMap<&'static str, Vec<Line>>> {
    let transcripts = Transcripts::in_repository();
    let mut found = BTreeMap::new();
    for agent in ["amp", "claude", "codex", "opencode"] {
        let mut lines = Vec::new();
        for file in transcripts.for_agent(agent)? {
            read_lines(agent, &file.path, &mut lines)?;
        }
        found.insert(agent, lines);
    }
    Ok(found)
}

/// Reads the lines of one recording.
fn read_lines(agent: &str, file: &Path, lines: &mut Vec<Line>) -> io::Result<()> {
    let mut reader = Reader::new(BufReader::new(File::open(file)?))?;
    // Methods of the host's requests, by id.
    let mut methods: HashMap<String, String> = HashMap::new();
    while let Some(entry) = reader.next()? {
        let Entry::Record(record) = entry else { continue };
        match record.input {
            Input::Sent(line) => {
                let Ok(request) = serde_json::from_str::<Value>(&line) else { continue };
                if let (Some(id), Some(method)) = (request.get("id"), request["method"].as_str()) {
                    methods.insert(id.to_string(), method.to_owned());
                }
            }
            Input::Received(line) => {
                let Ok(payload) = serde_json::from_str::<Value>(&line) else { continue };
                lines.extend(
                    decoder(agent, &payload, &methods)
                        .map(|(text, decode)| Line { text: text.unwrap_or_else(|| line.clone()), decode }),
                );
            }
            _ => {}
        }
    }
    Ok(())
}

type Decoder = (Option<String>, fn(&str) -> bool);

/// The decoder of a payload, and the text to decode if it is not the whole line.
fn decoder(agent: &str, payload: &Value, methods: &HashMap<String, String>) -> Option<Decoder> {
    let has = |key: &str| payload.get(key).is_some();
    Some(match agent {
        "amp" => (None, decode_typed::<amp::StreamMessage>),
        "claude" => (None, decode_typed::<claude::StdoutMessage>),
        "opencode" => (None, decode_typed::<opencode::Event>),
        _ if has("method") && has("id") => (None, decode_typed::<ServerRequestEnvelope>),
        _ if has("method") => (None, decode_typed::<ServerNotificationEnvelope>),
        _ if has("type") => (None, decode_typed::<codex::exec::ThreadEvent>),
        _ if has("error") => (None, decode_typed::<JsonrpcError>),
        _ => {
            let method = methods.get(&payload.get("id")?.to_string())?;
            (Some(payload.get("result")?.to_string()), response_decoder(method)?)
        }
    })
}

/// The decoder of the responses to a method.
fn response_decoder(method: &str) -> Option<fn(&str) -> bool> {
    macro_rules! decoders {
        ($($method:literal)*) => {
            match method {
                $($method => Some(|text| black_box(Response::decode($method, text)).is_some_and(|decoded| decoded.is_ok())),)*
                _ => None,
            }
        };
    }
    decoders!("initialize" "model/list" "thread/fork" "thread/resume" "thread/start" "turn/interrupt" "turn/start" "turn/steer")
}
