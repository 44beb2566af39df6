//! Converts Codex's wire formats to drafts: the JSON-RPC of the app server, and the lines of `codex exec --json`.
//!
//! Most payloads of the app server are items of a thread, which start, stream and complete. A thread is a session,
//! unless a tool call of another thread spawned it: then it is a sub-agent. The lines that the host sends are converted
//! too, because a response can only be decoded with its request. Host and agent number their requests independently, so
//! each direction has its own table of pending requests.

mod command;
mod content;
mod elicitation;
mod exec;
mod failures;
mod host_requests;
mod item_keys;
mod items;
mod legacy;
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
use interlingua_native::{Json, Native as _, Union as _};
use interlingua_schema::Timestamp;

use crate::losses::report_losses;
use crate::{Converter, Drafts, Input, InputRef, Key, Launch, SessionDrafts};
use exec::Exec;
use host_requests::HostRequest;
use requests::AgentRequest;
use thread::{Thread, Threads};
use wire::{Envelope, Line};

/// `location` of the `agent.unparsed` events of this converter.
const LOCATION: &str = "codex";

/// Converts the payloads of Codex to drafts.
#[derive(Debug, Default)]
pub struct CodexConverter {
    version: Option<String>,
    threads: Threads,
    /// A process has answered `initialize`.
    is_initialized: bool,
    /// The log contains a response to a thread request of the host. Every thread that the host requests is known then,
    /// and any other thread is a sub-agent's.
    has_thread_responses: bool,
    /// Requests of the host without a response, by the host's ids.
    host_requests: HashMap<String, Box<HostRequest>>,
    /// Requests of the agent without a response, by the agent's ids.
    agent_requests: HashMap<String, AgentRequest>,
    /// Number of requests that the host has sent; gives each its order.
    sent_requests: u64,
    /// Number of prompts that the host has sent; prompts without an id are named after it.
    sent_prompts: u64,
    /// Rate limits as last reported.
    last_rate_limits: Option<String>,
    exec: Exec,
}

