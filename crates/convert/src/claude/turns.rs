//! Turns: `system/init` starts one. A `result` or `conversation_reset` ends it.

use std::hash::{DefaultHasher, Hash, Hasher};

use interlingua_native::claude::{ApiKeySource, ConversationResetMessage, SystemMessage, SystemMessageMcpServersItem};
use interlingua_schema::{McpServerInfo, NativeMetadata, SessionMetadata, TurnMetadata, TurnStatus};

use super::system::mode_name;
use super::{AGENT, ClaudeConverter};
use crate::version::parse_release;
use crate::{Drafts, Note, TurnEnd};

/// Maximum number of texts, and of failures, of a turn whose hashes are kept.
const MAX_HASHES: usize = 1024;

#[derive(Debug, Default, PartialEq, Eq)]
enum TurnPhase {
    /// No turn is running.
    #[default]
    Idle,
    /// The turn started before its `init`.
    Early,
    /// The `init` of the turn has come.
    Started,
}

/// State of the running turn.
#[derive(Debug, Default)]
pub(super) struct Turn {
    phase: TurnPhase,
    /// Hashes of the texts that the agent wrote in the turn.
    text_hashes: Vec<u64>,
    /// Hashes of the failures that the agent reported in the turn.
    failure_hashes: Vec<u64>,
    /// An answer was cut off at the output token limit.
    pub(super) hit_token_limit: bool,
    /// Text of the last message with text.
    last_text: String,
    /// Id of the last message with text.
    last_text_message_id: Option<String>,
    /// Id of the message that started last.
    message_id: Option<String>,
    /// The host asked for an interrupt, or the agent reported one.
    pub(super) is_interrupted: bool,
    /// A reset ended it. Its `init` and `result` may still come.
    was_reset: bool,
    /// The `init` that came after a reset. If the model answers next, the `init` belongs to a new turn.
    init_after_reset: Option<Box<TurnMetadata>>,
}

impl Turn {
    /// Whether a turn is running.
    pub(super) fn is_running(&self) -> bool {
        self.phase != TurnPhase::Idle
    }

    /// Whether its `init` has come.
    pub(super) fn has_started(&self) -> bool {
        self.phase == TurnPhase::Started
    }

    /// Whether a reset ended it, so the next `init` starts another session.
    pub(super) fn was_reset(&self) -> bool {
        self.was_reset
    }

    /// Notes that the host asks for an interrupt or the agent reports one. Older versions do not report it in the
    /// `result`.
    pub(super) fn mark_interrupted(&mut self) {
        self.is_interrupted = true;
    }

    /// Notes that the agent refused to be interrupted.
    pub(super) fn clear_interrupt(&mut self) {
        self.is_interrupted = false;
    }

    /// Notes the message that the agent is writing. Returns whether the message is new.
    fn set_message(&mut self, message_id: Option<&str>) -> bool {
        let is_new = message_id.is_some() && self.message_id.as_deref() != message_id;
        if is_new {
            self.message_id = message_id.map(str::to_owned);
        }
        is_new
    }

    /// Notes a text that the agent wrote.
    pub(super) fn observe_text(&mut self, text: &str) {
        push_bounded(&mut self.text_hashes, hash(text));
    }

    /// Notes a text block of a message. The message may have more blocks.
    pub(super) fn observe_message_text(&mut self, message_id: Option<&str>, text: &str) {
        self.observe_text(text);
        if self.last_text_message_id.as_deref() != message_id || message_id.is_none() {
            self.last_text.clear();
            self.last_text_message_id = message_id.map(str::to_owned);
        }
        self.last_text.push_str(text);
    }

    /// Notes a failure that the agent reported. `is_token_limit`: the answer exceeded the output token limit.
    pub(super) fn observe_failure(&mut self, message: &str, is_token_limit: bool) {
        push_bounded(&mut self.failure_hashes, hash(message));
        self.hit_token_limit |= is_token_limit;
    }

    /// Whether the agent wrote this text in the turn.
    pub(super) fn has_text(&self, text: &str) -> bool {
        self.text_hashes.contains(&hash(text)) || self.last_text.contains(text.trim())
    }

    /// Whether the agent reported this failure in the turn.
    pub(super) fn has_failure(&self, message: &str) -> bool {
        self.failure_hashes.contains(&hash(message))
    }
}

/// Adds a hash. The oldest is forgotten when there are too many.
fn push_bounded(hashes: &mut Vec<u64>, hash: u64) {
    if hashes.len() == MAX_HASHES {
        hashes.remove(0);
    }
    hashes.push(hash);
}

