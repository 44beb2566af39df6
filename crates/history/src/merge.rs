//! Reads several files as one sequence, by time: a session file and the files of its sub-agents.
//!
//! The lines of each file keep their order. A file of a sub-agent is open only while its turn comes, because a session may
//! have more sub-agents than a process may have open files.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use interlingua_schema::Timestamp;

use crate::json::line_time;
use crate::record_reader::{Record, RecordReader};
use crate::{HistoryError, HistoryReport};

/// A file of a sub-agent, with what identifies the sub-agent.
#[derive(Clone, Debug)]
pub(crate) struct SubAgentFile<T> {
    pub(crate) path: PathBuf,
    /// Time of its first line.
    pub(crate) starts_at: Option<Timestamp>,
    pub(crate) sub_agent: T,
}

/// The next line of a file.
struct Head {
    record: Record,
    /// Time of the line. Never before the lines before it.
    time: Option<Timestamp>,
}

/// A file that is being read.
struct Source<T> {
    reader: RecordReader,
    /// `None` for the main agent.
    sub_agent: Option<T>,
    head: Option<Head>,
    mode: Mode,
}

/// How files are read.
#[derive(Clone, Copy)]
struct Mode {
    /// There are several files, so times decide the order.
    is_timed: bool,
    /// The files are being written, so a line without an end is not complete yet.
    is_growing: bool,
}

impl<T: Clone> Source<T> {
    fn open(path: &Path, sub_agent: Option<T>, mode: Mode) -> Result<Self, HistoryError> {
        let mut source = Self { reader: RecordReader::open(path)?, sub_agent, head: None, mode };
        source.advance(None);
        Ok(source)
    }

    fn advance(&mut self, before: Option<Timestamp>) {
        let Mode { is_timed, is_growing } = self.mode;
        let record = self.reader.next().filter(|record| record.is_terminated || !is_growing);
        self.head = record.map(|record| {
            let text = record.text.as_ref().ok().filter(|_| is_timed);
            Head { time: text.and_then(|text| line_time(text)).max(before), record }
        });
    }
}

/// A line and the file that it is in.
pub(crate) struct MergedRecord<T> {
    pub(crate) record: Record,
    pub(crate) path: PathBuf,
    /// The sub-agent whose file has the line; `None` for the main agent.
    pub(crate) sub_agent: Option<T>,
}

/// The lines of a session and its sub-agents.
pub(crate) struct MergedReader<T> {
    main: Source<T>,
    open: Vec<Source<T>>,
    waiting: VecDeque<SubAgentFile<T>>,
    mode: Mode,
}

impl<T: Clone> MergedReader<T> {
    /// Opens the main file. The files of sub-agents are sorted by the time of their first line. `is_growing`: a line
    /// without an end is left out.
    pub(crate) fn open(main: &Path, sub_agents: Vec<SubAgentFile<T>>, is_growing: bool) -> Result<Self, HistoryError> {
        let mode = Mode { is_timed: !sub_agents.is_empty(), is_growing };
        let main = Source::open(main, None, mode)?;
        Ok(Self { main, open: Vec::new(), waiting: sub_agents.into(), mode })
    }

    /// The next line; `None` at the end of all files. A file of a sub-agent that cannot be opened is in the report.
    pub(crate) fn next(&mut self, report: &mut HistoryReport) -> Option<MergedRecord<T>> {
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
                match Source::open(&file.path, Some(file.sub_agent), self.mode) {
                    Ok(source) => self.open.push(source),
                    Err(error) => report.add_error(&file.path, &error),
                }
                continue;
            }
            return match (main, earliest) {
                (Some(main), Some((sub_agent, index))) if sub_agent < main => self.take_sub_agent(index),
                (None, Some((_, index))) => self.take_sub_agent(index),
                (Some(_), _) => take(&mut self.main),
                (None, None) => None,
            };
        }
    }

    fn take_sub_agent(&mut self, index: usize) -> Option<MergedRecord<T>> {
        let record = self.open.get_mut(index).and_then(take);
        self.open.retain(|source| source.head.is_some());
        record
    }
}

fn take<T: Clone>(source: &mut Source<T>) -> Option<MergedRecord<T>> {
    let head = source.head.take()?;
    source.advance(head.time);
    let path = source.reader.path().to_owned();
    Some(MergedRecord { record: head.record, path, sub_agent: source.sub_agent.clone() })
}
