//! Translates the lines of a session file to the lines of the wire.

use std::collections::VecDeque;

use foldhash::{HashMap, HashSet};
use interlingua_convert::Note;
use interlingua_convert::claude::{is_compaction_summary, is_interrupt_marker};
use interlingua_schema::{SessionMetadata, TurnMetadata};
use serde::Deserialize;

use super::copies::Copies;
use super::line::{Block, Line, LineKind, Message, joined_text};
use super::scan::{Scan, is_injected, prompt_text};
use super::sub_agents::SpawningCall;
use super::turn::{LastStep, Turn};
use super::usage::{Remainder, UsageCounter};
use crate::json::{Field, ObjectWriter, decode, flag, hash, number, text, time};
use crate::merge::MergedRecord;
use crate::output::Output;
use crate::session::{HistoryFormat, add_history_metadata};

/// Model name of messages that the CLI writes itself.
const CLI_MODEL: &str = "<synthetic>";
/// What the CLI writes in the model's name when it resumes a session that was cut off.
const NO_RESPONSE: &str = "No response requested.";
/// `location` of the `agent.unparsed` events.
const LOCATION: &str = "claude history";

/// Translates the lines of one session, in order.
pub(super) struct Translator {
    pub(super) session_id: String,
    pub(super) scan: Scan,
    pub(super) copies: Copies,
    pub(super) is_started: bool,
    pub(super) turn: Turn,
    pub(super) usage: UsageCounter,
    /// What each of the coming totals contains beyond the messages, if a message was cut off.
    pub(super) remainders: VecDeque<Remainder>,
    /// Stop hooks that were reported since the last summary of them, by their commands.
    pub(super) reported_hooks: HashSet<String>,
    /// Hashes of the ids of lines that were converted.
    pub(super) seen: HashSet<u64>,
    /// Prompts that are in the queue or were taken from it last.
    pub(super) queued: VecDeque<String>,
    /// Tool call of the sub-agent that each line of a side chain belongs to, by the hash of the line's id. Up to 1.x, side
    /// chains are in the session file.
    pub(super) side_chains: HashMap<u64, String>,
    /// A command that a person typed is running.
    pub(super) in_slash_command: bool,
    pub(super) last_prompt_id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) permission_mode: Option<String>,
}

impl Translator {
    pub(super) fn new(session_id: String, scan: Scan, copies: Copies, remainders: VecDeque<Remainder>) -> Self {
        Self {
            session_id,
            model: scan.model.clone(),
            permission_mode: scan.permission_mode.clone(),
            scan,
            copies,
            is_started: false,
            turn: Turn::default(),
            usage: UsageCounter::default(),
            remainders,
            reported_hooks: HashSet::default(),
            seen: HashSet::default(),
            queued: VecDeque::new(),
            side_chains: HashMap::default(),
            in_slash_command: false,
            last_prompt_id: None,
        }
    }

    /// Converts one line.
    pub(super) fn push(&mut self, merged: &MergedRecord<SpawningCall>, out: &mut Output<'_>) {
        let record = &merged.record;
        out.report().records += 1;
        let json = match &record.text {
            Ok(json) => json,
            Err(damaged) => {
                out.report().bytes += damaged.bytes.len() as u64;
                out.report().add_problem(&merged.path, Some(record.number), damaged.reason.as_str());
                let text = String::from_utf8_lossy(&damaged.bytes);
                return self.unparsed(&text, &damaged.reason, None, out);
            }
        };
        out.report().bytes += json.len() as u64;
        let line = match Line::parse(json) {
            Ok(line) => line,
            Err(error) => {
                let reason = if record.is_terminated {
                    format!("expected a JSON object, found {error}")
                } else {
                    "expected a complete line, found the end of the file".to_owned()
                };
                out.report().add_problem(&merged.path, Some(record.number), reason.as_str());
                return self.unparsed(json, &reason, None, out);
            }
        };
        match line.kind() {
            LineKind::User | LineKind::Assistant | LineKind::System | LineKind::Attachment => {
                self.conversation_line(json, &line, merged, out);
            }
            LineKind::QueueOperation => {
                if text(line.operation).as_deref() == Some("enqueue") {
                    if let Some(prompt) = text(line.content) {
                        self.queued.push_back(prompt.into_owned());
                    }
                    self.queued.drain(..self.queued.len().saturating_sub(64));
                }
                out.drop_record("prompt queue; the prompts follow");
            }
            LineKind::CostState => {
                self.totals(line.model_usage, out);
            }
            LineKind::Summary => out.drop_record("title of another session"),
            LineKind::StateEcho => out.drop_record("state of the user interface"),
            LineKind::Bookkeeping => out.drop_record("copies of files, for undoing changes"),
            LineKind::Progress => out.drop_record("progress of a tool; its result follows"),
            LineKind::ApiRequest => out.drop_record("request to the model"),
            LineKind::Unknown => {
                let kind = text(line.kind).map(std::borrow::Cow::into_owned);
                self.unparsed(json, "unknown type of line", kind, out);
            }
        }
    }

