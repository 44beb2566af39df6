//! Translates the lines of rollout files to notifications of the app server.

use std::path::Path;

use foldhash::HashSet;
use interlingua_convert::{Note, TurnEnd};
use interlingua_schema::{SessionMetadata, TurnStatus};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::changes;
use super::home::{Home, Rollout, ThreadRole};
use super::items::{self, camel_case};
use super::legacy::{self, CallKind, CommandOutput, ModelCall};
use super::line::{Line, Payload};
use super::scan::{Calls, ParentThread, Scan, Settings, scan};
use crate::HistoryError;
use crate::json::{Field, decode, hash, number, text, time};
use crate::output::Output;
use crate::record_reader::Record;
use crate::session::{HistoryFormat, add_history_metadata};

/// `location` of the `agent.unparsed` events.
const LOCATION: &str = "codex history";
const REPEATED: &str = "item of the model's API, which an event repeats";

/// A thread and what the first pass over its file found.
pub(super) struct ThreadInfo {
    rollout: Rollout,
    /// `None` for the thread that is the session.
    role: Option<ThreadRole>,
    scan: Scan,
}

impl ThreadInfo {
    pub(super) fn load(home: &Home, rollout: &Rollout, role: Option<ThreadRole>) -> Result<Self, HistoryError> {
        let parent = match rollout.forked_from.as_deref().and_then(|parent| home.find(parent)) {
            Some(parent) => ParentThread::load(&parent.path)?,
            None => ParentThread::default(),
        };
        let scan = scan(&rollout.path, &rollout.thread_id, &parent)?;
        Ok(Self { rollout: rollout.clone(), role, scan })
    }
}

/// What the last step of a turn was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LastStep {
    #[default]
    Prompt,
    Answer,
    Tool,
}

/// The running turn of a thread.
#[derive(Debug, Default)]
struct Turn {
    id: String,
    last_step: LastStep,
    /// A compaction or review, which ends without an answer.
    needs_no_answer: bool,
    /// Ids of the messages of this turn. A message that the model repeats after a retry has the same id.
    messages: HashSet<String>,
}

/// State of a thread.
struct Thread {
    info: ThreadInfo,
    /// Id of the thread in which it is shown.
    shown_in: String,
    /// Hashes of its lines. No line is written twice with the same time.
    seen: HashSet<u64>,
    is_started: bool,
    settings: Settings,
    cwd: Option<String>,
    turn: Option<Turn>,
    calls: Calls<ModelCall>,
    /// Commands that are still running, by the number that the model knows them by.
    running: Calls<(String, String)>,
    /// Last known states of its sub-agents.
    agents: Map<String, Value>,
    last_prompt: Option<String>,
    is_in_review: bool,
}

/// Translates the lines of the threads of one session.
#[derive(Default)]
pub(super) struct Translator {
    threads: Vec<Thread>,
}

impl Translator {
    /// Adds a thread and returns its index. The first one is the session.
    pub(super) fn add_thread(&mut self, info: ThreadInfo) -> usize {
        let shown_in = match &info.role {
            Some(ThreadRole::Review(parent)) => parent.clone(),
            Some(ThreadRole::Internal) => info.rollout.parent.clone().unwrap_or_default(),
            _ => info.rollout.thread_id.clone(),
        };
        self.threads.push(Thread {
            shown_in,
            seen: HashSet::default(),
            is_started: false,
            settings: Settings::default(),
            cwd: info.rollout.cwd.clone(),
            turn: None,
            calls: Calls::default(),
            running: Calls::default(),
            agents: Map::new(),
            last_prompt: None,
            is_in_review: false,
            info,
        });
        self.threads.len() - 1
    }

    /// Converts one line of a thread.
    pub(super) fn push(&mut self, index: usize, record: &Record, path: &Path, out: &mut Output<'_>) {
        out.report().records += 1;
        let session_id = self.threads.first().map(|thread| thread.shown_in.clone()).unwrap_or_default();
        let json = match &record.text {
            Ok(json) => json,
            Err(damaged) => {
                out.report().bytes += damaged.bytes.len() as u64;
                out.report().add_problem(path, Some(record.number), damaged.reason.as_str());
                let text = String::from_utf8_lossy(&damaged.bytes);
                return unparsed(&session_id, &text, &damaged.reason, None, out);
            }
        };
        out.report().bytes += json.len() as u64;
        if let Some(thread) = self.threads.get_mut(index)
            && !thread.seen.insert(hash(json))
        {
            return out.drop_record("repetition of an earlier line");
        }
        let line = match Line::parse(json) {
            Ok(line) => line,
            Err(error) => {
                let reason = if record.is_terminated {
                    format!("expected a JSON object, found {error}")
                } else {
                    "expected a complete line, found the end of the file".to_owned()
                };
                out.report().add_problem(path, Some(record.number), reason.as_str());
                return unparsed(&session_id, json, &reason, None, out);
            }
        };
        let is_copy = |thread: &Thread| thread.is_started && record.number <= thread.info.scan.last_copied_line;
        if self.threads.get(index).is_some_and(is_copy) {
            return out.drop_record("copy of a line of another thread");
        }
        let context = Context { json, number: record.number, at: time(line.timestamp), session_id: &session_id };
        let payload: Payload<'_> = decode(line.payload);
        if matches!(text(payload.kind).as_deref(), Some("task_started" | "turn_started"))
            && let Some(thread) = self.threads.get_mut(index)
        {
            // A turn that no line ended was cut off before this one.
            thread.cut_off_turn(out);
        }
        self.start_tools(&context, out);
        out.set_time(context.at);
        if let Some(thread) = self.threads.get_mut(index) {
            thread.push(&line, &context, out);
        }
    }

