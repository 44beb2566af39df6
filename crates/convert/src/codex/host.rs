//! What the host asks of the agent, and how the agent answers. Answers are typed by the request they answer.

use interlingua_native::Native as _;
use interlingua_native::codex::{
    AskForApproval, ClientRequest, ClientRequestEnvelope, JsonrpcErrorError, Response, ReviewStartResponse,
    SandboxPolicy, SessionSource, SubAgentSource, Thread as NativeThread, ThreadItem, UserInput,
};
use interlingua_schema::{NativeMetadata, RawJson, SessionMetadata};
use serde::Deserialize;

use super::CodexConverter;
use super::content::{json as to_json, user_parts};
use super::failures::refusal;
use super::notices::{approval, sandbox};
use super::thread::Settings;
use super::wire::Envelope;
use crate::losses::report_losses;
use crate::version::parse_release;
use crate::{Drafts, Key, PromptDraft};

/// So many requests may go unanswered.
const MOST_ASKED: usize = 1024;
/// The first release known to repeat a message that joins a running turn; 0.77 does not.
const REPEATS_WHAT_JOINS: (u64, u64) = (0, 98);
/// The request for a compaction.
const COMPACT: &str = "thread/compact/start";
const ANSWER: &str = "an answer to the host's own request";

/// A request of the host's that is not answered yet.
#[derive(Debug, Default)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) thread: Option<String>,
    /// Its place among all that were sent.
    order: u64,
    /// What the user says with it. It counts when the agent accepts it.
    pub(super) prompt: Option<PromptDraft>,
    /// The prompt's own id.
    prompt_id: String,
    /// The prompt's texts, to know it by if the agent repeats it before it answers.
    text: String,
    /// The prompt's place among all.
    number: u64,
    /// It is to stop the turn that runs.
    interrupts: bool,
    /// What the thread is to work with from now on; absent where it stays as it is.
    settings: Settings,
}

impl Asked {
    /// Whether a thread may begin with the answer.
    pub(super) fn opens_a_thread(&self) -> bool {
        matches!(self.method.as_str(), "thread/start" | "thread/resume" | "thread/fork" | "review/start")
    }
}

/// What an answer tells of a thread beside the thread.
#[derive(Debug, Default)]
pub(super) struct Opening {
    model: Option<String>,
    model_provider: Option<String>,
    cwd: Option<String>,
    approval: Option<AskForApproval>,
    sandbox: Option<SandboxPolicy>,
    effort: Option<String>,
    mode: Option<String>,
    /// Earlier turns are behind it.
    goes_on: bool,
}

/// The opening that an answer tells of. The answers are types of their own that share these fields.
macro_rules! opening {
    ($response:ident, $mode:expr, $goes_on:expr) => {
        Opening {
            model: $response.model,
            model_provider: $response.model_provider,
            cwd: $response.cwd,
            approval: $response.approval_policy,
            sandbox: $response.sandbox,
            effort: $response.reasoning_effort,
            mode: $mode,
            goes_on: $goes_on,
        }
    };
}

impl CodexConverter {
    /// A line of the host's. One that the agent could not read either means nothing.
    pub(super) fn sent(&mut self, line: &str, out: &mut Drafts) {
        let Ok(envelope) = Envelope::read(line) else { return };
        match (&envelope.method, &envelope.id) {
            (Some(method), Some(id)) => {
                let asked = self.asks(method, line, &envelope, out);
                if self.asked.len() >= MOST_ASKED {
                    self.asked.clear();
                }
                self.asked.insert(id.to_string(), Box::new(asked));
            }
            (None, Some(_)) => self.answered(&envelope, out),
            // A notification, which has nothing to say but `initialized`.
            (_, None) => {}
        }
    }

