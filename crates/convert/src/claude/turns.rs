//! Turns: `system/init` begins one, `result` ends it.

use std::hash::{DefaultHasher, Hash, Hasher};

use interlingua_native::claude::{
    ApiKeySource, ConversationResetMessage, PermissionDenial, ResultError, ResultErrorSubtype, ResultSuccess,
    StdoutMessage, SystemMessage, SystemMessageMcpServersItem, TerminalReason,
};
use interlingua_native::{Json, Native as _};
use interlingua_schema::{McpServerInfo, NativeMetadata, SessionMetadata, StopReason, TurnMetadata, TurnStatus};
use serde_json::{Number, Value, json};

use super::system::mode_name;
use super::{ClaudeConverter, HERE, failures, whole};
use crate::version::parse_release;
use crate::{Drafts, Failure, MessageDraft, MessageEnd, Note, TurnEnd};

/// The agent's note to its makers, which stands among the errors of a turn that was cut off.
const DIAGNOSTIC: &str = "[ede_diagnostic]";

/// So much of what was said in a turn is remembered.
const MAX_SAID: usize = 1024;

/// How far a turn is.
#[derive(Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Over,
    /// Something of it came before its `init`.
    Early,
    Begun,
}

/// What is known of the running turn.
#[derive(Debug, Default)]
pub(super) struct Turn {
    phase: Phase,
    /// Hashes of what the agent said in it, and of the failures it told of.
    said: Vec<u64>,
    complaints: Vec<u64>,
    /// An answer was cut off because it was too long.
    hit_token_limit: bool,
    /// The text of the message that was said last.
    last: String,
    last_message: Option<String>,
    /// The message that the agent began last.
    message: Option<String>,
    /// The host asked for an interrupt, or the agent says that there was one.
    interrupted: bool,
    /// A reset ended it, and its `init` and `result` may still come.
    was_reset: bool,
    /// What the `init` after a reset says, until the model answers: then it was of another turn.
    after_reset: Option<Box<TurnMetadata>>,
}

impl Turn {
    pub(super) fn is_running(&self) -> bool {
        self.phase != Phase::Over
    }

    /// Whether its `init` has come.
    pub(super) fn has_begun(&self) -> bool {
        self.phase == Phase::Begun
    }

    /// Whether a reset ended it, so that another session follows.
    pub(super) fn was_reset(&self) -> bool {
        self.was_reset
    }

    /// The host asks for an interrupt, or the agent says that there was one. Older versions do not say so in the
    /// `result`.
    pub(super) fn interrupted(&mut self) {
        self.interrupted = true;
    }

    /// The agent refuses to be interrupted.
    pub(super) fn not_interrupted(&mut self) {
        self.interrupted = false;
    }

    /// The agent says something in this message: whether the message is another one than before.
    fn is_new_message(&mut self, message: Option<&str>) -> bool {
        let is_new = message.is_some() && self.message.as_deref() != message;
        if is_new {
            self.message = message.map(str::to_owned);
        }
        is_new
    }

    /// The agent said this.
    pub(super) fn said(&mut self, text: &str) {
        if self.said.len() == MAX_SAID {
            self.said.remove(0);
        }
        self.said.push(hash(text));
    }

    /// The agent said this in a message that may have more blocks.
    pub(super) fn said_in(&mut self, message: Option<&str>, text: &str) {
        self.said(text);
        if self.last_message.as_deref() != message || message.is_none() {
            self.last.clear();
            self.last_message = message.map(str::to_owned);
        }
        self.last.push_str(text);
    }

    /// The agent told of a failure in these words, perhaps that the answer was too long.
    pub(super) fn complained(&mut self, words: &str, is_token_limit: bool) {
        self.complaints.push(hash(words));
        self.hit_token_limit |= is_token_limit;
    }

    fn has_said(&self, text: &str) -> bool {
        self.said.contains(&hash(text)) || self.last.contains(text.trim())
    }

    fn has_complained(&self, words: &str) -> bool {
        self.complaints.contains(&hash(words))
    }
}

