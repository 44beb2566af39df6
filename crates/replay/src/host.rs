//! The counterpart of a stand-in: a host that sends what the recorded host sent.

mod http;
mod id_renamer;
mod lines;
mod stdio;

use std::io;
use std::time::Duration;

use interlingua_wirelog::{Header, Input, Record, Writer};
use tokio::process::Command;
use tokio::time::Instant;

use crate::{Agent, Recording};
use id_renamer::IdRenamer;

/// How long an agent may take to send one line, or to exit.
const STEP_TIMEOUT: Duration = Duration::from_secs(30);

/// Replays the host's side of a recording to an agent, and captures what crosses the wire.
#[derive(Clone, Debug)]
pub struct Host {
    recording: Recording,
    renames_ids: bool,
}

/// What crossed the wire during a replay.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Capture {
    /// The recorded header, with the command line of this replay.
    pub header: Header,
    /// Records in the order in which they crossed the wire.
    pub records: Vec<Record>,
    /// Ids that the recorded host chose, each with the id that this host chose instead.
    pub renamed_ids: Vec<(String, String)>,
}

/// The agent did something else than in the recording.
#[derive(Debug, thiserror::Error)]
#[error("record {number}: expected {expected}, found {found}")]
#[non_exhaustive]
pub struct HostError {
    /// Number of the expected record; the first is 1. 0 before the first.
    pub number: usize,
    /// The expected record.
    pub expected: String,
    /// What happened instead of it.
    pub found: String,
}

impl Host {
    /// A host that sends what the host of this recording sent.
    #[must_use]
    pub fn new(recording: Recording) -> Self {
        Self { recording, renames_ids: false }
    }

    /// Uses other ids than the recorded host, wherever a host chooses an id.
    #[must_use]
    pub fn with_renamed_ids(mut self) -> Self {
        self.renames_ids = true;
        self
    }

    /// Replays the whole recording. `command` builds the command of each process from its arguments. A recording of
    /// several processes needs a state file between them.
    ///
    /// # Errors
    ///
    /// When the agent cannot be started, or does something else than in the recording.
    pub async fn replay(&self, mut command: impl FnMut(&[String]) -> Command) -> Result<Capture, HostError> {
        let mut renamer = IdRenamer::new(self.recording.agent, self.renames_ids);
        let argv = renamer.rename_command_line(&self.recording.header.argv);
        let arguments = argv.get(1..).unwrap_or_default().to_vec();
        let mut buffer = RecordBuffer { start: Instant::now(), records: Vec::new() };
        let processes = self.recording.processes();
        for (index, process) in processes.iter().enumerate() {
            let records = || self.recording.records.iter().enumerate().take(process.end).skip(process.start);
            if self.recording.agent == Agent::OpenCode {
                http::replay(records(), command(&arguments), &mut buffer).await?;
            } else {
                let is_last = index + 1 == processes.len();
                stdio::replay(records(), command(&arguments), &mut renamer, is_last, &mut buffer).await?;
            }
        }
        let mut header = self.recording.header.clone();
        header.argv = argv;
        Ok(Capture { header, records: buffer.records, renamed_ids: renamer.pairs })
    }
}

impl Capture {
    /// Encodes the capture as a wirelog.
    ///
    /// # Errors
    ///
    /// When a record cannot be encoded.
    pub fn to_wirelog(&self) -> io::Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new(), &self.header)?;
        self.records.iter().try_for_each(|record| writer.write(record))?;
        Ok(writer.into_inner())
    }
}

/// Records that have crossed the wire so far.
#[derive(Debug)]
struct RecordBuffer {
    start: Instant,
    records: Vec<Record>,
}

impl RecordBuffer {
    fn push(&mut self, input: Input) {
        let t = i64::try_from(self.start.elapsed().as_millis()).ok();
        self.records.push(Record::new(t, input));
    }
}
