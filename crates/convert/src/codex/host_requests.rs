//! Requests of the host and the agent's responses. The method of a request determines the type of its response.

use interlingua_native::Native as _;
use interlingua_native::codex::{
    AskForApproval, ClientRequest, ClientRequestEnvelope, JsonrpcErrorError, Response, ReviewStartResponse,
    SandboxPolicy, SessionSource, SubAgentSource, Thread as NativeThread, ThreadItem, UserInput,
};
use interlingua_schema::{NativeMetadata, RawJson, SessionMetadata};
use serde::Deserialize;

use super::CodexConverter;
use super::content::{to_json, user_parts};
use super::failures::refused_request;
use super::notices::{approval_name, sandbox_name};
use super::thread::Settings;
use super::wire::Envelope;
use crate::drop_reason::HOST_RESPONSE;
use crate::losses::report_losses;
use crate::version::parse_release;
use crate::{Drafts, Key, PromptDraft};

/// Number of requests that may be without a response.
const MAX_PENDING_HOST_REQUESTS: usize = 1024;
/// First release known to echo a prompt that joins a running turn. 0.77 does not.
const FIRST_RELEASE_ECHOING_STEERED_PROMPTS: (u64, u64) = (0, 98);
/// Method that requests a compaction.
const COMPACT_METHOD: &str = "thread/compact/start";

/// A request of the host without a response.
#[derive(Debug, Default)]
pub(super) struct HostRequest {
    pub(super) method: String,
    pub(super) thread: Option<String>,
    /// Position among all sent requests.
    order: u64,
    /// Prompt that the request carries. It is drafted when the agent accepts the request.
    pub(super) prompt: Option<PromptDraft>,
    prompt_id: String,
    /// Text of the prompt, to recognise an echo that comes before the response.
    prompt_text: String,
    /// Position of the prompt among all prompts.
    prompt_number: u64,
    /// The request interrupts the running turn.
    is_interrupt: bool,
    /// Settings that the request changes. Absent values stay as they are.
    settings: Settings,
}

impl HostRequest {
    /// Whether the response may start a thread.
    pub(super) fn opens_thread(&self) -> bool {
        matches!(self.method.as_str(), "thread/start" | "thread/resume" | "thread/fork" | "review/start")
    }
}

/// Fields beside the thread in a response that opens one.
#[derive(Debug, Default)]
pub(super) struct ThreadOpening {
    model: Option<String>,
    model_provider: Option<String>,
    cwd: Option<String>,
    approval: Option<AskForApproval>,
    sandbox: Option<SandboxPolicy>,
    effort: Option<String>,
    mode: Option<String>,
    /// The thread has earlier turns.
    is_continued: bool,
}

/// Builds a `ThreadOpening` from one of the response types, which share these fields.
macro_rules! thread_opening {
    ($response:ident, $mode:expr, $is_continued:expr) => {
        ThreadOpening {
            model: $response.model,
            model_provider: $response.model_provider,
            cwd: $response.cwd,
            approval: $response.approval_policy,
            sandbox: $response.sandbox,
            effort: $response.reasoning_effort,
            mode: $mode,
            is_continued: $is_continued,
        }
    };
}

impl CodexConverter {
    /// Converts a line that the host sent. An invalid line is ignored, because the agent ignores it too.
    pub(super) fn handle_sent(&mut self, line: &str, out: &mut Drafts) {
        let Ok(envelope) = Envelope::parse(line) else { return };
        match (&envelope.method, &envelope.id) {
            (Some(method), Some(id)) => {
                let request = self.handle_host_request(method, line, &envelope, out);
                if self.host_requests.len() >= MAX_PENDING_HOST_REQUESTS {
                    self.host_requests.clear();
                }
                self.host_requests.insert(id.to_string(), Box::new(request));
            }
            (None, Some(_)) => self.handle_host_response(&envelope, out),
            // The only notification of the host is `initialized`, which carries nothing.
            (_, None) => {}
        }
    }