impl ClaudeConverter {
    pub(super) fn init(&mut self, mut init: SystemMessage, out: &mut Drafts) {
        let is_new = init.session_id.is_some() && init.session_id != self.session;
        let mode = init.permission_mode.as_ref().map(mode_name);
        let mut changes = Vec::new();
        if is_new {
            self.settings.begin(init.model.as_deref(), mode);
        } else {
            changes.extend(self.settings.model_in_use(init.model.as_deref()));
            changes.extend(self.settings.mode_in_use(mode));
        }
        let merges = joins_queued_prompts(init.claude_code_version.as_deref());
        let lacking = lacking_since_2_1(&init);
        self.settings.hides_version = init.claude_code_version.is_none();
        let mut turn = turn_metadata(&mut init);
        // What was sent to the session before this one is for this one.
        let moved = if is_new && self.session.is_some() { self.prompts.waiting() } else { Vec::new() };
        for (key, _) in &moved {
            out.session_or_current(self.session.as_deref()).prompt_rejected(key.clone());
        }
        let mut session = match init.session_id.as_deref() {
            Some(id) => out.session(id),
            None => out.current_session(),
        };
        if is_new {
            self.session.clone_from(&init.session_id);
            // The session's start says the rest of what its first turn begins with.
            let first = TurnMetadata::new().model(turn.model.clone());
            session.started(session_metadata(std::mem::replace(&mut turn, first), init));
        }
        if let Some(lacking) = lacking {
            session.unparsed(HERE, format!("SystemMessage lacks {lacking}"), Some("system/init".to_owned()));
        }
        for (_, prompt) in moved {
            session.prompt_sent(prompt);
        }
        // The command that reset the conversation has an `init` of its own, and no answer follows it.
        if self.turn.was_reset && !self.prompts.are_waiting() {
            self.turn.after_reset = Some(Box::new(turn));
            return out.dropped("init of a turn that a reset has ended");
        }
        if self.turn.phase == Phase::Early {
            self.turn.phase = Phase::Begun;
            if changes.is_empty() {
                return out.dropped("init of a turn that has begun");
            }
        } else {
            let interrupted = self.turn.interrupted && self.prompts.are_waiting();
            self.turn = Turn { phase: Phase::Begun, interrupted, ..Turn::default() };
            session.turn_started(None, turn);
            for prompt in self.prompts.turn_begins(merges) {
                session.prompt_accepted(Some(prompt));
            }
        }
        for note in changes {
            session.note(note);
        }
    }

    /// Something that a prompt asked for comes before the turn's `init`, as a compaction does.
    pub(super) fn begin_early(&mut self, native: Option<&str>, out: &mut Drafts) {
        if !self.turn.is_running() && self.prompts.are_waiting() {
            self.turn.phase = Phase::Early;
            self.prompts.turn_begins(false);
            self.open(out, native).synthetic().turn_started(None, TurnMetadata::default());
        }
    }

    /// Prompts that the agent says it answers, inside the running turn.
    pub(super) fn taken_up(&mut self, uuids: &[impl AsRef<str>], out: &mut Drafts) {
        if self.turn.has_begun() {
            for prompt in uuids.iter().filter_map(|uuid| self.prompts.taken(uuid.as_ref())) {
                out.current_session().prompt_accepted(Some(prompt));
            }
        }
    }

    /// The agent asks the model, with what was sent while a tool ran.
    pub(super) fn request_begins(&mut self, out: &mut Drafts) {
        if self.turn.has_begun() {
            for prompt in self.prompts.request_begins() {
                out.current_session().prompt_accepted(Some(prompt));
            }
        }
    }

    /// The model answers in this message. One that is new is the answer to a new request.
    pub(super) fn message_begins(&mut self, message: Option<&str>, out: &mut Drafts) {
        if let Some(turn) = self.turn.after_reset.take() {
            self.turn = Turn { phase: Phase::Begun, ..Turn::default() };
            out.current_session().turn_started(None, *turn);
        }
        if self.turn.is_new_message(message) {
            self.request_begins(out);
        }
    }

