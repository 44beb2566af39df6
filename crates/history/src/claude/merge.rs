//! Reads a session file and the files of its sub-agents as one sequence, by time.
//!
//! The lines of each file keep their order. A file of a sub-agent is open only while its turn comes, because a session may
//! have more sub-agents than a process may have open files.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use interlingua_schema::Timestamp;

use super::line::Line;
use super::sub_agents::SubAgentFile;
use crate::HistoryError;
use crate::json::time;
use crate::record_reader::{Record, RecordReader};

/// The next line of a file.
struct Head {
    record: Record,
    /// Time of the line. Never before the lines before it.
    time: Option<Timestamp>,
}

/// A file that is being read.
struct Source {
    reader: RecordReader,
    call: Option<String>,
    head: Option<Head>,
    /// There are other files, so times decide the order.
    is_timed: bool,
}

impl Source {
    fn open(path: &Path, call: Option<String>, is_timed: bool) -> Result<Self, HistoryError> {
        let mut source = Self { reader: RecordReader::open(path)?, call, head: None, is_timed };
        source.advance(None)?;
        Ok(source)
    }

    fn advance(&mut self, before: Option<Timestamp>) -> Result<(), HistoryError> {
        self.head = self.reader.next()?.map(|record| {
            let text = record.text.as_ref().ok().filter(|_| self.is_timed);
            let own = text.and_then(|text| Line::parse(text).ok()).and_then(|line| time(line.timestamp));
            Head { record, time: own.max(before) }
        });
        Ok(())
    }
}

/// A line and the file that it is in.
pub(super) struct MergedRecord {
    pub(super) record: Record,
    pub(super) path: PathBuf,
    /// The tool call that started the sub-agent; `None` for the main agent.
    pub(super) call: Option<String>,
    /// The line is in the file of a sub-agent.
    pub(super) is_sub_agent: bool,
}

/// The lines of a session and its sub-agents.
pub(super) struct MergedReader {
    main: Source,
    open: Vec<Source>,
    waiting: VecDeque<SubAgentFile>,
}

impl MergedReader {
    pub(super) fn open(main: &Path, sub_agents: Vec<SubAgentFile>) -> Result<Self, HistoryError> {
        Ok(Self {
            main: Source::open(main, None, !sub_agents.is_empty())?,
            open: Vec::new(),
            waiting: sub_agents.into(),
        })
    }

    /// The next line; `None` at the end of all files.
    pub(super) fn next(&mut self) -> Result<Option<MergedRecord>, HistoryError> {
        loop {
            let earliest = self
                .open
                .iter()
                .enumerate()
                .filter_map(|(index, source)| Some((source.head.as_ref()?.time, index)))
                .min();
            let main = self.main.head.as_ref().map(|head| head.time);
            // A file starts before the next line that is later.
            let next_time = match (main, earliest) {
                (Some(main), Some((sub_agent, _))) => Some(main.min(sub_agent)),
                (Some(main), None) => Some(main),
                (None, earliest) => earliest.map(|(time, _)| time),
            };
            if let Some(file) = self.waiting.front()
                && next_time.is_none_or(|next| file.starts_at <= next)
                && let Some(file) = self.waiting.pop_front()
            {
                self.open.push(Source::open(&file.path, file.call, true)?);
                continue;
            }
            return match (main, earliest) {
                (Some(main), Some((sub_agent, index))) if sub_agent < main => self.take_sub_agent(index),
                (None, Some((_, index))) => self.take_sub_agent(index),
                (Some(_), _) => take(&mut self.main, false),
                (None, None) => Ok(None),
            };
        }
    }

    fn take_sub_agent(&mut self, index: usize) -> Result<Option<MergedRecord>, HistoryError> {
        let record = match self.open.get_mut(index) {
            Some(source) => take(source, true),
            None => Ok(None),
        };
        self.open.retain(|source| source.head.is_some());
        record
    }
}

fn take(source: &mut Source, is_sub_agent: bool) -> Result<Option<MergedRecord>, HistoryError> {
    let Some(head) = source.head.take() else { return Ok(None) };
    source.advance(head.time)?;
    let path = source.reader.path().to_owned();
    Ok(Some(MergedRecord { record: head.record, path, call: source.call.clone(), is_sub_agent }))
}
