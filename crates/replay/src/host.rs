//! The counterpart of a stand-in: a host that says what the recorded host said.

mod http;
mod lines;
mod rename;
mod stdio;

use std::io;
use std::time::Duration;

use interlingua_wirelog::{Header, Input, Record, Writer};
use tokio::process::Command;
use tokio::time::Instant;

use crate::{Agent, Recording};
use rename::Renamed;

/// How long an agent may take over one line.
const LIMIT: Duration = Duration::from_secs(30);

/// Plays the host's side of a recording with an agent, and takes down what crosses the wire.
#[derive(Clone, Debug)]
pub struct Host {
    recording: Recording,
    other_ids: bool,
}

/// What crossed the wire this time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Capture {
    /// The recorded header, with the command line of this time.
    pub header: Header,
    /// What crossed the wire, in order.
    pub records: Vec<Record>,
    /// The ids that the recorded host chose, and what this one chose instead.
    pub renamed_ids: Vec<(String, String)>,
}

/// Why a recording could not be played through: the agent did not do what it did then.
#[derive(Debug, thiserror::Error)]
#[error("record {number}: expected {expected}, found {found}")]
#[non_exhaustive]
pub struct HostError {
    /// The number of the record that was to happen; the first is 1.
    pub number: usize,
    /// What it is.
    pub expected: String,
    /// What happened instead.
    pub found: String,
}

impl Host {
    /// A host that says what this recording's host said.
    #[must_use]
    pub fn new(recording: Recording) -> Self {
        Self { recording, other_ids: false }
    }

    /// Has it choose other ids than the recorded host did, wherever a host chooses one.
    #[must_use]
    pub fn with_renamed_ids(mut self) -> Self {
        self.other_ids = true;
        self
    }

    /// Plays the recording through. `start` makes the command for each process of the recording, from the words of
    /// its command line after the program; a recording of several processes needs a state file between them.
    ///
    /// # Errors
    ///
    /// When the agent cannot be started, or does something else than in the recording.
    pub async fn replay(&self, mut start: impl FnMut(&[String]) -> Command) -> Result<Capture, HostError> {
        let mut renamed = Renamed::new(self.recording.agent, self.other_ids);
        let argv = renamed.command_line(&self.recording.header.argv);
        let words = argv.get(1..).unwrap_or_default().to_vec();
        let mut tape = Tape { start: Instant::now(), records: Vec::new() };
        let processes = self.recording.processes();
        for (nth, process) in processes.iter().enumerate() {
            let records = || self.recording.records.iter().enumerate().take(process.end).skip(process.start);
            if self.recording.agent == Agent::OpenCode {
                http::converse(records(), start(&words), LIMIT, &mut tape).await?;
            } else {
                let is_last = nth + 1 == processes.len();
                stdio::converse(records(), start(&words), LIMIT, &mut renamed, is_last, &mut tape).await?;
            }
        }
        let mut header = self.recording.header.clone();
        header.argv = argv;
        Ok(Capture { header, records: tape.records, renamed_ids: renamed.pairs })
    }
}

impl Capture {
    /// As a wirelog.
    ///
    /// # Errors
    ///
    /// When a record cannot be written.
    pub fn to_wirelog(&self) -> io::Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new(), &self.header)?;
        self.records.iter().try_for_each(|record| writer.write(record))?;
        Ok(writer.into_inner())
    }
}

/// What is taken down.
#[derive(Debug)]
struct Tape {
    start: Instant,
    records: Vec<Record>,
}

impl Tape {
    fn take_down(&mut self, input: Input) {
        let t = i64::try_from(self.start.elapsed().as_millis()).ok();
        self.records.push(Record::new(t, input));
    }
}
