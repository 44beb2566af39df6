//! Translates the lines of rollout files to notifications of the app server.

use std::path::Path;

use foldhash::HashSet;
use interlingua_convert::{Note, TurnEnd};
use interlingua_schema::TurnStatus;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::home::{Home, Rollout, ThreadRole};
use super::items::{self, camel_case};
use super::legacy::ModelCall;
use super::line::{Line, Payload};
use super::scan::{Calls, ParentThread, Scan, Settings, scan};
use crate::HistoryError;
use crate::json::{Field, decode, hash, number, text, time};
use crate::output::Output;
use crate::record_reader::Record;

/// `location` of the `agent.unparsed` events.
const LOCATION: &str = "codex history";
pub(super) const REPEATED: &str = "item of the model's API, which an event repeats";

/// A thread and what the first pass over its file found.
pub(super) struct ThreadInfo {
    pub(super) rollout: Rollout,
    /// `None` for the thread that is the session.
    pub(super) role: Option<ThreadRole>,
    pub(super) scan: Scan,
}

impl ThreadInfo {
    pub(super) fn load(home: &Home, rollout: &Rollout, role: Option<ThreadRole>) -> Result<Self, HistoryError> {
        let parent = match rollout.forked_from.as_deref().and_then(|parent| home.find(parent)) {
            Some(parent) => ParentThread::load(&parent.path, rollout.starts_at)?,
            None => ParentThread::default(),
        };
        let scan = scan(&rollout.path, &rollout.thread_id, &parent)?;
        Ok(Self { rollout: rollout.clone(), role, scan })
    }
}

/// What the last step of a turn was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LastStep {
    #[default]
    Prompt,
    Answer,
    Tool,
}

/// The running turn of a thread.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) id: String,
    pub(super) last_step: LastStep,
    /// A compaction or review, which ends without an answer.
    pub(super) needs_no_answer: bool,
    /// Ids of the messages of this turn. A message that the model repeats after a retry has the same id.
    pub(super) messages: HashSet<String>,
}

/// State of a thread.
pub(super) struct Thread {
    pub(super) info: ThreadInfo,
    /// Id of the thread in which it is shown.
    pub(super) shown_in: String,
    /// Hashes of its lines. No line is written twice with the same time.
    pub(super) seen: HashSet<u64>,
    pub(super) is_started: bool,
    pub(super) settings: Settings,
    pub(super) cwd: Option<String>,
    pub(super) turn: Option<Turn>,
    pub(super) calls: Calls<ModelCall>,
    /// Commands that are still running, by the number that the model knows them by.
    pub(super) running: Calls<(String, String)>,
    /// Last known states of its sub-agents.
    pub(super) agents: Map<String, Value>,
    pub(super) last_prompt: Option<String>,
    pub(super) is_in_review: bool,
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
pub(super) struct Context<'a> {
    pub(super) json: &'a str,
    pub(super) number: u64,
    pub(super) at: Option<interlingua_schema::Timestamp>,
    pub(super) session_id: &'a str,
}

impl Thread {
    pub(super) fn is_shown(&self) -> bool {
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
        if !self.is_started && kind != "session_meta" {
            // The description of the thread is damaged.
            self.session_meta(context, out);
        }
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

    fn event(&mut self, payload: &Payload<'_>, context: &Context<'_>, out: &mut Output<'_>) {
        let event = text(payload.kind).unwrap_or_default();
        if matches!(self.info.role, Some(ThreadRole::Internal)) && event != "token_count" {
            return out.drop_record("work of the agent for itself");
        }
        let is_review = matches!(self.info.role, Some(ThreadRole::Review(_)));
        match &*event {
            "task_started" | "turn_started" | "task_complete" | "turn_complete" | "turn_aborted" if is_review => {
                out.drop_record("turn of a review, shown in another thread");
            }
            "task_started" | "turn_started" => {
                self.turn_started(&text(payload.turn_id).unwrap_or_default(), context, out);
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
    pub(super) fn ensure_turn(&mut self, context: &Context<'_>, out: &mut Output<'_>) {
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
            wire.insert("error".to_owned(), items::translate_error(&error));
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
    pub(super) fn cut_off_turn(&mut self, out: &mut Output<'_>) {
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

    pub(super) fn note_step(&mut self, step: LastStep) {
        if let Some(turn) = &mut self.turn {
            turn.last_step = step;
        }
    }

    pub(super) fn turn_id(&self) -> String {
        self.turn.as_ref().map(|turn| turn.id.clone()).unwrap_or_default()
    }

    pub(super) fn complete_whole_item(&mut self, item: Value, context: &Context<'_>, out: &mut Output<'_>) {
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

    pub(super) fn note(&self, text: String, context: &Context<'_>, out: &mut Output<'_>) {
        let note = Note::notice(text);
        out.receive_drafts(context.json, |drafts| drafts.session(&self.shown_in).note(note));
    }

    #[expect(clippy::needless_pass_by_value, reason = "made for this call")]
    pub(super) fn send_item(
        &self,
        method: &str,
        turn: &str,
        item: Map<String, Value>,
        record: &str,
        out: &mut Output<'_>,
    ) {
        let (thread, turn, item) = (json!(self.shown_in), json!(turn), items::write(&item));
        let params = format!("{{\"threadId\":{thread},\"turnId\":{turn},\"item\":{item}}}");
        out.receive(record, &format!("{{\"method\":\"{method}\",\"params\":{params}}}"));
    }

    #[expect(clippy::unused_self, clippy::needless_pass_by_value, reason = "made for this call")]
    pub(super) fn send(&self, method: &str, params: Value, record: &str, out: &mut Output<'_>) {
        let line = format!("{{\"method\":\"{method}\",\"params\":{params}}}");
        out.receive(record, &line);
    }
}

impl Context<'_> {
    /// Id for an item without one.
    pub(super) fn item_id(&self) -> String {
        format!("line-{}", self.number)
    }
}

pub(super) fn decode_value(field: Field<'_>) -> Value {
    field.and_then(|field| serde_json::from_str(field.get()).ok()).unwrap_or_default()
}

pub(super) fn unparsed(
    session_id: &str,
    record: &str,
    reason: &str,
    native_type: Option<String>,
    out: &mut Output<'_>,
) {
    out.receive_drafts(record, |drafts| drafts.session(session_id).unparsed(LOCATION, reason, native_type));
}