    /// Starts the tools, of all threads, that started before this line was written.
    fn start_tools(&mut self, context: &Context<'_>, out: &mut Output<'_>) {
        loop {
            let next = self.threads.iter_mut().filter(|thread| thread.is_started);
            let next = next.filter_map(|thread| Some((thread.info.scan.starts.front()?.at, thread)));
            match next.min_by_key(|(at, _)| *at) {
                Some((at, thread)) if Some(at) <= context.at => thread.start_tool(context.json, out),
                _ => return,
            }
        }
    }

    /// Ends what is still running.
    pub(super) fn finish(&mut self, out: &mut Output<'_>) {
        for thread in &mut self.threads {
            thread.finish(out);
        }
    }
}

/// A line, besides its content.
struct Context<'a> {
    json: &'a str,
    number: u64,
    at: Option<interlingua_schema::Timestamp>,
    session_id: &'a str,
}

impl Thread {
    fn is_shown(&self) -> bool {
        matches!(self.info.role, None | Some(ThreadRole::SubAgent(_)))
    }

    /// Starts the next tool.
    fn start_tool(&mut self, record: &str, out: &mut Output<'_>) {
        let Some(start) = self.info.scan.starts.pop_front() else { return };
        let is_message = matches!(start.item.get("type").and_then(Value::as_str), Some("agentMessage" | "plan"));
        let is_review = matches!(self.info.role, Some(ThreadRole::Review(_)));
        if matches!(self.info.role, Some(ThreadRole::Internal)) || (is_review && is_message) {
            return;
        }
        out.set_time(Some(start.at));
        let turn = start.turn_id.unwrap_or_default();
        self.note_step(if is_message { LastStep::Answer } else { LastStep::Tool });
        self.send_item("item/started", &turn, start.item, record, out);
    }

    fn push(&mut self, line: &Line<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let payload: Payload<'_> = decode(line.payload);
        let kind = text(line.kind).unwrap_or_default();
        match &*kind {
            "session_meta" => self.session_meta(context, out),
            "turn_context" => self.turn_context(&payload, out),
            "event_msg" => self.event(&payload, context, out),
            "response_item" => self.response_item(&payload, context, out),
            "compacted" => {
                if let Some(turn) = &mut self.turn {
                    turn.needs_no_answer = true;
                }
                out.drop_record("summary for the model; the compaction is reported separately");
            }
            "world_state" | "retained_context" | "inter_agent_communication_metadata" | "inter_agent_communication" => {
                out.drop_record("context for the model");
            }
            "token_usage_record" => out.drop_record("usage that the counters repeat"),
            _ => unparsed(context.session_id, context.json, "unknown type of line", Some(kind.into_owned()), out),
        }
    }

    /// Starts the session, or the sub-agent's thread.
    fn session_meta(&mut self, context: &Context<'_>, out: &mut Output<'_>) {
        if std::mem::replace(&mut self.is_started, true) {
            return out.drop_record("repeated description of the thread");
        }
        if !self.is_shown() {
            return out.drop_record("start of a thread that is shown in another one");
        }
        let (rollout, scan) = (&self.info.rollout, &self.info.scan);
        self.settings = Settings {
            model: scan.model.clone(),
            approval_policy: scan.approval_policy.clone(),
            sandbox: scan.sandbox.clone(),
            effort: scan.effort.clone(),
            mode: scan.mode.clone(),
        };
        let mut thread = Map::new();
        thread.insert("id".to_owned(), json!(rollout.thread_id));
        thread.insert("cwd".to_owned(), json!(rollout.cwd));
        thread.insert("cliVersion".to_owned(), json!(rollout.version));
        thread.insert("model".to_owned(), json!(scan.model));
        if let Some(ThreadRole::SubAgent(parent)) = &self.info.role {
            thread.insert("parentThreadId".to_owned(), json!(parent));
        }
        // A fork of a session starts its usage where its parent's was.
        if rollout.forked_from.is_some() {
            thread.insert("forkedFromId".to_owned(), json!(rollout.forked_from));
        }
        if self.info.role.is_none() {
            let mut metadata = SessionMetadata::default();
            metadata.agent_version.clone_from(&rollout.version);
            metadata.cwd.clone_from(&rollout.cwd);
            metadata.model.clone_from(&scan.model);
            metadata.agent_mode.clone_from(&scan.mode);
            metadata.permission_mode = permission_mode(&self.settings);
            metadata.forked_from.clone_from(&rollout.forked_from);
            let native = interlingua_schema::NativeMetadata::new()
                .with("approval_policy", scan.approval_policy.clone())
                .with("model_provider", rollout.model_provider.clone())
                .with("name", rollout.name.clone())
                .with("sandbox", scan.sandbox.clone());
            metadata.native = native.non_empty();
            add_history_metadata(&mut metadata, HistoryFormat::CodexRollout);
            out.infer(|drafts| drafts.session(&rollout.thread_id).started(metadata));
        }
        self.send("thread/started", json!({ "thread": thread }), context.json, out);
    }

