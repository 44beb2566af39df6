//! Turns: `system/init` begins one, `result` ends it.

use std::hash::{DefaultHasher, Hash, Hasher};

use interlingua_native::claude::{
    ApiKeySource, ConversationResetMessage, PermissionDenial, PermissionMode, ResultError, ResultErrorSubtype,
    ResultSuccess, SystemMessage, TerminalReason,
};
use interlingua_schema::{ContentPart, Facts, StatusLabel, TurnStatus};
use serde_json::{Number, Value, json};

use super::{ClaudeConverter, failures, whole};
use crate::{Drafts, Failure, Final, Message, Note, TurnEnd};

/// The agent's note to its makers, which stands among the errors of a turn that was cut off.
const DIAGNOSTIC: &str = "[ede_diagnostic]";

/// So much of what was said in a turn is remembered.
const MOST_SAID: usize = 1024;

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
    /// The text of the message that was said last.
    last: String,
    last_message: Option<String>,
    /// A reset ended it, and its `result` may still come.
    was_reset: bool,
}

impl Turn {
    pub(super) fn is_running(&self) -> bool {
        self.phase != Phase::Over
    }

    /// The agent said this.
    pub(super) fn said(&mut self, text: &str) {
        if self.said.len() == MOST_SAID {
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

    /// The agent told of a failure in these words.
    pub(super) fn complained(&mut self, words: &str) {
        self.complaints.push(hash(words));
    }

    fn has_said(&self, text: &str) -> bool {
        self.said.contains(&hash(text)) || self.last.contains(text.trim())
    }

    fn has_complained(&self, words: &str) -> bool {
        self.complaints.contains(&hash(words))
    }

    fn over(&mut self) {
        *self = Self::default();
    }
}

impl ClaudeConverter {
    pub(super) fn init(&mut self, mut init: SystemMessage, out: &mut Drafts) {
        self.turn.was_reset = false;
        let mut changes = Vec::new();
        if init.session_id.is_none() || init.session_id == self.session {
            changes.extend(self.settings.model_in_use(init.model.as_deref()));
            changes.extend(self.settings.mode_in_use(init.permission_mode.as_ref().map(PermissionMode::as_str)));
        } else {
            self.settings.begin(init.model.as_deref(), init.permission_mode.as_ref().map(PermissionMode::as_str));
        }
        let is_new = init.session_id.is_some() && init.session_id != self.session;
        let turn = turn_metadata(&mut init);
        let mut session = match init.session_id.as_deref() {
            Some(id) => out.session(id),
            None => out.current(),
        };
        if is_new {
            self.session.clone_from(&init.session_id);
            session.started(Some(turn.clone().and(session_metadata(init))));
        }
        if self.turn.phase == Phase::Early {
            self.turn.phase = Phase::Begun;
            if changes.is_empty() {
                return out.dropped("init of a turn that has begun");
            }
        } else {
            self.turn.over();
            self.turn.phase = Phase::Begun;
            session.turn_started(None, Some(turn));
        }
        for note in changes {
            session.note(note);
        }
    }

    /// Something that a prompt asked for comes before the turn's `init`, as a compaction does.
    pub(super) fn begin_early(&mut self, native: Option<&str>, out: &mut Drafts) {
        if !self.turn.is_running() && self.prompts.are_waiting() {
            self.turn.phase = Phase::Early;
            self.open(out, native).synthetic().turn_started(None, None);
        }
    }

    /// Prompts that the agent says it answers, inside the running turn.
    pub(super) fn taken_up(&mut self, uuids: &[String], out: &mut Drafts) {
        if self.turn.phase == Phase::Begun {
            for prompt in uuids.iter().filter_map(|uuid| self.prompts.by_uuid(uuid)) {
                out.current().prompt_taken(Some(prompt));
            }
        }
    }

    pub(super) fn result_success(&mut self, result: ResultSuccess, out: &mut Drafts) {
        let words = result.result.unwrap_or_default();
        let failed = result.is_error == Some(true);
        let interrupted = was_interrupted(result.terminal_reason.as_ref());
        let ending = Ending {
            session: result.session_id,
            status: match (interrupted, failed) {
                (true, _) => TurnStatus::Interrupted,
                (false, true) => TurnStatus::Failed,
                (false, false) => TurnStatus::Completed,
            },
            queued: whole(result.queued_turn_count.as_ref()),
            prompts: result.user_message_uuids.unwrap_or_default(),
        };
        let usage = self.meter.turn(
            result.usage.as_ref(),
            result.model_usage.as_ref(),
            result.total_cost_usd.as_ref(),
            self.settings.model(),
        );
        let metadata = Facts::new()
            .with("stop_reason", result.stop_reason)
            .with("terminal_reason", result.terminal_reason.as_ref().map(TerminalReason::as_str))
            .with("origin", result.origin.and_then(|origin| serde_json::to_value(origin).ok()))
            .with("local_command", result.local_command)
            .with("structured_output", result.structured_output.as_ref().map(interlingua_native::Json::to_value))
            .with("permission_denials", denials(result.permission_denials))
            .with("deferred_tool_use", result.deferred_tool_use.and_then(|tool| serde_json::to_value(tool).ok()));
        let end = TurnEnd { usage, metadata, ..turn_end(ending.status, result.duration_ms.as_ref()) };
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

    pub(super) fn result_error(&mut self, result: ResultError, out: &mut Drafts) {
        let interrupted = was_interrupted(result.terminal_reason.as_ref());
        let ending = Ending {
            session: result.session_id,
            status: if interrupted { TurnStatus::Interrupted } else { TurnStatus::Failed },
            queued: whole(result.queued_turn_count.as_ref()),
            prompts: result.user_message_uuids.unwrap_or_default(),
        };
        let usage = self.meter.turn(
            result.usage.as_ref(),
            result.model_usage.as_ref(),
            result.total_cost_usd.as_ref(),
            self.settings.model(),
        );
        let metadata = Facts::new()
            .with("subtype", result.subtype.as_ref().map(ResultErrorSubtype::as_str))
            .with("stop_reason", result.stop_reason)
            .with("terminal_reason", result.terminal_reason.as_ref().map(TerminalReason::as_str))
            .with("origin", result.origin.and_then(|origin| serde_json::to_value(origin).ok()))
            .with("permission_denials", denials(result.permission_denials));
        let end = TurnEnd { usage, metadata, ..turn_end(ending.status, result.duration_ms.as_ref()) };
        let kind = failures::Kind {
            api_type: result.api_error_type.as_deref(),
            terminal: result.terminal_reason.as_ref(),
            startup: result.startup_failure_reason.as_ref(),
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

    fn end(&mut self, ending: &Ending, end: TurnEnd, closing: Option<Closing>, out: &mut Drafts) {
        if self.turn.was_reset && closing.is_none() {
            self.turn.over();
            return out.dropped("result of a turn that a reset has ended");
        }
        if self.turn.is_running() {
            self.taken_up(&ending.prompts, out);
        }
        let key = self.new_key();
        if !self.turn.is_running() {
            self.open(out, ending.session.as_deref()).synthetic().turn_started(None, None);
        }
        let mut session = self.open(out, ending.session.as_deref());
        self.streams.close_all(&mut session);
        if let Some(note) = self.compaction.succeeded_at_last() {
            session.note_finished(note.0, note.1, false);
        }
        match closing {
            Some(Closing::Failure(failure)) => session.failed(failure),
            Some(Closing::Answer(answer)) => session.message_finished(key, Message::assistant(), Final::text(answer)),
            None => {}
        }
        if ending.queued == Some(0) {
            for prompt in self.prompts.taken() {
                session.prompt_taken(Some(prompt));
            }
        }
        session.turn_ended(end);
        self.turn.over();
    }

    /// `/clear` and the like: the turn is over without a `result`, and what follows is another session.
    pub(super) fn conversation_reset(&mut self, reset: &ConversationResetMessage, out: &mut Drafts) {
        self.begin_early(reset.session_id.as_deref(), out);
        let trigger = reset.trigger.as_ref().map(|trigger| trigger.as_str().to_owned());
        let json = json!({ "trigger": trigger, "new_session_id": reset.new_conversation_id });
        let note = Note::status(StatusLabel::Notice, Some("conversation reset".to_owned()));
        let mut session = self.open(out, reset.session_id.as_deref());
        session.note(note.with(ContentPart::Json { json }));
        if self.turn.is_running() {
            session.turn_ended(TurnEnd::with_status(TurnStatus::Completed));
        }
        self.prompts.taken();
        self.turn.over();
        self.turn.was_reset = true;
        if let Some(new) = reset.new_conversation_id.as_deref().filter(|new| self.session.as_deref() != Some(*new)) {
            out.session(new).started(None);
            self.session = Some(new.to_owned());
        }
    }
}

/// What a `result` says beside the turn's figures.
struct Ending {
    session: Option<String>,
    status: TurnStatus,
    /// How many turns wait.
    queued: Option<u64>,
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
fn turn_metadata(init: &mut SystemMessage) -> Facts {
    Facts::new()
        .with("model", init.model.take())
        .with("cwd", init.cwd.take())
        .with("permission_mode", init.permission_mode.as_ref().map(PermissionMode::as_str))
        .with("agent_version", init.claude_code_version.take())
        .with("tools", init.tools.take())
        .with("mcp_servers", init.mcp_servers.as_ref().and_then(|servers| serde_json::to_value(servers).ok()))
        .with("output_style", init.output_style.take())
}

/// What else the line says.
fn session_metadata(init: SystemMessage) -> Facts {
    Facts::new()
        .with("agents", init.agents)
        .with("slash_commands", init.slash_commands)
        .with("skills", init.skills)
        .with("plugins", init.plugins.and_then(|plugins| serde_json::to_value(plugins).ok()))
        .with("plugin_errors", init.plugin_errors.and_then(|errors| serde_json::to_value(errors).ok()))
        .with("api_key_source", init.api_key_source.as_ref().map(ApiKeySource::as_str))
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.trim().hash(&mut hasher);
    hasher.finish()
}
