//! `cargo xtask fuzz`: runs the fuzz targets of `fuzz/` with seeds from the recordings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context as _, Result, bail};
use interlingua_agents::Agent;
use serde_json::{Value, json};

use crate::console;
use crate::repository::Repository;

/// Maximum size of a seed. Longer inputs make a run slow and find nothing else.
const MAX_SEED_BYTES: usize = 16 * 1024;

/// Run the fuzz targets, each for a minute
///
/// Needs `cargo install cargo-fuzz` and a C++ compiler. A stable compiler will do: the sanitizers are off, because the
/// code has no unsafe blocks. The input of a failure is in fuzz/artifacts; run it again with `cargo fuzz run --sanitizer
/// none TARGET FILE`, and make it a unit test.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Targets to run; all if none is given
    #[arg(value_name = "TARGET")]
    targets: Vec<String>,
    /// Time for each target
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    seconds: u64,
}

/// A fuzz target and how its seeds are made from a recording.
struct Target {
    name: &'static str,
    seeds: fn(&Recording) -> Vec<Vec<u8>>,
}

const TARGETS: [Target; 7] = [
    Target { name: "native_decode", seeds: native_seeds },
    Target { name: "convert", seeds: convert_seeds },
    Target { name: "wirelog_reader", seeds: |recording| vec![recording.text.clone().into_bytes()] },
    Target { name: "sse_decoder", seeds: sse_seeds },
    Target { name: "http_body", seeds: |_| http_seeds() },
    Target { name: "store_chunk", seeds: |recording| vec![recording.payloads.join("\n").into_bytes()] },
    Target { name: "codegen", seeds: |_| Vec::new() },
];