    /// The settings of a turn. Changes are reported when the turn starts.
    fn turn_context(&mut self, payload: &Payload<'_>, out: &mut Output<'_>) {
        let settings = Settings::from_context(payload);
        if let Some(cwd) = text(payload.cwd) {
            self.cwd = Some(cwd.into_owned());
        }
        if self.info.role.is_none() && self.is_started {
            let thread_id = self.shown_in.clone();
            if let (Some(before), Some(model)) = (&self.settings.model, &settings.model)
                && before != model
            {
                let note = Note::model_changed(Some(before.clone()), model.clone());
                out.infer(|drafts| drafts.session(&thread_id).note(note));
            }
            let (before, mode) = (permission_mode(&self.settings), permission_mode(&settings));
            if let Some(mode) = mode.filter(|mode| before.is_some() && before.as_ref() != Some(mode)) {
                let note = Note::mode_changed(before, mode);
                out.infer(|drafts| drafts.session(&thread_id).note(note));
            }
            self.settings = settings;
        }
        out.drop_record("settings of the turn; changes are reported");
    }

    fn event(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let event = text(payload.kind).unwrap_or_default();
        if matches!(self.info.role, Some(ThreadRole::Internal)) && event != "token_count" {
            return out.drop_record("work of the agent for itself");
        }
        let is_review = matches!(self.info.role, Some(ThreadRole::Review(_)));
        match &*event {
            "task_started" | "turn_started" if is_review => {
                out.drop_record("turn of a review, shown in another thread")
            }
            "task_complete" | "turn_complete" | "turn_aborted" if is_review => {
                out.drop_record("turn of a review, shown in another thread");
            }
            "task_started" | "turn_started" => {
                self.turn_started(&text(payload.turn_id).unwrap_or_default(), context, out)
            }
            "task_complete" | "turn_complete" => self.turn_completed(payload, context, out),
            "turn_aborted" => self.turn_aborted(payload, context, out),
            "item_completed" => self.item_completed(payload, context, out),
            "item_started" => out.drop_record("start of an item; its end has the time"),
            "user_message" => self.user_message(payload, context, out),
            "agent_message" => self.agent_message(payload, context, out),
            "agent_reasoning" | "agent_reasoning_raw_content" | "agent_reasoning_section_break" => {
                out.drop_record("reasoning, which an item of the model's API repeats");
            }
            "token_count" => self.token_count(payload, context, out),
            "mcp_tool_call_end" => self.mcp_call_end(payload, context, out),
            "patch_apply_end" => self.patch_end(payload, context, out),
            "web_search_end" => self.web_search_end(payload, context, out),
            "image_generation_end" => self.image_generation_end(payload, context, out),
            "view_image_tool_call" => self.view_image(payload, context, out),
            "context_compacted" => {
                self.ensure_turn(context, out);
                if let Some(turn) = &mut self.turn {
                    turn.needs_no_answer = true;
                }
                let turn = self.turn_id();
                self.send("thread/compacted", json!({ "threadId": self.shown_in, "turnId": turn }), context.json, out);
            }
            "entered_review_mode" => self.entered_review(payload, context, out),
            "exited_review_mode" => self.exited_review(payload, context, out),
            "thread_rolled_back" => {
                let turns = number(payload.num_turns).unwrap_or_default();
                self.note(format!("{turns} turns rolled back"), context, out);
            }
            "thread_name_updated" => {
                let name = text(payload.thread_name).unwrap_or_default();
                self.note(format!("thread name: {name}"), context, out);
            }
            "warning" | "background_event" => {
                let message = text(payload.message).unwrap_or_default().into_owned();
                self.note(message, context, out);
            }
            "thread_settings_applied" => out.drop_record("settings of the turn; changes are reported"),
            "thread_goal_updated" | "thread_goal_cleared" | "thread_queue_changed" => {
                out.drop_record("state of the thread");
            }
            "collab_agent_spawn_end"
            | "collab_agent_interaction_end"
            | "collab_waiting_end"
            | "collab_close_end"
            | "collab_resume_end"
            | "sub_agent_activity"
            | "exec_command_end"
            | "exec_command_begin"
            | "dynamic_tool_call_response" => out.drop_record("event that the call and its output repeat"),
            _ => {
                let kind = format!("event_msg/{event}");
                unparsed(context.session_id, context.json, "unknown type of event", Some(kind), out);
            }
        }
    }

