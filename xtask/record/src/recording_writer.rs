//! A recording while it is made.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use interlingua_wirelog::{Header, Input, Record, Writer};
use serde::de::IgnoredAny;

use crate::scrub::Scrubber;

/// Number of lines that are kept for the report of a failure.
const MAX_LAST_LINES: usize = 8;
/// Maximum length of such a line in characters.
const MAX_LAST_LINE_CHARS: usize = 400;

/// Records what crosses the wire. Clones write to the same recording.
#[derive(Clone)]
pub(crate) struct RecordingWriter(Arc<Mutex<Inner>>);

struct Inner {
    header: Header,
    start: Instant,
    scrubber: Scrubber,
    records: Vec<Record>,
    last_received: VecDeque<String>,
    last_stderr: VecDeque<String>,
    is_stopped: bool,
}

impl RecordingWriter {
    pub(crate) fn new(header: Header, scrubber: Scrubber) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            header,
            start: Instant::now(),
            scrubber,
            records: Vec::new(),
            last_received: VecDeque::new(),
            last_stderr: VecDeque::new(),
            is_stopped: false,
        })))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the command line of the agent. Only the first call has an effect.
    pub(crate) fn set_command_line(&self, argv: &[String]) {
        let mut inner = self.inner();
        if inner.header.argv.is_empty() {
            inner.header.argv = argv.iter().map(|argument| inner.scrubber.scrub_text(argument)).collect();
        }
    }

    pub(crate) fn record_sent(&self, line: &str) {
        self.inner().push(|scrubber| Input::Sent(scrubber.scrub_line(line)));
    }

    pub(crate) fn record_received(&self, line: &str) {
        let mut inner = self.inner();
        keep_last(&mut inner.last_received, line);
        inner.push(|scrubber| Input::Received(scrubber.scrub_line(line)));
    }

    pub(crate) fn record_stderr(&self, line: &str) {
        let mut inner = self.inner();
        keep_last(&mut inner.last_stderr, line);
        inner.push(|scrubber| Input::Stderr(scrubber.scrub_text(line)));
    }

    pub(crate) fn record_request(&self, call: u64, method: &str, path: &str, body: Option<&str>) {
        let method = method.to_owned();
        self.inner().push(|scrubber| {
            let body = body.and_then(|body| json_body(scrubber.scrub_line(body)));
            Input::Request { call, method, path: scrubber.scrub_text(path), body }
        });
    }

    pub(crate) fn record_reply(&self, call: u64, status: u16, body: &str) {
        let mut inner = self.inner();
        keep_last(&mut inner.last_received, &format!("{status} {body}"));
        inner.push(|scrubber| Input::Reply { call, status, body: json_body(scrubber.scrub_line(body)) });
    }

    pub(crate) fn record_close(&self) {
        self.inner().push(|_| Input::Close);
    }

    pub(crate) fn record_exit(&self, code: Option<i32>) {
        self.inner().push(|_| Input::Exit { code });
    }

    /// Stops the recording. How the host stops an agent that does not exit by itself is not part of it.
    pub(crate) fn stop(&self) {
        self.inner().is_stopped = true;
    }

    /// The last received lines, and the last lines of standard error.
    pub(crate) fn last_lines(&self) -> (Vec<String>, Vec<String>) {
        let inner = self.inner();
        (inner.last_received.iter().cloned().collect(), inner.last_stderr.iter().cloned().collect())
    }

    /// Encodes the recording as a wirelog.
    pub(crate) fn encode(&self) -> std::io::Result<Vec<u8>> {
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
        if self.is_stopped {
            return;
        }
        let t = i64::try_from(self.start.elapsed().as_millis()).unwrap_or(i64::MAX);
        self.records.push(Record::new(Some(t), input(&self.scrubber)));
    }
}

/// Keeps the beginning of the last lines.
fn keep_last(lines: &mut VecDeque<String>, line: &str) {
    if lines.len() == MAX_LAST_LINES {
        lines.pop_front();
    }
    lines.push_back(line.chars().take(MAX_LAST_LINE_CHARS).collect());
}

/// A body, if it is JSON.
fn json_body(body: String) -> Option<String> {
    serde_json::from_str::<IgnoredAny>(&body).is_ok().then_some(body)
}