    pub(super) fn result_success(&mut self, result: ResultSuccess, out: &mut Drafts) {
        self.expect_model_usage(result.model_usage.is_some(), "result/success", out);
        let words = result.result.unwrap_or_default();
        // An outcome that is not told is no success.
        let failed = result.is_error != Some(false);
        let interrupted = was_interrupted(result.terminal_reason.as_ref()) || (failed && self.turn.interrupted);
        let ending = Ending {
            session: result.session_id,
            status: match (interrupted, failed) {
                (true, _) => TurnStatus::Interrupted,
                (false, true) => TurnStatus::Failed,
                (false, false) => TurnStatus::Completed,
            },
            prompts: result.user_message_uuids.unwrap_or_default(),
        };
        let usage = self.meter.turn(
            result.usage.as_ref(),
            result.model_usage.as_ref(),
            result.total_cost_usd.as_ref(),
            self.settings.model(),
        );
        let is_local = whole(result.num_turns.as_ref()) == Some(0);
        let stop_reason = match result.stop_reason.as_deref() {
            // Older versions do not say why a turn that went well is over.
            None if ending.status == TurnStatus::Completed && !is_local => Some(StopReason::EndTurn),
            _ if failed && self.turn.hit_token_limit => Some(StopReason::MaxTokens),
            reason => stop_reason(reason, &ending.status),
        };
        let native = NativeMetadata::new()
            .with("terminal_reason", result.terminal_reason.as_ref().map(TerminalReason::as_str))
            .with("origin", result.origin.and_then(|origin| serde_json::to_value(origin).ok()))
            .with("local_command", result.local_command)
            .with("structured_output", result.structured_output.as_ref().map(Json::to_value))
            .with("permission_denials", denials(result.permission_denials))
            .with("deferred_tool_use", result.deferred_tool_use.and_then(|tool| serde_json::to_value(tool).ok()));
        let end =
            TurnEnd { usage, stop_reason, native, ..turn_end(ending.status.clone(), result.duration_ms.as_ref()) };
        let kind = failures::Kind {
            api_type: result.api_error_type.as_deref(),
            status: whole(result.api_error_status.as_ref()),
            terminal: result.terminal_reason.as_ref(),
            ..failures::Kind::default()
        };
        let is_answer = !words.trim().is_empty() && result.structured_output.is_none();
        let closing = if failed && !interrupted {
            (!self.turn.has_complained(&words)).then(|| Closing::Failure(kind.failure(words)))
        } else if is_answer && !interrupted && !self.turn.has_said(&words) {
            Some(Closing::Answer(words))
        } else {
            None
        };
        self.end(&ending, end, closing, out);
    }

    /// Every version that tells its version tells what each model used.
    fn expect_model_usage(&self, is_told: bool, native_type: &str, out: &mut Drafts) {
        if !is_told && !self.settings.hides_version {
            out.current_session().unparsed(HERE, "the result lacks `modelUsage`", Some(native_type.to_owned()));
        }
    }

    pub(super) fn result_error(&mut self, result: ResultError, out: &mut Drafts) {
        self.expect_model_usage(result.model_usage.is_some(), "result/error", out);
        let interrupted = was_interrupted(result.terminal_reason.as_ref()) || self.turn.interrupted;
        let ending = Ending {
            session: result.session_id,
            status: if interrupted { TurnStatus::Interrupted } else { TurnStatus::Failed },
            prompts: result.user_message_uuids.unwrap_or_default(),
        };
        let usage = self.meter.turn(
            result.usage.as_ref(),
            result.model_usage.as_ref(),
            result.total_cost_usd.as_ref(),
            self.settings.model(),
        );
        let stop_reason = stop_reason(result.stop_reason.as_deref(), &ending.status);
        let native = NativeMetadata::new()
            .with("subtype", result.subtype.as_ref().map(ResultErrorSubtype::as_str))
            .with("terminal_reason", result.terminal_reason.as_ref().map(TerminalReason::as_str))
            .with("origin", result.origin.and_then(|origin| serde_json::to_value(origin).ok()))
            .with("permission_denials", denials(result.permission_denials));
        let end =
            TurnEnd { usage, stop_reason, native, ..turn_end(ending.status.clone(), result.duration_ms.as_ref()) };
        let kind = failures::Kind {
            api_type: result.api_error_type.as_deref(),
            terminal: result.terminal_reason.as_ref(),
            startup: result.startup_failure_reason.as_ref(),
            subtype: result.subtype.as_ref().map(ResultErrorSubtype::as_str),
            is_limit: matches!(
                result.subtype,
                Some(ResultErrorSubtype::ErrorMaxTurns | ResultErrorSubtype::ErrorMaxBudgetUsd)
            ),
            ..failures::Kind::default()
        };
        let words = words(result.errors.unwrap_or_default(), result.subtype.as_ref());
        let is_news = !interrupted && !self.turn.has_complained(&words);
        let closing = is_news.then(|| Closing::Failure(kind.failure(words)));
        self.end(&ending, end, closing, out);
    }