    fn turn_started(&mut self, id: &str, context: &Context<'_>, out: &mut Output<'_>) {
        // A turn that the process did not end was cut off.
        if self.turn.is_some() {
            self.cut_off_turn(out);
        }
        self.turn = Some(Turn { id: id.to_owned(), ..Turn::default() });
        self.last_prompt = None;
        let turn = json!({ "id": id, "status": "inProgress", "items": [] });
        self.send("turn/started", json!({ "threadId": self.shown_in, "turn": turn }), context.json, out);
    }

    /// Starts a turn for versions that do not report it.
    fn ensure_turn(&mut self, context: &Context<'_>, out: &mut Output<'_>) {
        if self.turn.is_none() && self.is_shown() {
            self.turn_started("", context, out);
        }
    }

    fn turn_completed(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let id = text(payload.turn_id).unwrap_or_default().into_owned();
        let error = payload.error.and_then(|error| serde_json::from_str::<Value>(error.get()).ok());
        let is_answered = payload.last_agent_message.is_some();
        let turn = self.turn.take().unwrap_or_default();
        // Before errors were stored, a turn without an answer had failed.
        let failed = error.is_some()
            || (!is_answered && !turn.needs_no_answer && !self.stores_errors() && turn.last_step != LastStep::Answer);
        let mut wire = Map::new();
        wire.insert("id".to_owned(), json!(id));
        wire.insert("status".to_owned(), json!(if failed { "failed" } else { "completed" }));
        wire.insert("items".to_owned(), json!([]));
        wire.insert("durationMs".to_owned(), json!(number(payload.duration_ms)));
        if let Some(error) = error {
            wire.insert("error".to_owned(), translate_error(&error));
        }
        self.calls.clear();
        self.send("turn/completed", json!({ "threadId": self.shown_in, "turn": wire }), context.json, out);
    }

    /// Whether the end of a turn has its error: since the format with items.
    fn stores_errors(&self) -> bool {
        self.info.scan.has_message_items
    }

    fn turn_aborted(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let turn = self.turn.take().unwrap_or_default();
        let id = text(payload.turn_id).map_or(turn.id, std::borrow::Cow::into_owned);
        self.calls.clear();
        let turn = json!({ "id": id, "status": "interrupted", "items": [], "durationMs": number(payload.duration_ms) });
        self.send("turn/completed", json!({ "threadId": self.shown_in, "turn": turn }), context.json, out);
    }

    /// Ends a turn that no line ends.
    fn cut_off_turn(&mut self, out: &mut Output<'_>) {
        let Some(turn) = self.turn.take() else { return };
        let is_complete = turn.id.is_empty() && (turn.last_step == LastStep::Answer || turn.needs_no_answer);
        let status = if is_complete { TurnStatus::Completed } else { TurnStatus::Failed };
        self.calls.clear();
        if self.is_shown() {
            let stop_reason = is_complete.then_some(interlingua_schema::StopReason::EndTurn);
            let end = TurnEnd::with_status(status).stop_reason(stop_reason);
            out.infer(|drafts| drafts.session(&self.shown_in).turn_ended(end));
        }
    }

    fn finish(&mut self, out: &mut Output<'_>) {
        self.cut_off_turn(out);
    }

    fn item_completed(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let Some(item) = payload.item.and_then(|item| items::to_wire(item.get())) else {
            let kind = Some("event_msg/item_completed".to_owned());
            return unparsed(context.session_id, context.json, "expected an item with a type", kind, out);
        };
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let id = item.get("id").and_then(Value::as_str).unwrap_or_default().to_owned();
        let is_review = matches!(self.info.role, Some(ThreadRole::Review(_)));
        if is_review && matches!(kind.as_str(), "userMessage" | "agentMessage" | "reasoning" | "plan") {
            return out.drop_record("message of a review, whose result is shown in another thread");
        }
        let turn = text(payload.turn_id).unwrap_or_default().into_owned();
        match kind.as_str() {
            "userMessage" => self.note_step(LastStep::Prompt),
            "agentMessage" | "plan" => self.note_step(LastStep::Answer),
            "reasoning" => self.start_message(&item, &id, &turn, context, out),
            "contextCompaction" | "enteredReviewMode" | "exitedReviewMode" => {
                if let Some(turn) = &mut self.turn {
                    turn.needs_no_answer = true;
                }
            }
            _ => self.note_step(LastStep::Tool),
        }
        self.send_item("item/completed", &turn, item, context.json, out);
    }

