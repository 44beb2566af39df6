//! Codex's events as drafts, in both its dialects: the app server's JSON-RPC, and the lines of `codex exec --json`.
//!
//! Most of what Codex says is an item of a thread that starts, streams and completes. A thread is a session, unless
//! another thread's tool call started it: then it is a sub-agent. What the host sends matters as much as what comes
//! back, because an answer is only understood by its request, and both sides number theirs from the start.

mod command;
mod content;
mod elicitation;
mod exec;
mod failures;
mod host;
mod items;
mod legacy;
mod names;
mod notices;
mod notifications;
mod realtime;
mod requests;
#[cfg(test)]
mod tests;
mod thread;
mod tools;
mod wire;

use foldhash::HashMap;
use interlingua_native::codex::{ServerNotificationEnvelope, ServerRequest, ServerRequestEnvelope};
use interlingua_native::{Native as _, Union as _};
use interlingua_schema::Timestamp;
use serde::de::IgnoredAny;

use crate::losses::report_losses;
use crate::{Converter, Drafts, Input, InputRef, Key, Launch, SessionDrafts};
use exec::Exec;
use host::Asked;
use requests::Demand;
use thread::{Thread, Threads};
use wire::{Envelope, Line};

/// Who could not read a payload.
const WHERE: &str = "codex";

/// Turns what Codex says into drafts.
#[derive(Debug, Default)]
pub struct CodexConverter {
    version: Option<String>,
    threads: Threads,
    /// A process introduced itself.
    initialized: bool,
    /// The agent told of a thread that the host asked for, so the log has all that it asks for.
    tells_of_threads: bool,
    /// What the host asked and the agent did not answer yet, by the host's ids.
    asked: HashMap<String, Box<Asked>>,
    /// What the agent asked and the host did not answer yet, by the agent's ids.
    demands: HashMap<String, Demand>,
    /// Requests that were sent, to know their order.
    sent: u64,
    /// Prompts that were sent, to give them names.
    prompts: u64,
    /// The limits as they were last told.
    limits: Option<String>,
    exec: Exec,
}

impl Converter for CodexConverter {
    fn agent(&self) -> &'static str {
        "codex"
    }

    fn observe_launch(&mut self, launch: &Launch, _: &mut Drafts) {
        self.version.clone_from(&launch.version);
        self.exec.launch(launch);
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        match input {
            Input::Sent(line) if self.exec.is_spoken() => self.exec.sent(line),
            Input::Sent(line) => self.sent(line, out),
            Input::Received(line) => self.received(line, out),
            Input::Exit { .. } => {
                self.unanswered(None, out);
                self.cut_off(out);
                self.initialized = false;
                self.process_gone();
            }
            Input::Stderr(_)
            | Input::Unreadable { .. }
            | Input::Request { .. }
            | Input::Reply { .. }
            | Input::Close => {}
        }
    }
}

impl CodexConverter {
    fn received(&mut self, line: &str, out: &mut Drafts) {
        self.line(Line::of(line), line, out);
    }

    fn line(&mut self, kind: Line<'_>, line: &str, out: &mut Drafts) {
        match kind {
            Line::Method(method) if method.starts_with(legacy::PREFIX) => self.legacy(&method, line, out),
            Line::Method(method) if ServerRequest::TAGS.iter().any(|(tag, _)| *tag == method) => {
                match ServerRequestEnvelope::decode(line) {
                    Ok(decoded) => {
                        self.request(decoded.value, out);
                        report_losses(WHERE, &decoded.losses, out);
                    }
                    Err(error) => out.current_session().unparsed(WHERE, error.to_string(), Some(method.into_owned())),
                }
            }
            Line::Method(method) => match ServerNotificationEnvelope::decode(line) {
                Ok(decoded) => {
                    if let Some(time) = decoded.value.emitted_at_ms {
                        out.set_payload_time(Timestamp::from_millis(time));
                    }
                    self.notification(decoded.value.message, out);
                    report_losses(WHERE, &decoded.losses, out);
                }
                Err(error) => out.current_session().unparsed(WHERE, error.to_string(), Some(method.into_owned())),
            },
            // There is nothing else that it says: this is an event without its type.
            Line::Answer(_) | Line::Strange(_) if self.exec.is_spoken() => self.exec.received(line, out),
            Line::Answer(envelope) => self.answer(&envelope, out),
            Line::Result { id, text } => {
                if !self.usual_answer(id, text, out) {
                    self.line(Line::read(line), line, out);
                }
            }
            Line::Exec => self.exec.received(line, out),
            Line::Strange(reason) => out.current_session().unparsed(WHERE, reason, None),
        }
    }