    /// A `result` whose subtype is not known ends the turn, and not as a success.
    pub(super) fn unknown_result(&mut self, tag: String, raw: &Json, out: &mut Drafts) {
        let mut line = raw.to_value();
        let subtype = tag.strip_prefix("result/").map(|subtype| ResultErrorSubtype::Unknown(subtype.to_owned()));
        out.current_session().unparsed(HERE, "unknown type", Some(tag));
        let words = line.get("result").and_then(Value::as_str).map(str::to_owned);
        if let Some(fields) = line.as_object_mut() {
            fields.insert("subtype".to_owned(), json!("error_during_execution"));
        }
        let decoded = StdoutMessage::decode(&line.to_string()).map(|decoded| decoded.value);
        if let Ok(StdoutMessage::ResultError(mut result)) = decoded {
            result.subtype = subtype;
            result.errors = result.errors.take().or(words.map(|words| vec![words]));
            self.result_error(*result, out);
        }
    }

    fn end(&mut self, ending: &Ending, end: TurnEnd, closing: Option<Closing>, out: &mut Drafts) {
        if self.turn.was_reset && closing.is_none() {
            self.turn = Turn::default();
            return out.dropped("result of a turn that a reset has ended");
        }
        if self.turn.is_running() {
            self.taken_up(&ending.prompts, out);
        } else {
            self.prompts.turn_begins(false);
            let mut session = self.open(out, ending.session.as_deref()).synthetic();
            session.turn_started(None, TurnMetadata::default());
        }
        let key = self.new_key();
        let mut session = self.open(out, ending.session.as_deref());
        self.streams.close_all(&mut session);
        self.end_compaction_of_turn(ending.session.as_deref(), out);
        let mut session = self.open(out, ending.session.as_deref());
        match closing {
            Some(Closing::Failure(failure)) => session.failed(failure),
            Some(Closing::Answer(answer)) => {
                session.message_finished(key, MessageDraft::assistant(), MessageEnd::text(answer));
            }
            None => {}
        }
        session.turn_ended(end);
        self.prompts.turn_ends();
        self.turn = Turn::default();
    }

    /// `/clear` and the like: the turn is over without a `result`. What follows is another session, which the next
    /// `init` names; the id in this line is neither's.
    pub(super) fn conversation_reset(&mut self, reset: &ConversationResetMessage, out: &mut Drafts) {
        self.begin_early(reset.session_id.as_deref(), out);
        let mut session = self.open(out, reset.session_id.as_deref());
        session.note(Note::notice("conversation reset"));
        if self.turn.is_running() {
            session.turn_ended(TurnEnd::with_status(TurnStatus::Completed));
        }
        self.prompts.turn_ends();
        self.meter.reset();
        self.turn = Turn { was_reset: true, ..Turn::default() };
    }
}

/// What a `result` says beside the turn's figures.
struct Ending {
    session: Option<String>,
    status: TurnStatus,
    /// The host's ids of what it sent for this turn.
    prompts: Vec<String>,
}

/// What stands only in the `result`.
enum Closing {
    Failure(Failure),
    Answer(String),
}

fn was_interrupted(reason: Option<&TerminalReason>) -> bool {
    matches!(reason, Some(TerminalReason::AbortedStreaming | TerminalReason::AbortedTools))
}

/// Why the model stopped. A reason to go on says nothing about the end of a turn that failed.
fn stop_reason(reason: Option<&str>, status: &TurnStatus) -> Option<StopReason> {
    match reason? {
        "max_tokens" => Some(StopReason::MaxTokens),
        "refusal" => Some(StopReason::Refusal),
        _ if *status != TurnStatus::Completed => None,
        "end_turn" => Some(StopReason::EndTurn),
        _ => Some(StopReason::Other),
    }
}

