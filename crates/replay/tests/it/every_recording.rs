//! Played back to a host that says what the recorded one said, every recording gives the same universal stream as
//! converting the file does.

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

/// How many recordings are played at a time.
const AT_ONCE: usize = 8;

fn recordings() -> Vec<PathBuf> {
    Transcripts::in_repository().all().unwrap().into_iter().map(|recording| recording.path).collect()
}

/// The universal stream of a wirelog, one event a line, without the times and how long a turn took.
fn universal(agent: &str, wirelog: &[u8]) -> Vec<String> {
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

async fn play(path: &Path, stand_ins: &Path, work: &Path, number: usize) -> Result<Capture, String> {
    let recording = Recording::open(path).map_err(|error| error.to_string())?;
    let agent = recording.agent;
    let mut options = ReplayOptions::default();
    // Nothing may come because the machine is slow.
    options.host_timeout = Duration::from_secs(600);
    options.state_file = (recording.processes().len() > 1).then(|| work.join(format!("{number}.state")));
    let start = |words: &[String]| {
        let mut command = Command::new(stand_ins.join(agent.id()));
        command.args(words).envs(stand_in_environment(path, &options)).env_remove("OPENCODE_SERVER_PASSWORD");
        command
    };
    Host::new(recording).with_renamed_ids().replay(start).await.map_err(|error| error.to_string())
}

/// How often the agent said an id.
fn times_said(records: &[Record], id: &str) -> usize {
    let said = records.iter().filter_map(|record| match &record.input {
        Input::Received(line) => Some(line),
        _ => None,
    });
    // A short id stands in texts by chance, so only a whole string counts.
    let id = if id.len() < 32 { format!("\"{id}\"") } else { id.to_owned() };
    said.map(|line| line.matches(&id).count()).sum()
}

/// An answer of Codex that carries the id of the recorded request, rather than that of this host's.
fn answered_to_recorded_id(capture: &Capture) -> Option<&str> {
    capture.records.iter().find_map(|record| {
        let Input::Received(line) = &record.input else { return None };
        let value: Value = serde_json::from_str(line).ok()?;
        let is_answer = value["method"].is_null() && !value["id"].is_null();
        let ours = value["id"].as_str().is_some_and(|id| id.starts_with("other-"));
        (capture.header.agent.as_deref() == Some("codex") && is_answer && !ours).then_some(&**line)
    })
}

/// What is different between the file's stream and that of the play, if anything.
async fn difference(path: &Path, stand_ins: &Path, work: &Path, number: usize) -> Option<String> {
    let capture = match play(path, stand_ins, work, number).await {
        Ok(capture) => capture,
        Err(error) => return Some(error),
    };
    let agent = capture.header.agent.clone().unwrap();
    let expected = universal(&agent, &fs::read(path).unwrap());
    let mut wirelog = String::from_utf8(capture.to_wirelog().unwrap()).unwrap();
    let recording = Recording::open(path).unwrap();
    for (recorded, other) in &capture.renamed_ids {
        let (then, now) = (times_said(&recording.records, recorded), times_said(&capture.records, other));
        if then != now {
            return Some(format!("expected {other} {then} times, as {recorded} was recorded, found it {now} times"));
        }
        wirelog = wirelog.replace(other.as_str(), recorded);
    }
    if let Some(line) = answered_to_recorded_id(&capture) {
        return Some(format!("expected an answer to one of this host's requests, found {line}"));
    }
    let found = universal(&agent, wirelog.as_bytes());
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
async fn a_replayed_recording_gives_the_stream_of_the_file() {
    let work = tempfile::tempdir().unwrap();
    let stand_ins = work.path().join("agents");
    make_stand_ins(Path::new(env!("CARGO_BIN_EXE_interlingua-replay")), &stand_ins).unwrap();
    let paths = recordings();
    assert!(paths.len() >= 200, "expected the recordings, found {}", paths.len());
    let queue: Arc<Mutex<VecDeque<(usize, PathBuf)>>> =
        Arc::new(Mutex::new(paths.iter().cloned().enumerate().collect()));
    let mut workers = Vec::new();
    for _ in 0..AT_ONCE {
        let (queue, stand_ins, work) = (Arc::clone(&queue), stand_ins.clone(), work.path().to_owned());
        workers.push(tokio::spawn(async move {
            let mut wrong = Vec::new();
            loop {
                let next = queue.lock().unwrap().pop_front();
                let Some((number, path)) = next else { break wrong };
                if let Some(difference) = difference(&path, &stand_ins, &work, number).await {
                    wrong.push(format!("{}: {difference}", path.display()));
                }
            }
        }));
    }
    let mut wrong = Vec::new();
    for worker in workers {
        wrong.extend(worker.await.unwrap());
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), paths.len(), wrong.join("\n"));
}