    /// Starts a message, so that an id that is used again is another message. In the same turn, it is a repetition after a
    /// retry.
    fn start_message(
        &mut self,
        item: &Map<String, Value>,
        id: &str,
        turn: &str,
        context: &Context<'_>,
        out: &mut Output<'_>,
    ) {
        let is_new = self.turn.as_mut().is_none_or(|turn| turn.messages.insert(id.to_owned()));
        if is_new {
            let mut started = item.clone();
            for (key, empty) in [("text", json!("")), ("summary", json!([])), ("content", json!([]))] {
                if let Some(value) = started.get_mut(key) {
                    *value = empty;
                }
            }
            self.send_item("item/started", turn, started, context.json, out);
        }
    }

    fn note_step(&mut self, step: LastStep) {
        if let Some(turn) = &mut self.turn {
            turn.last_step = step;
        }
    }

    fn turn_id(&self) -> String {
        self.turn.as_ref().map(|turn| turn.id.clone()).unwrap_or_default()
    }

    /// A prompt, in versions without items.
    fn user_message(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        if self.info.scan.has_message_items {
            return out.drop_record("message that an item repeats");
        }
        if !self.is_shown() {
            return out.drop_record("message of a review, whose result is shown in another thread");
        }
        let message = text(payload.message).unwrap_or_default();
        // The instructions of a review are written twice.
        if self.is_in_review && self.last_prompt.as_deref() == Some(&*message) {
            return out.drop_record("repeated instructions of a review");
        }
        if let Some(turn) = &self.turn
            && turn.id.is_empty()
            && !self.is_in_review
            && turn.last_step != LastStep::Tool
        {
            self.cut_off_turn(out);
        }
        self.ensure_turn(context, out);
        self.last_prompt = Some(message.clone().into_owned());
        self.note_step(LastStep::Prompt);
        let mut content = vec![json!({ "type": "text", "text": message })];
        let images: Vec<Value> = decode_list(payload.images);
        content.extend(images.into_iter().map(|url| json!({ "type": "image", "url": url })));
        let local: Vec<Value> = decode_list(payload.local_images);
        content.extend(local.into_iter().map(|path| json!({ "type": "localImage", "path": path })));
        if message.is_empty() && content.len() > 1 {
            content.remove(0);
        }
        let item = json!({ "type": "userMessage", "id": context.item_id(), "content": content });
        self.complete_whole_item(item, context, out);
    }

    /// An answer, in versions without items.
    fn agent_message(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        if self.info.scan.has_message_items {
            return out.drop_record("message that an item repeats");
        }
        if !self.is_shown() {
            return out.drop_record("message of a review, whose result is shown in another thread");
        }
        self.ensure_turn(context, out);
        self.note_step(LastStep::Answer);
        let item = json!({ "type": "agentMessage", "id": context.item_id(), "text": text(payload.message) });
        self.complete_whole_item(item, context, out);
    }

    fn complete_whole_item(&mut self, item: Value, context: &Context<'_>, out: &mut Output<'_>) {
        if let Value::Object(item) = item {
            let turn = self.turn_id();
            self.send_item("item/completed", &turn, item, context.json, out);
        }
    }

    fn token_count(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Info {
            total_token_usage: Option<Map<String, Value>>,
            last_token_usage: Option<Map<String, Value>>,
        }
        let info: Info = payload.info.and_then(|info| serde_json::from_str(info.get()).ok()).unwrap_or_default();
        let (Some(total), Some(last)) = (info.total_token_usage, info.last_token_usage) else {
            return out.drop_record("counters without a value");
        };
        let camel = |counts: Map<String, Value>| -> Map<String, Value> {
            counts.into_iter().map(|(key, value)| (camel_case(&key), value)).collect()
        };
        let usage = json!({ "total": camel(total), "last": camel(last) });
        let params = json!({ "threadId": self.shown_in, "turnId": self.turn_id(), "tokenUsage": usage });
        self.send("thread/tokenUsage/updated", params, context.json, out);
    }

    fn mcp_call_end(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let Some(id) = text(payload.call_id).filter(|id| !self.info.scan.items.contains(&**id)) else {
            return out.drop_record("event that an item repeats");
        };
        let invocation: Value = decode_value(payload.invocation);
        let result: Value = decode_value(payload.result);
        let ok = result.get("Ok").cloned();
        let is_error =
            ok.as_ref().is_none_or(|ok| ok.get("isError").or_else(|| ok.get("is_error")) == Some(&json!(true)));
        let mut item = json!({
            "type": "mcpToolCall", "id": id, "server": invocation["server"], "tool": invocation["tool"],
            "arguments": raw_arguments(payload.invocation), "status": if is_error { "failed" } else { "completed" },
            "durationMs": items::duration_millis(&decode_value(payload.duration)),
        });
        match ok {
            Some(result) => item["result"] = result,
            None => item["error"] = json!({ "message": result.get("Err").cloned().unwrap_or_default() }),
        }
        self.complete_event_call(&id, item, context, out);
    }

