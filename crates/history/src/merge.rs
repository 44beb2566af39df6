//! Reads several files as one sequence, by time: a session file and the files of its sub-agents.
//!
//! The lines of each file keep their order. A file of a sub-agent is open only while its turn comes, because a session may
//! have more sub-agents than a process may have open files.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use interlingua_schema::Timestamp;

use serde::Deserialize;

use crate::HistoryError;
use crate::json::{Field, time};
use crate::record_reader::{Record, RecordReader};

/// A file of a sub-agent, with what identifies the sub-agent.
#[derive(Debug)]
pub(crate) struct SubAgentFile<T> {
    pub(crate) path: PathBuf,
    /// Time of its first line.
    pub(crate) starts_at: Option<Timestamp>,
    pub(crate) sub_agent: T,
}

/// The time of a line, which all formats have in the same field.
#[derive(Default, Deserialize)]
#[serde(default)]
struct TimedLine<'a> {
    #[serde(borrow)]
    timestamp: Field<'a>,
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
    /// There are other files, so times decide the order.
    is_timed: bool,
}

impl<T: Clone> Source<T> {
    fn open(path: &Path, sub_agent: Option<T>, is_timed: bool) -> Result<Self, HistoryError> {
        let mut source = Self { reader: RecordReader::open(path)?, sub_agent, head: None, is_timed };
        source.advance(None)?;
        Ok(source)
    }

    fn advance(&mut self, before: Option<Timestamp>) -> Result<(), HistoryError> {
        self.head = self.reader.next()?.map(|record| {
            let text = record.text.as_ref().ok().filter(|_| self.is_timed);
            let line = text.and_then(|text| serde_json::from_str::<TimedLine<'_>>(text).ok());
            let own = line.and_then(|line| time(line.timestamp));
            Head { record, time: own.max(before) }
        });
        Ok(())
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
}

impl<T: Clone> MergedReader<T> {
    /// Opens the main file. The files of sub-agents are sorted by the time of their first line.
    pub(crate) fn open(main: &Path, sub_agents: Vec<SubAgentFile<T>>) -> Result<Self, HistoryError> {
        let main = Source::open(main, None, !sub_agents.is_empty())?;
        Ok(Self { main, open: Vec::new(), waiting: sub_agents.into() })
    }

    /// The next line; `None` at the end of all files.
    pub(crate) fn next(&mut self) -> Result<Option<MergedRecord<T>>, HistoryError> {
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
                self.open.push(Source::open(&file.path, Some(file.sub_agent), true)?);
                continue;
            }
            return match (main, earliest) {
                (Some(main), Some((sub_agent, index))) if sub_agent < main => self.take_sub_agent(index),
                (None, Some((_, index))) => self.take_sub_agent(index),
                (Some(_), _) => take(&mut self.main),
                (None, None) => Ok(None),
            };
        }
    }

    fn take_sub_agent(&mut self, index: usize) -> Result<Option<MergedRecord<T>>, HistoryError> {
        let record = match self.open.get_mut(index) {
            Some(source) => take(source),
            None => Ok(None),
        };
        self.open.retain(|source| source.head.is_some());
        record
    }
}

fn take<T: Clone>(source: &mut Source<T>) -> Result<Option<MergedRecord<T>>, HistoryError> {
    let Some(head) = source.head.take() else { return Ok(None) };
    source.advance(head.time)?;
    let path = source.reader.path().to_owned();
    Ok(Some(MergedRecord { record: head.record, path, sub_agent: source.sub_agent.clone() }))
}