impl Converter for CodexConverter {
    fn agent(&self) -> &'static str {
        "codex"
    }

    fn observe_launch(&mut self, launch: &Launch, _: &mut Drafts) {
        self.version.clone_from(&launch.version);
        self.exec.observe_launch(launch);
    }

    fn push(&mut self, input: InputRef<'_>, out: &mut Drafts) {
        match input {
            Input::Sent(line) if self.exec.is_active() => self.exec.push_prompt_line(line),
            Input::Sent(line) => self.handle_sent(line, out),
            Input::Received(line) => self.handle_received(line, out),
            Input::Exit { .. } => {
                self.flush_unanswered_prompts(None, out);
                self.cut_off_turns(out);
                self.is_initialized = false;
                self.reset_process_state();
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
    fn handle_received(&mut self, line: &str, out: &mut Drafts) {
        self.handle_line(Line::classify(line), line, out);
    }

    fn handle_line(&mut self, kind: Line<'_>, line: &str, out: &mut Drafts) {
        match kind {
            Line::Method(method) if method.starts_with(legacy::PREFIX) => self.handle_legacy_event(&method, line, out),
            Line::Method(method) if ServerRequest::TAGS.iter().any(|(tag, _)| *tag == method) => {
                match ServerRequestEnvelope::decode(line) {
                    Ok(decoded) => {
                        self.handle_agent_request(decoded.value, out);
                        report_losses(LOCATION, &decoded.losses, out);
                    }
                    Err(error) => {
                        out.current_session().unparsed(LOCATION, error.to_string(), Some(method.into_owned()));
                    }
                }
            }
            Line::Method(method) => match ServerNotificationEnvelope::decode(line) {
                Ok(decoded) => {
                    if let Some(time) = decoded.value.emitted_at_ms {
                        out.set_payload_time(Timestamp::from_millis(time));
                    }
                    self.handle_notification(decoded.value.message, out);
                    report_losses(LOCATION, &decoded.losses, out);
                }
                Err(error) => out.current_session().unparsed(LOCATION, error.to_string(), Some(method.into_owned())),
            },
            // `codex exec` sends nothing but events, so this is one without its type.
            Line::Response(_) | Line::Invalid(_) if self.exec.is_active() => self.exec.handle_line(line, out),
            Line::Response(envelope) => self.handle_agent_response(&envelope, out),
            Line::PlainResult { id, text } => {
                if !self.handle_plain_result(id, text, out) {
                    self.handle_line(Line::parse(line), line, out);
                }
            }
            Line::ExecEvent => self.exec.handle_line(line, out),
            Line::Invalid(reason) => out.current_session().unparsed(LOCATION, reason, None),
        }
    }

    /// Converts an event of the older protocol. Its parameters are parsed only if no notification carries the same
    /// content; otherwise the line is passed over.
    fn handle_legacy_event(&mut self, method: &str, line: &str, out: &mut Drafts) {
        let envelope = if legacy::has_notices(method) { Envelope::parse(line).ok() } else { None };
        if let Some(params) = envelope.and_then(|envelope| envelope.params) {
            return legacy::handle_event(self, method, params.get(), out);
        }
        match Json::check(line) {
            Ok(()) => legacy::handle_event(self, method, "{}", out),
            Err(error) => out.current_session().unparsed(LOCATION, error.to_string(), Some(method.to_owned())),
        }
    }

    /// Thread with this id, which is added if it is unknown; without an id, the current thread.
    fn thread(&mut self, id: Option<&str>, out: &mut Drafts) -> &mut Thread {
        let index = match id {
            Some(id) => self.threads.find(id).unwrap_or_else(|| self.add_unannounced_thread(id, out)),
            None => self.threads.current(),
        };
        self.threads.get_mut(index)
    }

    /// As [`thread`](Self::thread), for a payload that proves that the model has answered.
    fn answering_thread(&mut self, id: Option<&str>, out: &mut Drafts) -> &mut Thread {
        let thread = self.thread(id, out);
        thread.mark_answered();
        thread
    }

    /// Session of a thread if the thread is known or may be a sub-agent that is being spawned, else the current
    /// session. A notice does not start a session.
    fn known_session<'a>(&mut self, id: Option<&str>, out: &'a mut Drafts) -> SessionDrafts<'a> {
        let known_id =
            id.filter(|id| self.threads.find(id).is_some() || self.threads.with_pending_spawns().next().is_some());
        match known_id {
            Some(id) => self.thread(Some(id), out).session(out),
            None => out.current_session(),
        }
    }

    fn find_thread(&self, id: Option<&str>) -> Option<usize> {
        self.threads.find(id?)
    }

    /// Adds a thread that neither a response nor `thread/started` has announced. It is the sub-agent that a call is
    /// spawning. If there is no such call but one session has a running turn and the host has requested no thread, it
    /// is a sub-agent of that session whose call follows. Otherwise it is a session.
    fn add_unannounced_thread(&mut self, id: &str, out: &mut Drafts) -> usize {
        let mut spawning = self.threads.with_pending_spawns();
        let first = spawning.next().map(|(parent, calls)| (parent.to_owned(), calls.to_vec()));
        let is_only = spawning.next().is_none();
        drop(spawning);
        if let Some((parent, calls)) = first {
            let index = self.add_sub_agent_thread(&parent, id, out);
            if let ([call], true) = (calls.as_slice(), is_only) {
                out.session(id).spawned_by(parent.as_str(), call);
            }
            return index;
        }
        let is_thread_requested = self.host_requests.values().any(|request| request.opens_thread());
        let parent = self
            .threads
            .only_busy_session()
            .filter(|_| self.has_thread_responses && !is_thread_requested)
            .map(str::to_owned);
        match parent {
            Some(parent) => self.add_sub_agent_thread(&parent, id, out),
            None => self.add_session_thread(id),
        }
    }

    /// Adds a thread that is a session.
    fn add_session_thread(&mut self, id: &str) -> usize {
        let index = self.threads.add(id);
        self.threads.set_current(index);
        index
    }

    /// Adds the thread of a sub-agent of `parent`. Its drafts are held back until the spawning call is known.
    fn add_sub_agent_thread(&mut self, parent: &str, child: &str, out: &mut Drafts) -> usize {
        let index = self.threads.add(child);
        let thread = self.threads.get_mut(index);
        thread.is_sub_agent = true;
        thread.mark_maybe_new();
        out.session(child).child_of(parent);
        index
    }

    /// A sub-agent's thread is announced with its parent.
    fn sub_agent_thread_started(&mut self, parent: &str, child: &str, is_fork: bool, out: &mut Drafts) {
        if self.threads.find(child).is_none() {
            let index = self.add_sub_agent_thread(parent, child, out);
            let thread = self.threads.get_mut(index);
            if is_fork {
                thread.mark_continued();
            } else {
                thread.start_usage_at_zero();
            }
        }
        let mut calls =
            self.threads.with_pending_spawns().filter(|(thread, _)| *thread == parent).flat_map(|(_, calls)| calls);
        if let Some(call) = calls.next().filter(|_| calls.next().is_none()).cloned() {
            out.session(child).spawned_by(parent, call);
        }
    }

    /// The tool call with this key and native id spawned this thread.
    fn sub_agent_spawned(&mut self, parent: &str, child: &str, call: &Key, call_id: &str, out: &mut Drafts) {
        let index = self.threads.find(child).unwrap_or_else(|| self.add_sub_agent_thread(parent, child, out));
        self.threads.get_mut(index).spawned_by = Some((call.clone(), call_id.to_owned()));
        out.session(child).spawned_by(parent, call);
    }

    /// Ends the running turns when the agent exits. Codex reports the end of every turn, so a running one was cut off.
    fn cut_off_turns(&mut self, out: &mut Drafts) {
        for thread in self.threads.iter_mut().filter(|thread| thread.is_in_turn()) {
            thread.session(out).turn_cut_off();
        }
        self.exec.cut_off_turn(out);
    }

    /// Forgets what belongs to the process that has exited.
    fn reset_process_state(&mut self) {
        self.agent_requests.clear();
        self.threads.iter_mut().for_each(Thread::reset_process_state);
    }
}