    fn patch_end(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let Some(id) = text(payload.call_id).filter(|id| !self.info.scan.items.contains(&**id)) else {
            return out.drop_record("event that an item repeats");
        };
        let status = text(payload.status).map(|status| camel_case(&status));
        let is_success = payload.success.is_some_and(|success| success.get() == "true");
        let status = status.unwrap_or_else(|| if is_success { "completed" } else { "failed" }.to_owned());
        let item = json!({
            "type": "fileChange", "id": id, "status": status, "changes": changes::to_wire(decode_value(payload.changes)),
        });
        self.complete_event_call(&id, item, context, out);
    }

    /// Ends a call whose result is an event. The event describes the call better than the model's call.
    fn complete_event_call(&mut self, id: &str, item: Value, context: &Context<'_>, out: &mut Output<'_>) {
        self.ensure_turn(context, out);
        self.calls.remove(id);
        self.note_step(LastStep::Tool);
        self.complete_whole_item(item, context, out);
    }

    fn web_search_end(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let Some(id) = text(payload.call_id).filter(|id| !self.info.scan.items.contains(&**id)) else {
            return out.drop_record("event that an item repeats");
        };
        let action = web_action(payload.action);
        let item = json!({ "type": "webSearch", "id": id, "query": text(payload.query).unwrap_or_default(), "action": action });
        self.complete_event_call(&id.clone(), item, context, out);
    }

    fn image_generation_end(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let Some(id) = text(payload.call_id).filter(|id| !self.info.scan.items.contains(&**id)) else {
            return out.drop_record("event that an item repeats");
        };
        let item = json!({
            "type": "imageGeneration", "id": id, "status": text(payload.status).unwrap_or_default(),
            "result": text(payload.result).unwrap_or_default(), "revisedPrompt": text(payload.revised_prompt),
            "savedPath": text(payload.saved_path),
        });
        self.complete_event_call(&id.clone(), item, context, out);
    }

    fn view_image(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let Some(id) = text(payload.call_id).filter(|id| !self.info.scan.items.contains(&**id)) else {
            return out.drop_record("event that an item repeats");
        };
        let item = json!({ "type": "imageView", "id": id, "path": text(payload.path).unwrap_or_default() });
        self.complete_event_call(&id.clone(), item, context, out);
    }

    fn entered_review(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        if self.turn.as_ref().is_some_and(|turn| turn.id.is_empty()) {
            self.cut_off_turn(out);
        }
        self.ensure_turn(context, out);
        self.is_in_review = true;
        if let Some(turn) = &mut self.turn {
            turn.needs_no_answer = true;
        }
        let item =
            json!({ "type": "enteredReviewMode", "id": context.item_id(), "review": text(payload.user_facing_hint) });
        self.complete_whole_item(item, context, out);
    }

    fn exited_review(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        self.is_in_review = false;
        let review = payload.review_output.map(|output| items::render_review(&decode_value(Some(output))));
        let item = json!({ "type": "exitedReviewMode", "id": context.item_id(), "review": review.unwrap_or_default() });
        self.complete_whole_item(item, context, out);
    }

    fn response_item(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        if matches!(self.info.role, Some(ThreadRole::Internal)) {
            return out.drop_record("work of the agent for itself");
        }
        let kind = text(payload.kind).unwrap_or_default();
        match &*kind {
            "message" => out.drop_record(REPEATED),
            "reasoning" => self.reasoning(payload, context, out),
            "function_call" | "custom_tool_call" | "local_shell_call" => self.model_call(&kind, payload, context, out),
            "function_call_output" | "custom_tool_call_output" => self.model_call_output(payload, context, out),
            "web_search_call" => self.web_search_call(payload, context, out),
            "image_generation_call" => out.drop_record(REPEATED),
            "agent_message" | "additional_tools" | "ghost_snapshot" | "compaction" | "compaction_summary"
            | "context_compaction" | "tool_search_call" | "tool_search_output" => {
                out.drop_record("context for the model");
            }
            _ => {
                let kind = format!("response_item/{kind}");
                unparsed(context.session_id, context.json, "unknown type of item", Some(kind), out);
            }
        }
    }