    /// Ends the stream: the session can be continued, but its last turn is over.
    pub(super) fn finish(&mut self, out: &mut Output<'_>) {
        self.end_turn(out);
    }

    fn conversation_line(
        &mut self,
        json: &str,
        line: &Line<'_>,
        merged: &MergedRecord<SpawningCall>,
        out: &mut Output<'_>,
    ) {
        let kind = line.kind();
        if let Some(id) = line.id() {
            if self.copies.lines.contains(&id) {
                if kind == LineKind::Assistant {
                    self.usage.add_copy(&line.message());
                }
                return out.drop_record("copy of a line of another session");
            }
            if self.scan.repeated.contains(&id) || !self.seen.insert(id) {
                return out.drop_record("repetition of an earlier line");
            }
            if self.scan.abandoned.contains(&id) {
                return self.abandoned_line(line, out);
            }
        }
        if merged.sub_agent.is_some() || (line.is_side_chain() && !self.scan.is_sub_agent) {
            return self.sub_agent_line(json, line, merged, out);
        }
        match kind {
            LineKind::User => self.user(json, line, out),
            LineKind::Assistant => self.assistant(json, line, out),
            LineKind::System => self.system(json, line, out),
            _ => self.attachment(json, line, out),
        }
    }

    /// A line of a branch that was left by a rewind. What it used counts in the next turn.
    fn abandoned_line(&mut self, line: &Line<'_>, out: &mut Output<'_>) {
        match line.kind() {
            LineKind::User if prompt_text(line, &line.message()).is_some() => self.end_turn(out),
            LineKind::Assistant => {
                out.set_time(time(line.timestamp));
                self.count_message(&line.message(), out);
            }
            _ => {}
        }
        out.drop_record("line of a branch that was rewound");
    }

    /// Counts what a message used.
    fn count_message(&mut self, message: &Message<'_>, out: &mut Output<'_>) {
        if let Some(usage) = self.usage.add_message(message) {
            out.infer(|drafts| drafts.session(&self.session_id).add_usage(usage));
        }
    }

    /// Totals of the session. What they contain beyond the messages counts in the last turn.
    fn totals(&mut self, by_model: Field<'_>, out: &mut Output<'_>) {
        self.remainders.pop_front();
        for usage in self.usage.add_totals(by_model).into_usage() {
            out.infer(|drafts| drafts.session(&self.session_id).add_usage(usage));
        }
        out.drop_record("totals of the session, added to the usage of its turns");
    }

    /// A line of a sub-agent. It changes nothing about the turn but its usage.
    fn sub_agent_line(
        &mut self,
        json: &str,
        line: &Line<'_>,
        merged: &MergedRecord<SpawningCall>,
        out: &mut Output<'_>,
    ) {
        let call = match &merged.sub_agent {
            Some(call) => call.clone(),
            None => self.side_chain_call(line),
        };
        let kind = line.kind();
        if !matches!(kind, LineKind::User | LineKind::Assistant) {
            return out.drop_record("context for the model");
        }
        let message = line.message();
        if kind == LineKind::Assistant {
            self.start_session(line, out);
            self.count_message(&message, out);
        }
        let Some(call) = call else {
            return out.drop_record("line of a sub-agent whose call is not known");
        };
        if kind == LineKind::User && is_interrupt_marker(&joined_text(&message.blocks())) {
            return out.drop_record("marker that repeats an interrupt");
        }
        // A sub-agent in the background works on after the turn.
        if self.turn.is_done() && self.turn.stop_reason.as_deref() == Some("end_turn") {
            self.end_turn(out);
        }
        self.start_session(line, out);
        let is_injected = flag(line.is_meta) || is_injected(line.origin);
        out.receive(json, &self.message_line(line, Some(&call), is_injected));
    }