/// Whether this version joins messages that were sent while a turn ran to one turn. Later versions are reported to; no
/// recording shows since when. Messages with an id do not need this.
fn joins_queued_prompts(version: Option<&str>) -> bool {
    version.and_then(parse_release) >= Some((2, 1))
}

fn turn_end(status: TurnStatus, duration: Option<&Number>) -> TurnEnd {
    let end = TurnEnd::with_status(status);
    match whole(duration) {
        Some(duration) => end.duration_ms(duration),
        None => end,
    }
}

/// The agent's words for why it failed.
fn words(errors: Vec<String>, subtype: Option<&ResultErrorSubtype>) -> String {
    let (notes, errors): (Vec<String>, Vec<String>) =
        errors.into_iter().partition(|error| error.starts_with(DIAGNOSTIC));
    let words = if errors.is_empty() { notes } else { errors };
    if words.is_empty() { subtype.map_or("error", |subtype| subtype.as_str()).to_owned() } else { words.join("\n") }
}

fn denials(denials: Option<Vec<PermissionDenial>>) -> Option<Value> {
    let denials = denials.filter(|denials| !denials.is_empty())?;
    let name = |denial: PermissionDenial| json!({ "tool_name": denial.tool_name, "tool_use_id": denial.tool_use_id });
    Some(denials.into_iter().map(name).collect())
}

/// What can be another from turn to turn, taken out of the line.
fn turn_metadata(init: &mut SystemMessage) -> TurnMetadata {
    let mut turn = TurnMetadata::default();
    turn.model = init.model.take();
    turn.cwd = init.cwd.take();
    turn.permission_mode = init.permission_mode.as_ref().map(|mode| mode_name(mode).to_owned());
    turn.tools = init.tools.take();
    turn.mcp_servers = init.mcp_servers.take().map(|servers| servers.into_iter().map(mcp_server).collect());
    turn
}

/// What a session begins with.
fn session_metadata(turn: TurnMetadata, init: SystemMessage) -> SessionMetadata {
    let native = NativeMetadata::new()
        .with("output_style", init.output_style)
        .with("agents", init.agents)
        .with("slash_commands", init.slash_commands)
        .with("skills", init.skills)
        .with("plugins", init.plugins.and_then(|plugins| serde_json::to_value(plugins).ok()))
        .with("plugin_errors", init.plugin_errors.and_then(|errors| serde_json::to_value(errors).ok()))
        .with("api_key_source", init.api_key_source.as_ref().map(ApiKeySource::as_str));
    let mut session = SessionMetadata::default();
    session.agent_version = init.claude_code_version;
    session.model = turn.model;
    session.cwd = turn.cwd;
    session.permission_mode = turn.permission_mode;
    session.tools = turn.tools;
    session.mcp_servers = turn.mcp_servers;
    session.native = native.non_empty();
    session
}

fn mcp_server(server: SystemMessageMcpServersItem) -> McpServerInfo {
    McpServerInfo::new(server.name.unwrap_or_default()).status(server.status)
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.trim().hash(&mut hasher);
    hasher.finish()
}

/// What an `init` lacks that every version since 2.1 says. 1.0 says none of it.
fn lacking_since_2_1(init: &SystemMessage) -> Option<String> {
    let has_lists = init.output_style.is_some() && init.plugins.is_some() && init.skills.is_some();
    let is_newer =
        init.claude_code_version.as_deref().map_or(has_lists, |version| parse_release(version) >= Some((2, 1)));
    let told = [
        ("`claude_code_version`", init.claude_code_version.is_some()),
        ("`output_style`", init.output_style.is_some()),
        ("`plugins`", init.plugins.is_some()),
        ("`skills`", init.skills.is_some()),
    ];
    let lacking: Vec<&str> = told.into_iter().filter(|(_, is_told)| !is_told).map(|(name, _)| name).collect();
    (is_newer && !lacking.is_empty()).then(|| lacking.join(", "))
}
