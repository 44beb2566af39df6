//! Finding a log, and whose it is.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use interlingua_convert::{Agent, detect_agent};
use interlingua_wirelog::Reader;
use serde::Deserialize;

use crate::output::{Flushing, Output};

/// The name for standard input.
const STDIN: &str = "-";
/// How many lines are looked at to find out whose log it is.
const LOOK_AT: usize = 50;

/// Opens a file, or standard input for `-`.
pub(crate) fn open(file: &str, output: &Output) -> anyhow::Result<Box<dyn BufRead>> {
    let input: Box<dyn Read> = if file == STDIN {
        Box::new(Flushing { input: io::stdin(), output: output.clone() })
    } else {
        let opened = File::open(file).with_context(|| format!("cannot read {file}"))?;
        if Path::new(file).is_dir() {
            bail!("cannot read {file}: it is a directory");
        }
        Box::new(opened)
    };
    Ok(Box::new(BufReader::with_capacity(1 << 16, input)))
}

/// Reads the name of an agent.
pub(crate) fn named(agent: Option<&str>) -> anyhow::Result<Option<Agent>> {
    agent.map(|name| name.parse().map_err(anyhow::Error::from)).transpose()
}

/// Whose log it is: the agent that the user named, else the one its header names, else the one it sounds like.
pub(crate) fn agent<R: BufRead>(file: &str, reader: &mut Reader<R>, given: Option<Agent>) -> anyhow::Result<Agent> {
    if let Some(agent) = given {
        return Ok(agent);
    }
    if let Some(name) = reader.header().and_then(|header| header.agent.as_deref()) {
        let agent = name.parse::<Agent>();
        return agent.map_err(|error| anyhow!("{file}: its header names an {error}; name the right one with --agent"));
    }
    let names: Vec<&str> = Agent::ALL.iter().map(|agent| agent.id()).collect();
    let names = names.join("|");
    let mut seen = 0;
    let mut empty = true;
    for count in 1..=LOOK_AT {
        // The reader keeps what it read ahead, so it reads no further than needed.
        let mut lines = reader.peek(count).with_context(|| format!("cannot read {file}"))?;
        let Some(line) = lines.nth(seen) else { continue };
        seen += 1;
        empty &= line.trim().is_empty();
        if is_universal(&line) {
            bail!("{file} is a universal event stream already; give it to `interlingua check` or `interlingua show`");
        }
        if let Some(agent) = detect_agent(&line) {
            return Ok(agent);
        }
    }
    if empty {
        bail!("{file} is empty or not text: cannot tell which agent wrote it; name it with --agent {names}");
    }
    bail!("cannot tell which agent wrote {file}; name it with --agent {names}")
}

/// Whether a line is a universal event.
pub(crate) fn is_universal(line: &str) -> bool {
    #[derive(Deserialize)]
    struct Envelope {
        #[allow(dead_code, reason = "only its presence counts")]
        event_id: String,
        #[allow(dead_code, reason = "only its presence counts")]
        sequence: u64,
    }
    serde_json::from_str::<Envelope>(line).is_ok()
}