    /// The tool call that started the side chain of a line: its prompt is in the first line of the chain.
    fn side_chain_call(&mut self, line: &Line<'_>) -> Option<String> {
        let known = line.parent().and_then(|parent| self.side_chains.get(&parent).cloned());
        let call = known.or_else(|| {
            let prompt = hash(joined_text(&line.message().blocks()).trim());
            let index = self.scan.spawning_calls.iter().position(|(_, known)| *known == prompt)?;
            Some(self.scan.spawning_calls.remove(index).0)
        })?;
        if let Some(id) = line.id() {
            self.side_chains.insert(id, call.clone());
        }
        Some(call)
    }

    fn user(&mut self, json: &str, line: &Line<'_>, out: &mut Output<'_>) {
        let message = line.message();
        let blocks = message.blocks();
        let results: Vec<String> = blocks.iter().filter_map(Block::result_id).collect();
        if !results.is_empty() {
            return self.tool_results(json, line, &results, out);
        }
        let content = joined_text(&blocks);
        if is_interrupt_marker(&content) {
            self.turn.is_interrupted |= self.turn.is_running();
            out.set_time(time(line.timestamp));
            return out.drop_record("marker that repeats an interrupt");
        }
        if flag(line.is_compact_summary) || is_compaction_summary(&content) {
            self.start_session(line, out);
            return out.receive(json, &self.message_line(line, None, true));
        }
        if let Some(prompt) = prompt_text(line, &message) {
            return self.prompt(json, line, &prompt, out);
        }
        self.injected_message(json, line, &content, out);
    }

    fn tool_results(&mut self, json: &str, line: &Line<'_>, results: &[String], out: &mut Output<'_>) {
        // A process that resumes a session closes the calls that were cut off.
        if text(line.tool_denial_kind).as_deref() == Some("interrupted") {
            self.end_turn(out);
            return out.drop_record("result that the agent adds for a call that was cut off");
        }
        for result in results {
            self.turn.call_finished(result);
        }
        self.turn.observe(LastStep::ToolResult);
        self.start_session(line, out);
        out.receive(json, &self.message_line(line, None, false));
    }

    /// A message in the user's name that no person wrote.
    pub(super) fn injected_message(&mut self, json: &str, line: &Line<'_>, content: &str, out: &mut Output<'_>) {
        let content = content.trim_start();
        if content.starts_with("<local-command-stdout>") || content.starts_with("<local-command-stderr>") {
            if self.in_slash_command {
                self.turn.observe(LastStep::Output);
            } else if self.turn.is_done() {
                self.end_turn(out);
            }
            self.start_session(line, out);
            return out.receive(json, &self.message_line(line, None, false));
        }
        if content.starts_with("<local-command-caveat>") || content.starts_with("Caveat: ") {
            return out.drop_record("remark for the model about a command");
        }
        if content.starts_with("[Image: source: ") {
            return out.drop_record("remark for the model about an image that its message contains");
        }
        if content.starts_with("<task-notification>") {
            return self.task_notification(json, line, content, out);
        }
        self.start_session(line, out);
        if self.turn.is_running() {
            self.turn.observe(LastStep::Prompt);
        }
        out.receive(json, &self.message_line(line, None, true));
    }

