//! Typed decoding of all recordings. The baselines are the reader's own skipping of a whole line, which is the least that
//! decoding can cost, and parsing to a `serde_json::Value`.

use std::collections::HashMap;
use std::fs::File;
use std::hint::black_box;
use std::io::BufReader;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

use anyhow::Result;
use interlingua_bench::{Benchmark, Corpus, Task};
use interlingua_native::codex::{JsonrpcError, Response, ServerNotificationEnvelope, ServerRequestEnvelope};
use interlingua_native::{Native, amp, claude, codex, opencode};
use interlingua_native_runtime::generated::Reader as JsonReader;
use interlingua_recordings::RecordingFile;
use interlingua_wirelog::{Entry, Input, Reader};
use serde_json::Value;

struct Line {
    text: String,
    decode: fn(&str) -> bool,
}

fn main() -> ExitCode {
    interlingua_bench::run(&Benchmark { name: "decode", agents: &["amp", "claude", "codex", "opencode"], load })
}

/// The JSON that an agent sent, with a decoder for each line.
fn load(agent: &str, files: &[RecordingFile]) -> Result<Corpus> {
    let mut lines = Vec::new();
    for file in files {
        read_lines(agent, &file.path, &mut lines)?;
    }
    let bytes = lines.iter().map(|line| line.text.len()).sum();
    let lines = Rc::new(lines);
    let task = |name, work: fn(&Line) -> bool| {
        let lines = Rc::clone(&lines);
        Task::new(name, move || {
            black_box(lines.iter().filter(|line| work(line)).count());
        })
    };
    let tasks = vec![
        task("decode", |line| (line.decode)(&line.text)),
        task("skip each line", |line| black_box(JsonReader::new(&line.text).skip()).is_ok()),
        task("parse to Value", |line| black_box(serde_json::from_str::<Value>(&line.text)).is_ok()),
    ];
    Ok(Corpus { lines: lines.len(), bytes, tasks })
}

fn decode_typed<T: Native>(text: &str) -> bool {
    black_box(T::decode(text)).is_ok()
}

/// Reads the lines of one recording.
fn read_lines(agent: &str, file: &Path, lines: &mut Vec<Line>) -> Result<()> {
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