    fn handle_host_request(
        &mut self,
        method: &str,
        line: &str,
        envelope: &Envelope<'_>,
        out: &mut Drafts,
    ) -> HostRequest {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            thread_id: Option<String>,
        }
        let params = envelope.params.and_then(|params| serde_json::from_str::<Params>(params.get()).ok());
        self.sent_requests += 1;
        let mut request = HostRequest {
            method: method.to_owned(),
            thread: params.and_then(|params| params.thread_id),
            order: self.sent_requests,
            ..HostRequest::default()
        };
        if method == COMPACT_METHOD
            && let Some(index) = self.find_thread(request.thread.as_deref())
        {
            self.threads.get_mut(index).compaction_requested = true;
        }
        // The responses to the other requests repeat everything that matters.
        if !method.starts_with("turn/") {
            return request;
        }
        match ClientRequestEnvelope::decode(line).map(|decoded| decoded.value.message) {
            Ok(ClientRequest::TurnStart(params)) => {
                let (mode, mode_settings) =
                    params.collaboration_mode.map(|mode| (mode.mode, mode.settings)).unwrap_or_default();
                let mode_settings = mode_settings.unwrap_or_default();
                request.settings = Settings {
                    model: mode_settings.model.or(params.model),
                    mode: mode.map(|mode| mode.as_str().to_owned()),
                    approval: params.approval_policy.as_ref().map(approval_name),
                    sandbox: params.sandbox_policy.as_ref().map(sandbox_name),
                    effort: mode_settings.reasoning_effort.or(params.effort),
                };
                self.set_prompt(&mut request, params.input, params.client_user_message_id, out.raw());
            }
            Ok(ClientRequest::TurnSteer(params)) => {
                self.set_prompt(&mut request, params.input, params.client_user_message_id, out.raw());
            }
            Ok(ClientRequest::TurnInterrupt(params)) => {
                if let Some(index) = self.find_thread(request.thread.as_deref()) {
                    let thread = self.threads.get_mut(index);
                    // The agent refuses an interrupt of any other turn.
                    let running = thread.turn.as_ref().map(|turn| turn.id.as_str()).filter(|id| !id.is_empty());
                    if running.is_none() || params.turn_id.is_none() || params.turn_id.as_deref() == running {
                        thread.pending_interrupts += 1;
                        request.is_interrupt = true;
                        thread.session(out).interrupt_requested();
                    }
                }
            }
            _ => {}
        }
        request
    }

    fn set_prompt(
        &mut self,
        request: &mut HostRequest,
        input: Option<Vec<UserInput>>,
        id: Option<String>,
        raw: Option<RawJson>,
    ) {
        let content = user_parts(input.unwrap_or_default());
        if content.is_empty() {
            return;
        }
        self.sent_prompts += 1;
        request.prompt_number = self.sent_prompts;
        request.prompt_id = id.unwrap_or_else(|| format!("sent-{}", self.sent_prompts));
        request.prompt_text = content.iter().filter_map(|part| part.streamed_text()).collect();
        request.prompt = Some(PromptDraft::new(content).expect_echo().id(request.prompt_id.as_str()).raw(raw));
    }

    /// Drops the prompt of a pending request because the agent has echoed it before responding.
    pub(super) fn drop_echoed_prompt(&mut self, thread: Option<&str>, text: &str) {
        let early = self.host_requests.values_mut().filter(|request| {
            request.prompt.is_some() && request.thread.as_deref() == thread && request.prompt_text == text
        });
        if let Some(request) = early.min_by_key(|request| request.prompt_number) {
            request.prompt = None;
        }
    }

    /// Drafts the prompts of pending requests when the agent is gone: they stay part of the conversation without an
    /// answer. Requests from `before` on were sent to the next process and stay pending.
    pub(super) fn flush_unanswered_prompts(&mut self, before: Option<u64>, out: &mut Drafts) {
        let is_old = |request: &HostRequest| before.is_none_or(|before| request.order < before);
        let mut unanswered: Vec<Box<HostRequest>> =
            self.host_requests.extract_if(|_, request| is_old(request)).map(|(_, request)| request).collect();
        unanswered.sort_unstable_by_key(|request| request.order);
        for request in unanswered {
            if let (Some(index), Some(prompt)) = (self.find_thread(request.thread.as_deref()), request.prompt) {
                self.threads.get_mut(index).session(out).prompt_sent(prompt);
            }
        }
    }

    /// Handles a response in the normal form without parsing the line again. Returns false if that is not possible.
    pub(super) fn handle_plain_result(&mut self, id: &str, result: &str, out: &mut Drafts) -> bool {
        let method = self.host_requests.get(id).map(|request| request.method.as_str());
        let response = method.and_then(|method| Response::decode(method, result));
        if let Some(Ok(response)) = response
            && let Some(request) = self.host_requests.remove(id)
        {
            self.apply_response(*request, response.value, out);
            report_losses(super::LOCATION, &response.losses, out);
            return true;
        }
        false
    }

    /// Handles a response of the agent.
    pub(super) fn handle_agent_response(&mut self, envelope: &Envelope<'_>, out: &mut Drafts) {
        let request = envelope.id.as_ref().and_then(|id| self.host_requests.remove(&id.to_string()));
        if let Some(error) = envelope.error {
            return self.request_refused(request.as_deref(), error.get(), out);
        }
        let result = envelope.result.map_or("null", |result| result.get());
        let Some(request) = request else {
            // The log contains no requests, only what the agent sent.
            return if result.contains("\"userAgent\"") {
                self.process_initialized(None, out);
            } else {
                out.dropped(HOST_RESPONSE);
            };
        };
        let response = match Response::decode(&request.method, result) {
            Some(Ok(decoded)) => decoded,
            Some(Err(error)) => {
                return out.current_session().unparsed(super::LOCATION, error.to_string(), Some(request.method));
            }
            None => return out.dropped(HOST_RESPONSE),
        };
        self.apply_response(*request, response.value, out);
        report_losses(super::LOCATION, &response.losses, out);
    }

    fn apply_response(&mut self, request: HostRequest, response: Response, out: &mut Drafts) {
        match response {
            Response::Initialize(_) => self.process_initialized(Some(request.order), out),
            Response::ThreadStart(response) => {
                self.thread_opened(response.thread, thread_opening!(response, None, false), out);
            }
            Response::ThreadResume(response) => {
                let mode = response.collaboration_mode.and_then(|mode| mode.mode);
                let mode = mode.map(|mode| mode.as_str().to_owned());
                self.thread_opened(response.thread, thread_opening!(response, mode, true), out);
            }
            Response::ThreadFork(response) => {
                self.thread_opened(response.thread, thread_opening!(response, None, true), out);
            }
            Response::TurnStart(response) => self.prompt_accepted(request, response.turn.map(|turn| turn.id), out),
            Response::TurnSteer(response) => self.prompt_accepted(request, response.turn_id, out),
            Response::ReviewStart(response) => self.review_started(&request, *response, out),
            Response::AccountLoginStart(_)
            | Response::ModelList(_)
            | Response::ThreadBackgroundTerminalsClean(_)
            | Response::ThreadCompactStart(_)
            | Response::ThreadUnsubscribe(_)
            | Response::TurnInterrupt(_) => out.dropped(HOST_RESPONSE),
        }
    }

    /// Reports a request that the agent refused. It does not affect a running turn.
    fn request_refused(&mut self, request: Option<&HostRequest>, error: &str, out: &mut Drafts) {
        let error = serde_json::from_str::<JsonrpcErrorError>(error).unwrap_or_default();
        let method = request.map(|request| request.method.as_str());
        let data = error.data.map(|data| data.to_value());
        let failure = refused_request(method, error.code, error.message.unwrap_or_default(), data.as_ref());
        let thread = request.and_then(|request| request.thread.as_deref());
        let known = thread.filter(|thread| self.threads.find(thread).is_some());
        out.session_or_current(known).failed(failure.outside_turn());
        if let Some(index) = self.find_thread(known).filter(|_| method == Some(COMPACT_METHOD)) {
            self.threads.get_mut(index).compaction_requested = false;
        }
        if let Some(index) = self.find_thread(known).filter(|_| request.is_some_and(|request| request.is_interrupt)) {
            let thread = self.threads.get_mut(index);
            thread.pending_interrupts = thread.pending_interrupts.saturating_sub(1);
            if thread.pending_interrupts == 0 {
                thread.session(out).interrupt_rejected();
            }
        }
    }

    /// A process answers `initialize`, the request with this `order`. Each answer after the first comes from a new
    /// process.
    fn process_initialized(&mut self, order: Option<u64>, out: &mut Drafts) {
        if std::mem::replace(&mut self.is_initialized, true) {
            self.flush_unanswered_prompts(order, out);
            out.process_restarted();
            self.reset_process_state();
        } else {
            out.dropped(HOST_RESPONSE);
        }
    }

    /// A thread was started, resumed or forked. The turns in the response are history and are not converted.
    fn thread_opened(&mut self, thread: Option<NativeThread>, opening: ThreadOpening, out: &mut Drafts) {
        self.has_thread_responses = true;
        match thread {
            Some(thread) => self.start_thread(thread, Some(opening), out),
            None => out.dropped(HOST_RESPONSE),
        }
    }

    /// Starts the session of a thread that a response or `thread/started` announces.
    pub(super) fn start_thread(&mut self, thread: NativeThread, opening: Option<ThreadOpening>, out: &mut Drafts) {
        let known = self.threads.find(&thread.id);
        if opening.is_none()
            && let Some(parent) = parent_thread_id(&thread)
        {
            return self.sub_agent_thread_started(&parent, &thread.id, thread.forked_from_id.is_some(), out);
        }
        let opening = opening.unwrap_or_default();
        let index = known.unwrap_or_else(|| self.threads.add(&thread.id));
        self.threads.set_current(index);
        let version = thread.cli_version.clone().or_else(|| self.version.clone());
        let state = self.threads.get_mut(index);
        let is_continued = opening.is_continued || thread.forked_from_id.is_some();
        if known.is_none() && !is_continued {
            state.start_usage_at_zero();
        }
        state.settings.model = opening.model.or(thread.model).or(state.settings.model.take());
        state.settings.effort = opening.effort.or(thread.reasoning_effort).or(state.settings.effort.take());
        state.settings.approval = opening.approval.as_ref().map(approval_name).or(state.settings.approval.take());
        state.settings.sandbox = opening.sandbox.as_ref().map(sandbox_name).or(state.settings.sandbox.take());
        state.settings.mode = opening.mode.or(state.settings.mode.take());
        let mut metadata = SessionMetadata::default();
        metadata.agent_version = version;
        metadata.model.clone_from(&state.settings.model);
        metadata.cwd = opening.cwd.or(thread.cwd);
        metadata.agent_mode.clone_from(&state.settings.mode);
        metadata.permission_mode = state.settings.permission_mode();
        metadata.forked_from = thread.forked_from_id;
        let native = NativeMetadata::new()
            .with("approval_policy", state.settings.approval.clone())
            .with("model_provider", opening.model_provider.or(thread.model_provider))
            .with("name", thread.name)
            .with("reasoning_effort", state.settings.effort.clone())
            .with("sandbox", state.settings.sandbox.clone());
        metadata.native = native.non_empty();
        state.session(out).started(metadata);
    }

    /// The agent accepts a prompt, which joins the running turn if there is one.
    fn prompt_accepted(&mut self, request: HostRequest, turn: Option<String>, out: &mut Drafts) {
        let Some(thread) = request.thread else { return out.dropped(HOST_RESPONSE) };
        // An unknown version is assumed to echo.
        let echoes = self
            .version
            .as_deref()
            .and_then(parse_release)
            .is_none_or(|release| release >= FIRST_RELEASE_ECHOING_STEERED_PROMPTS);
        let thread = self.thread(Some(&thread), out);
        thread.next_settings = request.settings;
        let Some(prompt) = request.prompt else { return out.dropped(HOST_RESPONSE) };
        let mut joining_prompt = None;
        // A turn without an id was created by late payloads of an earlier turn. A prompt cannot join it.
        if let Some(running) = thread.turn.as_mut().filter(|turn| !turn.id.is_empty()) {
            joining_prompt = Some(Key::from(&request.prompt_id));
            running.steered_prompts.push(request.prompt_id);
            running.phantom_turn_ids.extend(turn.filter(|turn| *turn != running.id));
        }
        let mut session = thread.session(out);
        session.prompt_sent(prompt);
        if let Some(prompt) = joining_prompt.filter(|_| !echoes) {
            session.prompt_accepted(Some(prompt));
        }
    }

    /// A review starts. The response describes what is reviewed.
    fn review_started(&mut self, request: &HostRequest, response: ReviewStartResponse, out: &mut Drafts) {
        let thread = response.review_thread_id.or_else(|| request.thread.clone());
        let items = response.turn.and_then(|turn| turn.items).unwrap_or_default();
        let content = items.into_iter().find_map(|item| match item {
            ThreadItem::UserMessage(item) => item.content,
            _ => None,
        });
        match content {
            Some(content) if !content.is_empty() => {
                // A review may have its own thread, which the host requested.
                if let Some(thread) = thread.as_deref().filter(|thread| self.threads.find(thread).is_none()) {
                    self.add_session_thread(thread);
                }
                let thread = self.thread(thread.as_deref(), out);
                thread.session(out).prompt_sent(PromptDraft::new(user_parts(content)).expect_echo());
            }
            _ => out.dropped(HOST_RESPONSE),
        }
    }
}

/// Id of the parent thread, if this is the thread of a sub-agent.
fn parent_thread_id(thread: &NativeThread) -> Option<String> {
    if let Some(parent) = &thread.parent_thread_id {
        return Some(parent.clone());
    }
    match &thread.source {
        Some(SessionSource::Object(source)) => match &source.sub_agent {
            Some(SubAgentSource::Object(source)) => source.thread_spawn.as_ref()?.parent_thread_id.clone(),
            _ => None,
        },
        Some(SessionSource::Unknown(json)) => {
            let source = to_json(json);
            Some(source.pointer("/subAgent/thread_spawn/parent_thread_id")?.as_str()?.to_owned())
        }
        _ => None,
    }
}
