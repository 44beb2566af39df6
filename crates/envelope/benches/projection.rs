//! What the envelope adds to a conversion: each agent's recordings to universal JSON lines, and to these and the envelope's
//! too, in turns in the same run.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use interlingua_convert::{Agent, Options, Stream, convert_log};
use interlingua_envelope::{EnvelopeLine, Projector};
use interlingua_wirelog::Reader;

/// Rounds per recording; with and without take turns, and the fastest of each counts. A recording takes less time than a
/// slice of the processor's, so that a busy machine matters little.
const ROUNDS: usize = 100;

fn main() -> io::Result<()> {
    let mut worst = f64::NEG_INFINITY;
    println!("{:<10} {:>10} {:>14} {:>14} {:>8}", "agent", "bytes", "universal MB/s", "+envelope MB/s", "added");
    for (agent, logs) in corpus()? {
        let bytes: usize = logs.iter().map(Vec::len).sum();
        let (mut without, mut with) = (Duration::ZERO, Duration::ZERO);
        let mut out = Vec::new();
        for log in &logs {
            let (mut fastest_without, mut fastest_with) = (Duration::MAX, Duration::MAX);
            for _ in 0..ROUNDS {
                fastest_without = fastest_without.min(timed(&mut out, |out| convert(agent, log, None, out))?);
                let projector = || Some(Projector::new(agent));
                fastest_with = fastest_with.min(timed(&mut out, |out| convert(agent, log, projector(), out))?);
            }
            without += fastest_without;
            with += fastest_with;
        }
        #[allow(clippy::cast_precision_loss, reason = "a few megabytes")]
        let megabytes = bytes as f64 / 1e6;
        let speed = |time: Duration| megabytes / time.as_secs_f64();
        let added = (with.as_secs_f64() / without.as_secs_f64() - 1.0) * 100.0;
        worst = worst.max(added);
        println!("{:<10} {bytes:>10} {:>14.1} {:>14.1} {added:>6.1} %", agent.name(), speed(without), speed(with));
    }
    println!("max added: {worst:.0} %");
    Ok(())
}

fn timed(out: &mut Vec<u8>, work: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> io::Result<Duration> {
    out.clear();
    let start = Instant::now();
    work(out)?;
    let taken = start.elapsed();
    black_box(out);
    Ok(taken)
}

fn convert(agent: Agent, log: &[u8], mut projector: Option<Projector>, out: &mut Vec<u8>) -> io::Result<()> {
    let mut stream = Stream::new(agent.converter(), Options::default());
    convert_log(&mut Reader::new(log)?, &mut stream, |event| {
        event.write_json(out)?;
        out.push(b'\n');
        if let Some(projector) = &mut projector {
            for event in projector.push(&event) {
                event.write_json(out)?;
                out.push(b'\n');
            }
        }
        Ok(())
    })?;
    for completion in projector.into_iter().flat_map(Projector::finish) {
        EnvelopeLine::Completion(completion).write_json(out)?;
    }
    Ok(())
}

/// The recordings of each agent, in memory.
fn corpus() -> io::Result<BTreeMap<Agent, Vec<Vec<u8>>>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../snapshots/transcripts");
    let mut found = BTreeMap::new();
    for agent in Agent::ALL {
        let mut logs = Vec::new();
        for version in folder(&root.join(agent.name()))? {
            for file in folder(&version)? {
                logs.push(std::fs::read(file)?);
            }
        }
        found.insert(agent, logs);
    }
    Ok(found)
}

fn folder(path: &Path) -> io::Result<Vec<PathBuf>> {
    std::fs::read_dir(path)?.map(|entry| entry.map(|entry| entry.path())).collect()
}