    fn asks(&mut self, method: &str, line: &str, envelope: &Envelope<'_>, out: &mut Drafts) -> Asked {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            thread_id: Option<String>,
        }
        let params = envelope.params.and_then(|params| serde_json::from_str::<Params>(params.get()).ok());
        self.sent += 1;
        let mut asked = Asked {
            method: method.to_owned(),
            thread: params.and_then(|params| params.thread_id),
            order: self.sent,
            ..Asked::default()
        };
        if method == COMPACT
            && let Some(place) = self.known(asked.thread.as_deref())
        {
            self.threads.at(place).compaction_asked = true;
        }
        // The others say nothing that their answers do not.
        if !method.starts_with("turn/") {
            return asked;
        }
        match ClientRequestEnvelope::decode(line).map(|decoded| decoded.value.message) {
            Ok(ClientRequest::TurnStart(params)) => {
                let (mode, of_mode) =
                    params.collaboration_mode.map(|mode| (mode.mode, mode.settings)).unwrap_or_default();
                let of_mode = of_mode.unwrap_or_default();
                asked.settings = Settings {
                    model: of_mode.model.or(params.model),
                    mode: mode.map(|mode| mode.as_str().to_owned()),
                    approval: params.approval_policy.as_ref().map(approval),
                    sandbox: params.sandbox_policy.as_ref().map(sandbox),
                    effort: of_mode.reasoning_effort.or(params.effort),
                };
                self.prompt(&mut asked, params.input, params.client_user_message_id, out.raw());
            }
            Ok(ClientRequest::TurnSteer(params)) => {
                self.prompt(&mut asked, params.input, params.client_user_message_id, out.raw());
            }
            Ok(ClientRequest::TurnInterrupt(params)) => {
                if let Some(place) = self.known(asked.thread.as_deref()) {
                    let thread = self.threads.at(place);
                    // Another turn than the running one is refused.
                    let running = thread.turn.as_ref().map(|turn| turn.id.as_str()).filter(|id| !id.is_empty());
                    if running.is_none() || params.turn_id.is_none() || params.turn_id.as_deref() == running {
                        thread.interrupts += 1;
                        asked.interrupts = true;
                        thread.session(out).interrupt_requested();
                    }
                }
            }
            _ => {}
        }
        asked
    }

    fn prompt(&mut self, asked: &mut Asked, input: Option<Vec<UserInput>>, id: Option<String>, raw: Option<RawJson>) {
        let content = user_parts(input.unwrap_or_default());
        if content.is_empty() {
            return;
        }
        self.prompts += 1;
        asked.number = self.prompts;
        asked.prompt_id = id.unwrap_or_else(|| format!("sent-{}", self.prompts));
        asked.text = content.iter().filter_map(|part| part.streamed_text()).collect();
        asked.prompt = Some(PromptDraft::new(content).expect_echo().id(asked.prompt_id.as_str()).raw(raw));
    }

    /// The agent repeats a prompt before it has answered the request that brought it.
    pub(super) fn prompt_repeated(&mut self, thread: Option<&str>, text: &str) {
        let early = self
            .asked
            .values_mut()
            .filter(|asked| asked.prompt.is_some() && asked.thread.as_deref() == thread && asked.text == text);
        if let Some(asked) = early.min_by_key(|asked| asked.number) {
            asked.prompt = None;
        }
    }

    /// The agent is gone: what the user said stands, though nobody answered. What was sent from `next` on, if a new
    /// one is there, is for that one.
    pub(super) fn unanswered(&mut self, next: Option<u64>, out: &mut Drafts) {
        let is_old = |asked: &Asked| next.is_none_or(|next| asked.order < next);
        let mut unanswered: Vec<Box<Asked>> =
            self.asked.extract_if(|_, asked| is_old(asked)).map(|(_, asked)| asked).collect();
        unanswered.sort_unstable_by_key(|asked| asked.order);
        for asked in unanswered {
            if let (Some(place), Some(prompt)) = (self.known(asked.thread.as_deref()), asked.prompt) {
                self.threads.at(place).session(out).prompt_sent(prompt);
            }
        }
    }

    /// The agent answers in the usual way, which need not be read twice. False if it did something else.
    pub(super) fn usual_answer(&mut self, id: &str, result: &str, out: &mut Drafts) -> bool {
        let method = self.asked.get(id).map(|asked| asked.method.as_str());
        let response = method.and_then(|method| Response::decode(method, result));
        if let Some(Ok(response)) = response
            && let Some(asked) = self.asked.remove(id)
        {
            self.responds(*asked, response.value, out);
            report_losses(super::WHERE, &response.losses, out);
            return true;
        }
        false
    }

    /// The agent answers.
    pub(super) fn answer(&mut self, envelope: &Envelope<'_>, out: &mut Drafts) {
        let asked = envelope.id.as_ref().and_then(|id| self.asked.remove(&id.to_string()));
        if let Some(error) = envelope.error {
            return self.refused(asked.as_deref(), error.get(), out);
        }
        let result = envelope.result.map_or("null", |result| result.get());
        let Some(asked) = asked else {
            // A log of what the agent says alone.
            return if result.contains("\"userAgent\"") { self.initialized(None, out) } else { out.dropped(ANSWER) };
        };
        let response = match Response::decode(&asked.method, result) {
            Some(Ok(decoded)) => decoded,
            Some(Err(error)) => {
                return out.current_session().unparsed(super::WHERE, error.to_string(), Some(asked.method));
            }
            None => return out.dropped(ANSWER),
        };
        self.responds(*asked, response.value, out);
        report_losses(super::WHERE, &response.losses, out);
    }

    fn responds(&mut self, asked: Asked, response: Response, out: &mut Drafts) {
        match response {
            Response::Initialize(_) => self.initialized(Some(asked.order), out),
            Response::ThreadStart(response) => self.opened(response.thread, opening!(response, None, false), out),
            Response::ThreadResume(response) => {
                let mode = response.collaboration_mode.and_then(|mode| mode.mode);
                let mode = mode.map(|mode| mode.as_str().to_owned());
                self.opened(response.thread, opening!(response, mode, true), out);
            }
            Response::ThreadFork(response) => self.opened(response.thread, opening!(response, None, true), out),
            Response::TurnStart(response) => self.accepted(asked, response.turn.map(|turn| turn.id), out),
            Response::TurnSteer(response) => self.accepted(asked, response.turn_id, out),
            Response::ReviewStart(response) => self.review_starts(&asked, *response, out),
            Response::AccountLoginStart(_)
            | Response::ModelList(_)
            | Response::ThreadBackgroundTerminalsClean(_)
            | Response::ThreadCompactStart(_)
            | Response::ThreadUnsubscribe(_)
            | Response::TurnInterrupt(_) => out.dropped(ANSWER),
        }
    }

    /// A request that was refused says nothing about the turn that runs beside it.
    fn refused(&mut self, asked: Option<&Asked>, error: &str, out: &mut Drafts) {
        let error = serde_json::from_str::<JsonrpcErrorError>(error).unwrap_or_default();
        let method = asked.map(|asked| asked.method.as_str());
        let data = error.data.map(|data| data.to_value());
        let failure = refusal(method, error.code, error.message.unwrap_or_default(), data.as_ref());
        let thread = asked.and_then(|asked| asked.thread.as_deref());
        let known = thread.filter(|thread| self.threads.find(thread).is_some());
        out.session_or_current(known).failed(failure.outside_turn());
        if let Some(place) = self.known(known).filter(|_| method == Some(COMPACT)) {
            self.threads.at(place).compaction_asked = false;
        }
        if let Some(place) = self.known(known).filter(|_| asked.is_some_and(|asked| asked.interrupts)) {
            let thread = self.threads.at(place);
            thread.interrupts = thread.interrupts.saturating_sub(1);
            if thread.interrupts == 0 {
                thread.session(out).interrupt_rejected();
            }
        }
    }

    /// A process introduces itself, as the host asked in its request number `asked`. The second one that does is a new
    /// one.
    fn initialized(&mut self, asked: Option<u64>, out: &mut Drafts) {
        if std::mem::replace(&mut self.initialized, true) {
            self.unanswered(asked, out);
            out.process_restarted();
            self.process_gone();
        } else {
            out.dropped(ANSWER);
        }
    }

    /// A thread was started, resumed or forked. Its earlier turns stand in the answer; they are not new.
    fn opened(&mut self, thread: Option<NativeThread>, opening: Opening, out: &mut Drafts) {
        self.tells_of_threads = true;
        match thread {
            Some(thread) => self.thread_begins(thread, Some(opening), out),
            None => out.dropped(ANSWER),
        }
    }

    /// A thread is told of, in an answer or by itself.
    pub(super) fn thread_begins(&mut self, thread: NativeThread, opening: Option<Opening>, out: &mut Drafts) {
        let known = self.threads.find(&thread.id);
        if opening.is_none()
            && let Some(parent) = parent(&thread)
        {
            return self.child(&parent, &thread.id, thread.forked_from_id.is_some(), out);
        }
        let opening = opening.unwrap_or_default();
        let place = known.unwrap_or_else(|| self.threads.begin(&thread.id));
        self.threads.set_current(place);
        let version = thread.cli_version.clone().or_else(|| self.version.clone());
        let state = self.threads.at(place);
        let goes_on = opening.goes_on || thread.forked_from_id.is_some();
        if known.is_none() && !goes_on {
            state.begins();
        }
        state.settings.model = opening.model.or(thread.model).or(state.settings.model.take());
        state.settings.effort = opening.effort.or(thread.reasoning_effort).or(state.settings.effort.take());
        state.settings.approval = opening.approval.as_ref().map(approval).or(state.settings.approval.take());
        state.settings.sandbox = opening.sandbox.as_ref().map(sandbox).or(state.settings.sandbox.take());
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

    /// The agent takes what the user said. In a turn that already runs, it is said into that.
    fn accepted(&mut self, asked: Asked, turn: Option<String>, out: &mut Drafts) {
        let Some(thread) = asked.thread else { return out.dropped(ANSWER) };
        // A version that is not known is taken to.
        let repeats =
            self.version.as_deref().and_then(parse_release).is_none_or(|release| release >= REPEATS_WHAT_JOINS);
        let thread = self.on(Some(&thread), out);
        thread.next = asked.settings;
        let Some(prompt) = asked.prompt else { return out.dropped(ANSWER) };
        let mut joins = None;
        // What comes late from a turn that is over makes no turn that could be joined.
        if let Some(running) = thread.turn.as_mut().filter(|turn| !turn.id.is_empty()) {
            joins = Some(Key::from(&asked.prompt_id));
            running.steers.push(asked.prompt_id);
            running.steered.extend(turn.filter(|turn| *turn != running.id));
        }
        let mut session = thread.session(out);
        session.prompt_sent(prompt);
        if let Some(prompt) = joins.filter(|_| !repeats) {
            session.prompt_accepted(Some(prompt));
        }
    }

    /// A review begins, with words for what is to be reviewed.
    fn review_starts(&mut self, asked: &Asked, response: ReviewStartResponse, out: &mut Drafts) {
        let thread = response.review_thread_id.or_else(|| asked.thread.clone());
        let items = response.turn.and_then(|turn| turn.items).unwrap_or_default();
        let words = items.into_iter().find_map(|item| match item {
            ThreadItem::UserMessage(item) => item.content,
            _ => None,
        });
        match words {
            Some(words) if !words.is_empty() => {
                // A review may have a thread of its own, which the host asked for.
                if let Some(thread) = thread.as_deref().filter(|thread| self.threads.find(thread).is_none()) {
                    self.own(thread);
                }
                let thread = self.on(thread.as_deref(), out);
                thread.session(out).prompt_sent(PromptDraft::new(user_parts(words)).expect_echo());
            }
            _ => out.dropped(ANSWER),
        }
    }
}

/// The thread that a sub-agent's thread works for.
fn parent(thread: &NativeThread) -> Option<String> {
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