    /// A background task has ended, which starts a turn if none is running.
    fn task_notification(&mut self, json: &str, line: &Line<'_>, content: &str, out: &mut Output<'_>) {
        let between = |tag: &str| {
            let (_, rest) = content.split_once(&format!("<{tag}>"))?;
            rest.split_once(&format!("</{tag}>")).map(|(inner, _)| inner.trim())
        };
        if self.turn.is_done() {
            self.end_turn(out);
        }
        self.start_session(line, out);
        self.start_turn(out);
        self.turn.observe(LastStep::Prompt);
        let mut task = ObjectWriter::with_capacity(256);
        task.text("type", "system").text("subtype", "task_notification").text("session_id", &self.session_id);
        task.text("task_id", between("task-id").unwrap_or_default());
        task.optional_text("tool_use_id", between("tool-use-id"));
        task.text("output_file", between("output-file").unwrap_or_default());
        task.text("status", between("status").unwrap_or("completed"));
        task.optional_text("summary", between("summary"));
        out.receive(json, &task.finish());
    }

    /// A prompt that a person wrote starts a turn.
    pub(super) fn prompt(&mut self, json: &str, line: &Line<'_>, prompt: &str, out: &mut Output<'_>) {
        let command = slash_command(prompt);
        if let Some(command) = command
            && self.scan.has_queue
            && !self.queued.iter().any(|queued| queued.trim_start().starts_with(command))
        {
            return out.drop_record("command that the host ran");
        }
        let prompt_id = text(line.prompt_id).map(std::borrow::Cow::into_owned);
        if !self.joins_turn(line, prompt_id.as_deref()) {
            self.end_turn(out);
        }
        self.last_prompt_id = prompt_id;
        self.in_slash_command = command.is_some();
        self.start_session(line, out);
        self.update_permission_mode(line, out);
        self.start_turn(out);
        self.turn.observe(if command.is_some() { LastStep::Output } else { LastStep::Prompt });
        out.receive(json, &self.message_line(line, None, false));
    }