impl ClaudeConverter {
    pub(super) fn init(&mut self, mut init: SystemMessage, out: &mut Drafts) {
        let is_new = init.session_id.is_some() && init.session_id != self.session_id;
        let mode = init.permission_mode.as_ref().map(mode_name);
        let mut changes = Vec::new();
        if is_new {
            self.settings.start_session(init.model.as_deref(), mode);
        } else {
            changes.extend(self.settings.update_model(init.model.as_deref()));
            changes.extend(self.settings.update_mode(mode));
        }
        let merges = merges_queued_prompts(init.claude_code_version.as_deref());
        let missing = missing_init_fields(&init);
        self.settings.omits_version = init.claude_code_version.is_none();
        let mut turn = turn_metadata(&mut init);
        // Prompts that waited in the previous session move to this one.
        let moved = if is_new && self.session_id.is_some() { self.prompts.waiting() } else { Vec::new() };
        for (key, _) in &moved {
            out.session_or_current(self.session_id.as_deref()).prompt_rejected(key.clone());
        }
        let mut session = match init.session_id.as_deref() {
            Some(id) => out.session(id),
            None => out.current_session(),
        };
        if is_new {
            self.session_id.clone_from(&init.session_id);
            // `session.started` has the rest of the metadata of the first turn.
            let first = TurnMetadata::new().model(turn.model.clone());
            session.started(session_metadata(std::mem::replace(&mut turn, first), init));
        }
        if let Some(missing) = missing {
            session.unparsed(AGENT, format!("SystemMessage lacks {missing}"), Some("system/init".to_owned()));
        }
        for (_, prompt) in moved {
            session.prompt_sent(prompt);
        }
        // The command that reset the conversation may have a separate `init`, which no answer follows.
        if self.turn.was_reset && !self.prompts.has_waiting() {
            self.turn.init_after_reset = Some(Box::new(turn));
            return out.dropped("init of a turn that was ended by a reset");
        }
        if self.turn.phase == TurnPhase::Early {
            self.turn.phase = TurnPhase::Started;
            if changes.is_empty() {
                return out.dropped("init of a running turn");
            }
        } else {
            let is_interrupted = self.turn.is_interrupted && self.prompts.has_waiting();
            self.turn = Turn { phase: TurnPhase::Started, is_interrupted, ..Turn::default() };
            session.turn_started(None, turn);
            for prompt in self.prompts.start_turn(merges) {
                session.prompt_accepted(Some(prompt));
            }
        }
        for note in changes {
            session.note(note);
        }
    }

    /// Starts a turn before its `init`, for something that a prompt asked for, such as a compaction.
    pub(super) fn start_turn_early(&mut self, session_id: Option<&str>, out: &mut Drafts) {
        if !self.turn.is_running() && self.prompts.has_waiting() {
            self.turn.phase = TurnPhase::Early;
            self.prompts.start_turn(false);
            self.session(out, session_id).synthetic().turn_started(None, TurnMetadata::default());
        }
    }

    /// Accepts the prompts that the agent says it answers in the running turn.
    pub(super) fn accept_prompts(&mut self, uuids: &[impl AsRef<str>], out: &mut Drafts) {
        if self.turn.has_started() {
            for prompt in uuids.iter().filter_map(|uuid| self.prompts.accept(uuid.as_ref())) {
                out.current_session().prompt_accepted(Some(prompt));
            }
        }
    }

    /// The agent sends a request to the model, which includes the prompts that were sent while a tool ran.
    pub(super) fn start_model_request(&mut self, out: &mut Drafts) {
        if self.turn.has_started() {
            for prompt in self.prompts.start_model_request() {
                out.current_session().prompt_accepted(Some(prompt));
            }
        }
    }

    /// The model answers in this message. A new message is the answer to a new request.
    pub(super) fn start_message(&mut self, message_id: Option<&str>, out: &mut Drafts) {
        if let Some(turn) = self.turn.init_after_reset.take() {
            self.turn = Turn { phase: TurnPhase::Started, ..Turn::default() };
            out.current_session().turn_started(None, *turn);
        }
        if self.turn.set_message(message_id) {
            self.start_model_request(out);
        }
    }

    /// `/clear` and similar commands: the turn ends without a `result`. Another session follows, which the next `init`
    /// names. The id in this line is of neither session.
    pub(super) fn conversation_reset(&mut self, reset: &ConversationResetMessage, out: &mut Drafts) {
        self.start_turn_early(reset.session_id.as_deref(), out);
        let mut session = self.session(out, reset.session_id.as_deref());
        session.note(Note::notice("conversation reset"));
        if self.turn.is_running() {
            session.turn_ended(TurnEnd::with_status(TurnStatus::Completed));
        }
        self.prompts.end_turn();
        self.usage_meter.reset();
        self.turn = Turn { was_reset: true, ..Turn::default() };
    }
}

/// Whether this version merges messages that were sent during a turn into one turn. Newer versions are reported to do
/// so; no recording shows since which version. Messages with an id do not depend on this.
fn merges_queued_prompts(version: Option<&str>) -> bool {
    version.and_then(parse_release) >= Some((2, 1))
}

/// Takes the metadata that can change from turn to turn out of the `init`.
fn turn_metadata(init: &mut SystemMessage) -> TurnMetadata {
    let mut turn = TurnMetadata::default();
    turn.model = init.model.take();
    turn.cwd = init.cwd.take();
    turn.permission_mode = init.permission_mode.as_ref().map(|mode| mode_name(mode).to_owned());
    turn.tools = init.tools.take();
    turn.mcp_servers = init.mcp_servers.take().map(|servers| servers.into_iter().map(mcp_server).collect());
    turn
}

/// The metadata of `session.started`.
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

/// Names of the fields that are missing in an `init` although every version since 2.1 has them. Version 1.0 has none of
/// them.
fn missing_init_fields(init: &SystemMessage) -> Option<String> {
    let has_lists = init.output_style.is_some() && init.plugins.is_some() && init.skills.is_some();
    let is_newer =
        init.claude_code_version.as_deref().map_or(has_lists, |version| parse_release(version) >= Some((2, 1)));
    let fields = [
        ("`claude_code_version`", init.claude_code_version.is_some()),
        ("`output_style`", init.output_style.is_some()),
        ("`plugins`", init.plugins.is_some()),
        ("`skills`", init.skills.is_some()),
    ];
    let missing: Vec<&str> = fields.into_iter().filter(|(_, is_present)| !is_present).map(|(name, _)| name).collect();
    (is_newer && !missing.is_empty()).then(|| missing.join(", "))
}
