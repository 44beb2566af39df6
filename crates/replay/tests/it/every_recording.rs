//! Every recording, replayed to a host that sends what the recorded host sent, converts to the same universal stream as
//! the file.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use interlingua_convert::{Agent, Conversion, ConversionOptions, convert_log, converter_for};
use interlingua_recordings::Transcripts;
use interlingua_replay::{Capture, Host, Recording, ReplayOptions, make_stand_ins, stand_in_environment};
use interlingua_wirelog::{Input, Reader, Record};
use serde_json::Value;
use tokio::process::Command;

/// Number of recordings that are replayed at the same time.
const MAX_CONCURRENT: usize = 8;

fn recordings() -> Vec<PathBuf> {
    Transcripts::in_repository().all().unwrap().into_iter().map(|recording| recording.path).collect()
}

/// Converts a wirelog into a universal stream: one event per entry, without times and durations.
fn convert(agent: &str, wirelog: &[u8]) -> Vec<String> {
    let agent: Agent = agent.parse().unwrap();
    let mut stream = Conversion::new(converter_for(agent), ConversionOptions::default());
    let mut events = Vec::new();
    convert_log(&mut Reader::new(wirelog).unwrap(), &mut stream, |event| {
        let mut event = serde_json::to_value(event).unwrap();
        event["time"] = Value::Null;
        if event["type"] == "turn.ended" {
            event["data"]["duration_ms"] = Value::Null;
        }
        events.push(event.to_string());
        Ok(())
    })
    .unwrap();
    events
}

async fn replay(path: &Path, stand_ins: &Path, work: &Path, number: usize) -> Result<Capture, String> {
    let recording = Recording::open(path).map_err(|error| error.to_string())?;
    let agent = recording.agent;
    let mut options = ReplayOptions::default();
    // On a slow machine no wait may time out.
    options.host_timeout = Duration::from_secs(600);
    options.state_file = (recording.processes().len() > 1).then(|| work.join(format!("{number}.state")));
    let command = |arguments: &[String]| {
        let mut command = Command::new(stand_ins.join(agent.id()));
        command.args(arguments).envs(stand_in_environment(path, &options)).env_remove("OPENCODE_SERVER_PASSWORD");
        command
    };
    Host::new(recording).with_renamed_ids().replay(command).await.map_err(|error| error.to_string())
}

/// Counts the occurrences of an id in the agent's lines.
fn count_id(records: &[Record], id: &str) -> usize {
    let lines = records.iter().filter_map(|record| match &record.input {
        Input::Received(line) => Some(line),
        _ => None,
    });
    // A short id may occur in texts by chance, so only a whole string counts.
    let id = if id.len() < 32 { format!("\"{id}\"") } else { id.to_owned() };
    lines.map(|line| line.matches(&id).count()).sum()
}

/// Finds an answer of Codex with the id of the recorded request instead of the id of this host's request.
fn find_answer_to_recorded_id(capture: &Capture) -> Option<&str> {
    capture.records.iter().find_map(|record| {
        let Input::Received(line) = &record.input else { return None };
        let value: Value = serde_json::from_str(line).ok()?;
        let is_answer = value["method"].is_null() && !value["id"].is_null();
        let is_renamed = value["id"].as_str().is_some_and(|id| id.starts_with("other-"));
        (capture.header.agent.as_deref() == Some("codex") && is_answer && !is_renamed).then_some(&**line)
    })
}

/// Finds the first difference between the stream of the file and that of its replay.
async fn find_difference(path: &Path, stand_ins: &Path, work: &Path, number: usize) -> Option<String> {
    let capture = match replay(path, stand_ins, work, number).await {
        Ok(capture) => capture,
        Err(error) => return Some(error),
    };
    let agent = capture.header.agent.clone().unwrap();
    let expected = convert(&agent, &fs::read(path).unwrap());
    let mut wirelog = String::from_utf8(capture.to_wirelog().unwrap()).unwrap();
    let recording = Recording::open(path).unwrap();
    for (recorded, other) in &capture.renamed_ids {
        let (expected, found) = (count_id(&recording.records, recorded), count_id(&capture.records, other));
        if expected != found {
            return Some(format!(
                "expected {other} {expected} times, like the recorded {recorded}, found it {found} times"
            ));
        }
        wirelog = wirelog.replace(other.as_str(), recorded);
    }
    if let Some(line) = find_answer_to_recorded_id(&capture) {
        return Some(format!("expected an answer to one of this host's requests, found {line}"));
    }
    let found = convert(&agent, wirelog.as_bytes());
    let at = expected.iter().zip(&found).position(|(expected, found)| expected != found);
    match at {
        Some(at) => Some(format!("event {}:\n  expected {}\n  found    {}", at + 1, expected[at], found[at])),
        None if expected.len() != found.len() => {
            Some(format!("expected {} events, found {}", expected.len(), found.len()))
        }
        None => None,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_converts_to_the_same_stream_as_its_recording() {
    let work = tempfile::tempdir().unwrap();
    let stand_ins = work.path().join("agents");
    make_stand_ins(Path::new(env!("CARGO_BIN_EXE_interlingua-replay")), &stand_ins).unwrap();
    let paths = recordings();
    assert!(paths.len() >= 200, "expected at least 200 recordings, found {}", paths.len());
    let queue: Arc<Mutex<VecDeque<(usize, PathBuf)>>> =
        Arc::new(Mutex::new(paths.iter().cloned().enumerate().collect()));
    let mut workers = Vec::new();
    for _ in 0..MAX_CONCURRENT {
        let (queue, stand_ins, work) = (Arc::clone(&queue), stand_ins.clone(), work.path().to_owned());
        workers.push(tokio::spawn(async move {
            let mut differences = Vec::new();
            loop {
                let next = queue.lock().unwrap().pop_front();
                let Some((number, path)) = next else { break differences };
                if let Some(difference) = find_difference(&path, &stand_ins, &work, number).await {
                    differences.push(format!("{}: {difference}", path.display()));
                }
            }
        }));
    }
    let mut differences = Vec::new();
    for worker in workers {
        differences.extend(worker.await.unwrap());
    }
    assert!(
        differences.is_empty(),
        "{} of {} recordings differ:\n{}",
        differences.len(),
        paths.len(),
        differences.join("\n")
    );
}