    /// An event of the older protocol is looked into only where it says something of its own.
    fn legacy(&mut self, method: &str, line: &str, out: &mut Drafts) {
        let envelope = if legacy::is_news(method) { Envelope::read(line).ok() } else { None };
        if let Some(params) = envelope.and_then(|envelope| envelope.params) {
            return legacy::event(self, method, params.get(), out);
        }
        match serde_json::from_str::<IgnoredAny>(line) {
            Ok(_) => legacy::event(self, method, "{}", out),
            Err(error) => out.current_session().unparsed(WHERE, error.to_string(), Some(method.to_owned())),
        }
    }

    /// The thread that a payload names; without a name, the one begun last. One never heard of is met first.
    fn on(&mut self, id: Option<&str>, out: &mut Drafts) -> &mut Thread {
        let place = match id {
            Some(id) => self.threads.find(id).unwrap_or_else(|| self.meet(id, out)),
            None => self.threads.current(),
        };
        self.threads.at(place)
    }

    /// As [`on`](Self::on), where the payload shows that the model has answered.
    fn answering(&mut self, id: Option<&str>, out: &mut Drafts) -> &mut Thread {
        let thread = self.on(id, out);
        thread.answers();
        thread
    }

    /// Speaks of a thread if there is one of that name, and of the session at large if not: a remark begins none.
    fn about<'a>(&mut self, id: Option<&str>, out: &'a mut Drafts) -> SessionDrafts<'a> {
        let known = id.filter(|id| self.threads.find(id).is_some() || self.threads.spawning().next().is_some());
        match known {
            Some(id) => self.on(Some(id), out).session(out),
            None => out.current_session(),
        }
    }

    fn known(&self, id: Option<&str>) -> Option<usize> {
        self.threads.find(id?)
    }

    /// A thread that nobody announced. While a sub-agent is being started it is that one; while there is nothing else
    /// that it could be, it is one whose call is yet to come; else it is a session.
    fn meet(&mut self, id: &str, out: &mut Drafts) -> usize {
        let mut spawning = self.threads.spawning();
        let first = spawning.next().map(|(parent, calls)| (parent.to_owned(), calls.to_vec()));
        let only = spawning.next().is_none();
        drop(spawning);
        if let Some((parent, calls)) = first {
            let place = self.adopt(&parent, id, out);
            if let ([call], true) = (calls.as_slice(), only) {
                out.session(id).spawned_by(parent.as_str(), call);
            }
            return place;
        }
        let awaited = self.asked.values().any(|asked| asked.opens_a_thread());
        let parent = self.threads.only_busy().filter(|_| self.tells_of_threads && !awaited).map(str::to_owned);
        match parent {
            Some(parent) => self.adopt(&parent, id, out),
            None => self.own(id),
        }
    }

    /// A thread that is a session of its own.
    fn own(&mut self, id: &str) -> usize {
        let place = self.threads.begin(id);
        self.threads.set_current(place);
        place
    }

    /// A sub-agent's thread, never heard of before, that works for `parent`. What it does waits for its call.
    fn adopt(&mut self, parent: &str, child: &str, out: &mut Drafts) -> usize {
        let place = self.threads.begin(child);
        let thread = self.threads.at(place);
        thread.is_child = true;
        thread.may_begin();
        out.session(child).child_of(parent);
        place
    }

    /// A sub-agent's thread, whose parent is known.
    fn child(&mut self, parent: &str, child: &str, is_fork: bool, out: &mut Drafts) {
        if self.threads.find(child).is_none() {
            let place = self.adopt(parent, child, out);
            let thread = self.threads.at(place);
            if is_fork {
                thread.goes_on();
            } else {
                thread.begins();
            }
        }
        let mut calls = self.threads.spawning().filter(|(thread, _)| *thread == parent).flat_map(|(_, calls)| calls);
        if let Some(call) = calls.next().filter(|_| calls.next().is_none()).cloned() {
            out.session(child).spawned_by(parent, call);
        }
    }

    /// The tool call with this key and id started this thread.
    fn spawned(&mut self, parent: &str, child: &str, call: &Key, call_id: &str, out: &mut Drafts) {
        let place = self.threads.find(child).unwrap_or_else(|| self.adopt(parent, child, out));
        self.threads.at(place).spawned_by = Some((call.clone(), call_id.to_owned()));
        out.session(child).spawned_by(parent, call);
    }

    /// The agent exits. It always says when a turn is over, so one of which it did not was cut off.
    fn cut_off(&mut self, out: &mut Drafts) {
        for thread in self.threads.all().filter(|thread| thread.is_in_turn()) {
            thread.session(out).turn_cut_off();
        }
        self.exec.cut_off(out);
    }

    /// The process is gone, and with it what was open between it and the host.
    fn process_gone(&mut self) {
        self.demands.clear();
        self.threads.all().for_each(Thread::interrupted);
    }
}