/// The start of a recording.
struct Recording {
    agent: Agent,
    text: String,
    /// The lines that the agent wrote.
    payloads: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let repository = Repository::find()?;
    let targets: Vec<&Target> = match args.targets.as_slice() {
        [] => TARGETS.iter().collect(),
        names => names.iter().map(|name| find_target(name)).collect::<Result<_>>()?,
    };
    let recordings = load_recordings(&repository.root().join("snapshots/transcripts"))?;
    let mut failed = Vec::new();
    for target in targets {
        let seeds = write_seeds(&repository, target, &recordings)?;
        console::log(format_args!("{}: {seeds} seeds, {} s", target.name, args.seconds));
        if !run_target(&repository, target, args.seconds)? {
            failed.push(target.name);
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    console::log(format_args!("failed: {}; the inputs are in fuzz/artifacts", failed.join(", ")));
    Ok(ExitCode::FAILURE)
}

fn find_target(name: &str) -> Result<&'static Target> {
    let names = || TARGETS.map(|target| target.name).join(", ");
    TARGETS
        .iter()
        .find(|target| target.name == name)
        .with_context(|| format!("no target `{name}`; there are {}", names()))
}

fn run_target(repository: &Repository, target: &Target, seconds: u64) -> Result<bool> {
    let status = Command::new("cargo")
        .args(["fuzz", "run", "--sanitizer", "none", target.name, "--"])
        .arg(format!("-max_total_time={seconds}"))
        .args(["-max_len=65536", "-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1"])
        .current_dir(repository.root())
        // cargo-fuzz passes unstable flags, which change nothing in this code.
        .env("RUSTC_BOOTSTRAP", "1")
        .stdin(Stdio::null())
        .status()
        .context("cannot start cargo")?;
    // cargo says that there is no such command.
    if status.code() == Some(101) && Command::new("cargo-fuzz").arg("--version").output().is_err() {
        bail!("cargo-fuzz is not installed; install it with `cargo install cargo-fuzz`");
    }
    Ok(status.success())
}

/// Writes the seeds of a target, beside the inputs that earlier runs found. Returns their number.
fn write_seeds(repository: &Repository, target: &Target, recordings: &[Recording]) -> Result<usize> {
    let folder = repository.root().join("fuzz/corpus").join(target.name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut seeds: Vec<Vec<u8>> = recordings.iter().flat_map(target.seeds).collect();
    if target.name == "codegen" {
        seeds = schema_seeds(repository)?;
    }
    seeds.retain(|seed| seed.len() <= MAX_SEED_BYTES);
    seeds.sort_unstable();
    seeds.dedup();
    for (number, seed) in seeds.iter().enumerate() {
        let file = folder.join(format!("seed-{number}"));
        fs::write(&file, seed).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(seeds.len())
}

/// Loads the start of every recording.
fn load_recordings(folder: &Path) -> Result<Vec<Recording>> {
    let mut files = Vec::new();
    find_recordings(folder, &mut files)?;
    files.sort_unstable();
    let mut recordings = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let header: Value = text.lines().next().and_then(|line| serde_json::from_str(line).ok()).unwrap_or_default();
        let Some(agent) = header["agent"].as_str().and_then(|id| id.parse::<Agent>().ok()) else { continue };
        let mut bytes = 0;
        let lines = text.split_inclusive('\n').take_while(|line| {
            bytes += line.len();
            bytes < MAX_SEED_BYTES
        });
        let text: String = lines.collect();
        recordings.push(Recording { agent, payloads: text.lines().filter_map(received_payload).collect(), text });
    }
    Ok(recordings)
}

fn find_recordings(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            find_recordings(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    Ok(())
}

fn received_payload(line: &str) -> Option<String> {
    let record: Value = serde_json::from_str(line).ok()?;
    (record["dir"] == "recv").then(|| record["line"].as_str().map(str::to_owned))?
}

/// The first byte selects the type, as in `fuzz_targets/native_decode.rs`.
fn native_seeds(recording: &Recording) -> Vec<Vec<u8>> {
    let types: &[u8] = match recording.agent.id() {
        "claude" => &[0],
        "amp" => &[1],
        "opencode" => &[2],
        "codex" => &[3, 4, 5],
        "acp" => &[6, 7, 8],
        _ => &[],
    };
    let seed = |payload: &String| types.iter().map(|number| with_prefix(*number, payload)).collect::<Vec<_>>();
    recording.payloads.iter().flat_map(seed).collect()
}

fn convert_seeds(recording: &Recording) -> Vec<Vec<u8>> {
    let number = Agent::ALL.iter().position(|agent| *agent == recording.agent);
    let Some(number) = number.and_then(|number| u8::try_from(number).ok()) else { return Vec::new() };
    vec![with_prefix(number, &recording.text), with_prefix(number, &recording.payloads.join("\n"))]
}

fn sse_seeds(recording: &Recording) -> Vec<Vec<u8>> {
    let frame = |(number, payload): (usize, &String)| format!("id: {number}\ndata: {payload}\n\n: keep-alive\n\n");
    let frames: String = recording.payloads.iter().take(4).enumerate().map(frame).collect();
    vec![[&[7, 255], frames.as_bytes()].concat()]
}

/// The first byte selects the request, as in `interlingua_server::fuzzing`.
fn http_seeds() -> Vec<Vec<u8>> {
    let mcp = json!({ "files": { "command": "node", "args": ["x"], "env": { "KEY": "v" } },
                      "web": { "type": "http", "url": "http://localhost", "headers": { "A": "b" } } });
    let bodies = [
        json!({ "agent": "mock", "agentMode": "build", "permissionMode": "default", "model": "m", "variant": "v",
                "directory": "/", "title": "t", "labels": { "a": "b" }, "env": { "A": "b" }, "mcp": mcp }),
        json!({ "title": null, "labels": { "a": null }, "model": "m", "permissionMode": "plan" }),
        json!({ "id": "1", "message": "hi", "attachments": [{ "path": "a.png", "mime": "image/png", "filename": "a" }] }),
        json!({ "reply": "once" }),
        json!({ "answers": [["yes", "no"]] }),
        json!({ "env": { "A": "b" }, "mcp": mcp }),
        json!({ "reinstall": true, "version": "1.0.0" }),
    ];
    (0..).zip(&bodies).map(|(number, body)| with_prefix(number, &body.to_string())).collect()
}

/// Each definition of the vendors' schemas as a schema of its own.
fn schema_seeds(repository: &Repository) -> Result<Vec<Vec<u8>>> {
    let mut seeds = Vec::new();
    for agent in Agent::ALL {
        let file = repository.agent_schemas(agent.id()).join("schema.json");
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let schema: Value = serde_json::from_str(&text).with_context(|| format!("cannot parse {}", file.display()))?;
        for key in ["$defs", "definitions"] {
            for (name, definition) in schema[key].as_object().into_iter().flatten() {
                seeds.push(json!({ (key): { (name): definition } }).to_string().into_bytes());
            }
        }
    }
    Ok(seeds)
}

fn with_prefix(byte: u8, text: &str) -> Vec<u8> {
    [&[byte], text.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_a_program_and_seeds() {
        let repository = Repository::find().unwrap();
        let recordings = load_recordings(&repository.root().join("snapshots/transcripts")).unwrap();
        let manifest = fs::read_to_string(repository.root().join("fuzz/Cargo.toml")).unwrap();
        for target in &TARGETS {
            let name = target.name;
            assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} is not in fuzz/Cargo.toml");
            assert!(repository.root().join(format!("fuzz/fuzz_targets/{name}.rs")).is_file(), "{name}");
            let seeds = recordings.iter().flat_map(target.seeds).count();
            assert!(seeds > 0 || name == "codegen", "{name} has no seeds");
        }
        assert!(schema_seeds(&repository).unwrap().len() > 100);
        for agent in Agent::ALL {
            let mut seeds = recordings.iter().filter(|recording| recording.agent == agent).flat_map(native_seeds);
            assert!(seeds.next().is_some(), "native_decode has no seeds of {agent}");
        }
    }

    #[test]
    fn an_unknown_target_is_refused_with_those_that_exist() {
        let error = find_target("decode").err().unwrap().to_string();
        assert!(error.contains("`decode`") && error.contains("native_decode"), "{error}");
    }
}