    /// Whether the agent takes up a prompt together with the one before.
    fn joins_turn(&self, line: &Line<'_>, prompt_id: Option<&str>) -> bool {
        #[derive(Default, Deserialize)]
        #[serde(default, rename_all = "camelCase")]
        struct TurnPosition<'a> {
            #[serde(borrow)]
            prompt_index: Field<'a>,
        }
        let position: TurnPosition<'_> = decode(line.turn_position);
        match number(position.prompt_index) {
            Some(index) => index > 0 && self.turn.is_running(),
            None => prompt_id.is_some() && prompt_id == self.last_prompt_id.as_deref() && self.turn.is_running(),
        }
    }

    fn assistant(&mut self, json: &str, line: &Line<'_>, out: &mut Output<'_>) {
        let message = line.message();
        let blocks = message.blocks();
        let model = text(message.model);
        let is_from_cli = model.as_deref() == Some(CLI_MODEL);
        let content = joined_text(&blocks);
        if is_from_cli && content == NO_RESPONSE {
            return out.drop_record("filler that the agent adds when it resumes a session");
        }
        let is_text_only = blocks.iter().all(|block| text(block.kind).as_deref() == Some("text"));
        if message.content.is_none() {
            self.start_session(line, out);
            let reason = "expected a message with content, found none";
            return self.unparsed(json, reason, Some("assistant".to_owned()), out);
        }
        self.start_session(line, out);
        self.start_turn(out);
        self.count_message(&message, out);
        if content.is_empty() && is_text_only {
            return out.drop_record("message without text");
        }
        self.update_model(model.as_deref().filter(|_| !is_from_cli), out);
        self.turn.observe(LastStep::Output);
        self.turn.has_aborted_message |= flag(line.is_aborted_mid_stream);
        for call in blocks.iter().filter_map(Block::call_id) {
            self.turn.call_started(call);
        }
        if !is_from_cli && let Some(reason) = text(message.stop_reason) {
            self.turn.stop_reason = Some(reason.into_owned());
        }
        out.receive(json, &self.message_line(line, None, false));
    }

    /// The line of the wire for a `user` or `assistant` line.
    pub(super) fn message_line(&self, line: &Line<'_>, call: Option<&str>, is_synthetic: bool) -> String {
        let is_assistant = line.kind() == LineKind::Assistant;
        let message_length = line.message.map_or(0, |message| message.get().len());
        let result_length = line.tool_use_result.map_or(0, |result| result.get().len());
        let mut wire = ObjectWriter::with_capacity(message_length + result_length + 512);
        wire.text("type", if is_assistant { "assistant" } else { "user" });
        wire.raw("message", line.message);
        wire.text("session_id", &self.session_id);
        wire.optional_text("parent_tool_use_id", call);
        wire.raw("uuid", line.uuid);
        wire.raw("timestamp", line.timestamp);
        if is_assistant {
            // In other lines, `error` has another shape.
            wire.optional_text("error", text(line.error).as_deref());
            wire.raw("is_api_error_message", line.is_api_error_message);
            wire.raw("api_error_status", line.api_error_status);
            wire.raw("api_error_type", line.api_error_type);
            wire.raw("aborted", line.is_aborted_mid_stream);
        } else {
            wire.raw("tool_use_result", line.tool_use_result);
            if is_synthetic {
                wire.json("isSynthetic", "true");
            }
        }
        wire.finish()
    }

    /// Starts the session before its first line, and notes the time of the line.
    pub(super) fn start_session(&mut self, line: &Line<'_>, out: &mut Output<'_>) {
        out.set_time(time(line.timestamp));
        if std::mem::replace(&mut self.is_started, true) {
            return;
        }
        let mut metadata = SessionMetadata::default();
        metadata.agent_version.clone_from(&self.scan.version);
        metadata.cwd.clone_from(&self.scan.cwd);
        metadata.model.clone_from(&self.scan.model);
        metadata.permission_mode = self.scan.permission_mode.as_deref().map(|mode| mode_name(mode).to_owned());
        metadata.forked_from.clone_from(&self.copies.from);
        add_history_metadata(&mut metadata, HistoryFormat::ClaudeLines);
        out.infer(|drafts| drafts.session(&self.session_id).started(metadata));
    }

    pub(super) fn start_turn(&mut self, out: &mut Output<'_>) {
        if self.turn.is_running() {
            return;
        }
        self.turn.start();
        let turn = TurnMetadata::new().model(self.model.clone());
        out.infer(|drafts| drafts.session(&self.session_id).turn_started(None, turn));
    }

    fn end_turn(&mut self, out: &mut Output<'_>) {
        self.in_slash_command = false;
        if !self.turn.is_running() {
            return;
        }
        if self.turn.has_aborted_message
            && let Some(remainder) = self.remainders.front_mut()
        {
            let remainder = std::mem::take(remainder);
            self.usage.anticipate(&remainder);
            for usage in remainder.into_usage() {
                out.infer(|drafts| drafts.session(&self.session_id).add_usage(usage));
            }
        }
        let turn = &mut self.turn;
        out.infer(|drafts| turn.end(&self.session_id, drafts));
    }

    fn update_permission_mode(&mut self, line: &Line<'_>, out: &mut Output<'_>) {
        let Some(mode) = text(line.permission_mode) else { return };
        if let Some(before) = self.permission_mode.replace(mode.as_ref().to_owned()).filter(|before| *before != *mode) {
            let note = Note::mode_changed(Some(mode_name(&before).to_owned()), mode_name(&mode));
            out.infer(|drafts| drafts.session(&self.session_id).note(note));
        }
    }

    fn update_model(&mut self, model: Option<&str>, out: &mut Output<'_>) {
        let Some(model) = model else { return };
        if let Some(before) = self.model.replace(model.to_owned()).filter(|before| before != model) {
            let note = Note::model_changed(Some(before), model);
            out.infer(|drafts| drafts.session(&self.session_id).note(note));
        }
    }

    pub(super) fn unparsed(&self, record: &str, reason: &str, native_type: Option<String>, out: &mut Output<'_>) {
        out.receive_drafts(record, |drafts| drafts.session(&self.session_id).unparsed(LOCATION, reason, native_type));
    }
}

/// The name of the slash command in its markup.
pub(super) fn slash_command(text: &str) -> Option<&str> {
    let text = text.trim_start();
    if !text.starts_with("<command-") {
        return None;
    }
    let (_, rest) = text.split_once("<command-name>")?;
    rest.split_once("</command-name>").map(|(name, _)| name.trim())
}

/// The universal name of a permission mode.
pub(super) fn mode_name(mode: &str) -> &str {
    if mode == "bypassPermissions" { "bypass" } else { mode }
}