    /// Reasoning, in versions without items.
    fn reasoning(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Part<'a> {
            #[serde(borrow)]
            text: Field<'a>,
        }
        if self.info.scan.has_message_items {
            return out.drop_record(REPEATED);
        }
        if !self.is_shown() {
            return out.drop_record("message of a review, whose result is shown in another thread");
        }
        self.ensure_turn(context, out);
        let texts = |field| {
            let parts: Vec<Part<'_>> = decode(field);
            parts.iter().filter_map(|part| text(part.text).map(std::borrow::Cow::into_owned)).collect::<Vec<String>>()
        };
        let item = json!({
            "type": "reasoning", "id": context.item_id(), "summary": texts(payload.summary),
            "content": texts(payload.content),
        });
        self.complete_whole_item(item, context, out);
    }

    /// A call of the model. If an item has the same id, the item is shown instead.
    fn model_call(&mut self, kind: &str, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let id = text(payload.call_id).or_else(|| text(payload.id)).unwrap_or_default().into_owned();
        if self.info.scan.items.contains(&id) {
            return out.drop_record(REPEATED);
        }
        if self.info.scan.rejected_calls.contains(&id) {
            return out.drop_record("call that was never made");
        }
        let is_custom = kind == "custom_tool_call";
        let (name, arguments) = match kind {
            "local_shell_call" => {
                ("shell".into(), payload.action.map(|action| action.get().to_owned()).unwrap_or_default())
            }
            "custom_tool_call" => {
                (text(payload.name).unwrap_or_default(), text(payload.input).unwrap_or_default().into_owned())
            }
            _ => (text(payload.name).unwrap_or_default(), text(payload.arguments).unwrap_or_default().into_owned()),
        };
        let namespace = text(payload.namespace);
        let call = legacy::read_call(
            &id,
            &name,
            namespace.as_deref(),
            &arguments,
            is_custom,
            self.cwd.as_deref(),
            &self.shown_in,
        );
        self.ensure_turn(context, out);
        self.note_step(LastStep::Tool);
        match (&call.kind, &call.item) {
            (CallKind::Plan, _) => self.plan(&call.arguments, context, out),
            // In newer versions these calls have an item, unless they were declined or could not start.
            (CallKind::Collab | CallKind::Mcp | CallKind::ImageView, _) if self.info.scan.has_message_items => {
                out.drop_record("call that failed before it became an item");
            }
            (_, Some(item)) => {
                // The start of a patch or of a server's tool is only known from its end.
                let turn = self.turn_id();
                self.send_item("item/started", &turn, item.clone(), context.json, out);
            }
            (_, None) => out.drop_record("call that has no item; its effects are reported separately"),
        }
        self.calls.insert(id, call);
    }

    fn plan(&mut self, arguments: &Value, context: &Context<'_>, out: &mut Output<'_>) {
        let mut steps = arguments.get("plan").cloned().unwrap_or_default();
        for step in steps.as_array_mut().into_iter().flatten() {
            if let Some(Value::String(status)) = step.get_mut("status") {
                *status = camel_case(status);
            }
        }
        let params = json!({
            "threadId": self.shown_in, "turnId": self.turn_id(), "explanation": arguments.get("explanation"), "plan": steps,
        });
        self.send("turn/plan/updated", params, context.json, out);
    }

    /// The output of a call, as the model sees it.
    fn model_call_output(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let id = text(payload.call_id).unwrap_or_default().into_owned();
        let output = output_text(payload.output);
        let Some(call) = self.calls.remove(&id) else {
            return out.drop_record(REPEATED);
        };
        self.note_step(LastStep::Tool);
        match call.kind {
            CallKind::Command => {
                let Some(item) = call.item else { return };
                let output = CommandOutput::parse(&output);
                if let Some(session) = &output.session {
                    self.running.insert(session.clone(), (id.clone(), output.text));
                    self.calls.insert(id, ModelCall { kind: CallKind::None, arguments: Value::Null, item: Some(item) });
                    return out.drop_record("output of a command that is still running");
                }
                self.complete_whole_item(Value::Object(legacy::complete_command(item, output)), context, out);
            }
            CallKind::CommandInput => self.command_input(&call.arguments, &output, context, out),
            CallKind::Question => self.question(&call.arguments, &output, context, out),
            CallKind::Plan | CallKind::None => out.drop_record("output of a call that has no item"),
            kind => match call.item.filter(|_| !self.info.scan.event_calls.contains(&id)) {
                Some(_) if self.info.scan.has_message_items && kind != CallKind::Patch => {
                    out.drop_record("output of a call that has no item");
                }
                Some(item) => {
                    let item = legacy::complete(item, &kind, &output, &mut self.agents);
                    self.complete_whole_item(Value::Object(item), context, out);
                }
                None => {
                    // The event follows.
                    out.drop_record(REPEATED);
                }
            },
        }
    }

    /// Output of a command that was still running.
    fn command_input(&mut self, arguments: &Value, output: &str, context: &Context<'_>, out: &mut Output<'_>) {
        let session = match arguments.get("session_id") {
            Some(Value::Number(number)) => number.to_string(),
            Some(Value::String(session)) => session.clone(),
            _ => String::new(),
        };
        let Some((id, before)) = self.running.remove(&session) else {
            return out.drop_record("output of a call that has no item");
        };
        let mut output = CommandOutput::parse(output);
        output.text = before + &output.text;
        if output.session.is_some() {
            self.running.insert(session, (id, output.text));
            return out.drop_record("output of a command that is still running");
        }
        if let Some(item) = self.calls.remove(&id).and_then(|call| call.item) {
            self.complete_whole_item(Value::Object(legacy::complete_command(item, output)), context, out);
        }
    }

    /// A question and its answers. Live, the host answers it; on disk it is a call.
    fn question(&self, arguments: &Value, output: &str, context: &Context<'_>, out: &mut Output<'_>) {
        let questions = arguments.get("questions").and_then(Value::as_array).cloned().unwrap_or_default();
        let answers: Value = serde_json::from_str(output).unwrap_or_default();
        let mut lines = Vec::new();
        for question in &questions {
            let id = question.get("id").and_then(Value::as_str).unwrap_or_default();
            let asked = question.get("question").and_then(Value::as_str).unwrap_or_default();
            let given = answers["answers"][id]["answers"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let given = given.collect::<Vec<_>>().join(", ");
            let given = if given.is_empty() { "no answer".to_owned() } else { given };
            lines.push(format!("Question: {asked} Answer: {given}"));
        }
        self.note(lines.join("\n"), context, out);
    }

    fn web_search_call(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let id = text(payload.id).map_or_else(|| context.item_id(), std::borrow::Cow::into_owned);
        if self.info.scan.has_search_events || self.info.scan.has_message_items || self.info.scan.items.contains(&id) {
            return out.drop_record(REPEATED);
        }
        let action = web_action(payload.action);
        let first = |key: &str| action.get(key).and_then(Value::as_str).map(str::to_owned);
        let query = first("query").or_else(|| first("url")).unwrap_or_default();
        let item = json!({ "type": "webSearch", "id": id, "query": query, "action": action });
        self.complete_event_call(&id, item, context, out);
    }

    fn note(&self, text: String, context: &Context<'_>, out: &mut Output<'_>) {
        let note = Note::notice(text);
        out.receive_drafts(context.json, |drafts| drafts.session(&self.shown_in).note(note));
    }

    fn send_item(&self, method: &str, turn: &str, item: Map<String, Value>, record: &str, out: &mut Output<'_>) {
        let (thread, turn, item) = (json!(self.shown_in), json!(turn), items::write(&item));
        let params = format!("{{\"threadId\":{thread},\"turnId\":{turn},\"item\":{item}}}");
        out.receive(record, &format!("{{\"method\":\"{method}\",\"params\":{params}}}"));
    }

    #[expect(clippy::needless_pass_by_value, reason = "made for this call")]
    fn send(&self, method: &str, params: Value, record: &str, out: &mut Output<'_>) {
        let line = format!("{{\"method\":\"{method}\",\"params\":{params}}}");
        out.receive(record, &line);
    }
}

