//! Measures the cost of the envelope: converts each agent's recordings to universal JSON lines, alone, with projection,
//! and with projection and writing of the envelope. The three alternate in the same run.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use interlingua_convert::{Agent, Conversion, ConversionOptions, convert_log, converter_for};
use interlingua_envelope::{EnvelopeLine, Projector};
use interlingua_recordings::Transcripts;
use interlingua_wirelog::Reader;

/// Rounds per recording. The three kinds of work alternate, and the fastest round of each counts. Converting a recording
/// takes less than a scheduler time slice, so that other load on the machine matters little.
const ROUNDS: usize = 100;

/// What is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Work {
    /// Converts and writes universal events.
    Universal,
    /// Also projects them.
    Projected,
    /// Also writes the envelope. In practice only one of the two streams is written.
    Written,
}

const ALL: [Work; 3] = [Work::Universal, Work::Projected, Work::Written];

fn main() -> io::Result<()> {
    let mut worst = f64::NEG_INFINITY;
    println!("{:<10} {:>10} {:>14} {:>10} {:>16}", "agent", "bytes", "universal MB/s", "projection", "with writing");
    for (agent, logs) in corpus()? {
        let bytes: usize = logs.iter().map(Vec::len).sum();
        let mut total = [Duration::ZERO; ALL.len()];
        let mut out = Vec::new();
        for log in &logs {
            let mut fastest = [Duration::MAX; ALL.len()];
            for _ in 0..ROUNDS {
                for (fastest, work) in fastest.iter_mut().zip(ALL) {
                    *fastest = (*fastest).min(measure(&mut out, |out| convert(agent, log, work, out))?);
                }
            }
            total.iter_mut().zip(fastest).for_each(|(total, fastest)| *total += fastest);
        }
        let [universal, projected, written] = total.map(|time| time.as_secs_f64());
        #[allow(clippy::cast_precision_loss, reason = "a few megabytes")]
        let speed = bytes as f64 / 1e6 / universal;
        let added = |time: f64| (time / universal - 1.0) * 100.0;
        worst = worst.max(added(projected));
        println!("{:<10} {bytes:>10} {speed:>14.1} {:>8.1} % {:>14.1} %", agent.id(), added(projected), added(written));
    }
    println!("max added by projection: {worst:.0} %");
    Ok(())
}

fn measure(out: &mut Vec<u8>, work: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> io::Result<Duration> {
    out.clear();
    let start = Instant::now();
    work(out)?;
    let elapsed = start.elapsed();
    black_box(out);
    Ok(elapsed)
}

fn convert(agent: Agent, log: &[u8], work: Work, out: &mut Vec<u8>) -> io::Result<()> {
    let mut conversion = Conversion::new(converter_for(agent), ConversionOptions::default());
    let mut projector = (work != Work::Universal).then(|| Projector::new(agent));
    let write_line = |line: EnvelopeLine, out: &mut Vec<u8>| {
        if work == Work::Written {
            line.write_json(out)?;
            out.push(b'\n');
        } else {
            black_box(line);
        }
        io::Result::Ok(())
    };
    convert_log(&mut Reader::new(log)?, &mut conversion, |event| {
        event.write_json(out)?;
        out.push(b'\n');
        let Some(projector) = &mut projector else { return Ok(()) };
        projector.push(&event).try_for_each(|event| write_line(EnvelopeLine::Event(event), out))
    })?;
    let completions = projector.into_iter().flat_map(Projector::finish);
    completions.map(EnvelopeLine::Completion).try_for_each(|completion| write_line(completion, out))
}

/// The recordings of each agent, in memory.
fn corpus() -> io::Result<BTreeMap<Agent, Vec<Vec<u8>>>> {
    let transcripts = Transcripts::in_repository();
    let mut found = BTreeMap::new();
    for agent in Agent::ALL {
        let files = transcripts.for_agent(agent.id())?;
        let logs = files.iter().map(|file| std::fs::read(&file.path)).collect::<io::Result<_>>()?;
        found.insert(agent, logs);
    }
    Ok(found)
}
