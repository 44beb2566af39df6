//! A recording as it is made.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use interlingua_wirelog::{Header, Input, Record, Writer};
use serde::de::IgnoredAny;

use crate::scrub::Scrubber;

/// How many lines are kept for a report of a failure.
const LAST: usize = 8;

/// Takes down what crosses the wire. Its clones write to the same recording.
#[derive(Clone)]
pub(crate) struct Tape(Arc<Mutex<Inner>>);

struct Inner {
    header: Header,
    begin: Instant,
    scrubber: Scrubber,
    records: Vec<Record>,
    received: VecDeque<String>,
    stderr: VecDeque<String>,
    ended: bool,
}

impl Tape {
    pub(crate) fn new(header: Header, scrubber: Scrubber) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            header,
            begin: Instant::now(),
            scrubber,
            records: Vec::new(),
            received: VecDeque::new(),
            stderr: VecDeque::new(),
            ended: false,
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The command line that the agent was started with; the first counts.
    pub(crate) fn started(&self, argv: &[String]) {
        let mut inner = self.inner();
        if inner.header.argv.is_empty() {
            inner.header.argv = argv.iter().map(|word| inner.scrubber.text(word)).collect();
        }
    }

    pub(crate) fn sent(&self, line: &str) {
        self.inner().push(|scrubber| Input::Sent(scrubber.line(line)));
    }

    pub(crate) fn received(&self, line: &str) {
        let mut inner = self.inner();
        keep(&mut inner.received, line);
        inner.push(|scrubber| Input::Received(scrubber.line(line)));
    }

    pub(crate) fn stderr(&self, line: &str) {
        let mut inner = self.inner();
        keep(&mut inner.stderr, line);
        inner.push(|scrubber| Input::Stderr(scrubber.text(line)));
    }

    pub(crate) fn request(&self, call: u64, method: &str, path: &str, body: Option<&str>) {
        let method = method.to_owned();
        self.inner().push(|scrubber| {
            let body = body.and_then(|body| json(scrubber.line(body)));
            Input::Request { call, method, path: scrubber.text(path), body }
        });
    }

    pub(crate) fn reply(&self, call: u64, status: u16, body: &str) {
        let mut inner = self.inner();
        keep(&mut inner.received, &format!("{status} {body}"));
        inner.push(|scrubber| Input::Reply { call, status, body: json(scrubber.line(body)) });
    }

    pub(crate) fn closed(&self) {
        self.inner().push(|_| Input::Close);
    }

    pub(crate) fn exited(&self, code: Option<i32>) {
        self.inner().push(|_| Input::Exit { code });
    }

    /// Ends the recording: how the host stops an agent that would never stop is no part of it.
    pub(crate) fn end(&self) {
        self.inner().ended = true;
    }

    /// The last that the agent said, and the last that it complained.
    pub(crate) fn last(&self) -> (Vec<String>, Vec<String>) {
        let inner = self.inner();
        (inner.received.iter().cloned().collect(), inner.stderr.iter().cloned().collect())
    }

    /// The recording.
    pub(crate) fn write(&self) -> std::io::Result<Vec<u8>> {
        let inner = self.inner();
        let mut writer = Writer::new(Vec::new(), &inner.header)?;
        for record in &inner.records {
            writer.write(record)?;
        }
        Ok(writer.into_inner())
    }
}

impl Inner {
    fn push(&mut self, input: impl FnOnce(&Scrubber) -> Input) {
        if self.ended {
            return;
        }
        let t = i64::try_from(self.begin.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.records.push(Record::new(Some(t), input(&self.scrubber)));
    }
}

/// Keeps the last lines, short.
fn keep(lines: &mut VecDeque<String>, line: &str) {
    if lines.len() == LAST {
        lines.pop_front();
    }
    lines.push_back(line.chars().take(400).collect());
}

/// A body, if it is JSON.
fn json(body: String) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(&body).is_ok().then_some(body)
}