impl Context<'_> {
    /// Id for an item without one.
    fn item_id(&self) -> String {
        format!("line-{}", self.number)
    }
}

fn web_action(action: Field<'_>) -> Value {
    let mut action = decode_value(action);
    if let Some(Value::String(kind)) = action.get_mut("type") {
        *kind = camel_case(kind);
    }
    action
}

/// The arguments of a call as the model wrote them.
fn raw_arguments(invocation: Field<'_>) -> String {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Invocation<'a> {
        #[serde(borrow)]
        arguments: Field<'a>,
    }
    let invocation: Invocation<'_> = decode(invocation);
    invocation.arguments.map_or("null", |arguments| arguments.get()).to_owned()
}

fn decode_value(field: Field<'_>) -> Value {
    field.and_then(|field| serde_json::from_str(field.get()).ok()).unwrap_or_default()
}

fn decode_list(field: Field<'_>) -> Vec<Value> {
    match decode_value(field) {
        Value::Array(values) => values,
        _ => Vec::new(),
    }
}

/// The text of an output, which may be a list of parts.
fn output_text(output: Field<'_>) -> String {
    match decode_value(output) {
        Value::String(text) => text,
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        Value::Object(output) => output.get("content").and_then(Value::as_str).unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// Names of errors are in snake case on disk.
fn translate_error(error: &Value) -> Value {
    let info = match error.get("codex_error_info") {
        Some(Value::String(name)) => Value::String(camel_case(name)),
        Some(Value::Object(info)) => {
            let camel = |fields: &Value| match fields {
                Value::Object(fields) => {
                    Value::Object(fields.iter().map(|(key, value)| (camel_case(key), value.clone())).collect())
                }
                other => other.clone(),
            };
            Value::Object(info.iter().map(|(name, fields)| (camel_case(name), camel(fields))).collect())
        }
        _ => Value::Null,
    };
    json!({ "message": error.get("message"), "codexErrorInfo": info, "additionalDetails": error.get("additional_details") })
}

/// The universal permission mode of the settings.
fn permission_mode(settings: &Settings) -> Option<String> {
    match (settings.mode.as_deref(), settings.approval_policy.as_deref(), settings.sandbox.as_deref()) {
        (Some(mode), ..) if mode != "default" => Some(mode.to_owned()),
        (_, Some("on-request" | "untrusted"), _) => Some("default".to_owned()),
        (_, Some("never"), Some("dangerFullAccess")) => Some("bypass".to_owned()),
        (_, Some(approval), _) => Some(approval.to_owned()),
        (mode, None, _) => mode.map(str::to_owned),
    }
}

fn unparsed(session_id: &str, record: &str, reason: &str, native_type: Option<String>, out: &mut Output<'_>) {
    out.receive_drafts(record, |drafts| drafts.session(session_id).unparsed(LOCATION, reason, native_type));
}
