//! Translates stored messages and parts to the events of the server.

use std::borrow::Cow;
use std::collections::BTreeMap;

use foldhash::{HashMap, HashSet};
use interlingua_convert::TurnEnd;
use interlingua_schema::{SessionMetadata, Timestamp, TurnStatus};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::forks::find_parent;
use super::parts::Part;
use super::replay::{read_updates, replay};
use super::storage::{Row, SessionRow, Storage};
use super::timeline::{Entry, Step, merge, session_entries};
use crate::HistoryError;
use crate::json::{Field, ObjectWriter, decode};
use crate::output::Output;
use crate::session::{HistoryFormat, add_history_metadata};

/// `location` of the `agent.unparsed` events.
const LOCATION: &str = "opencode history";

/// Converts a session with its sub-agents.
pub(super) fn convert(
    storage: &dyn Storage,
    format: HistoryFormat,
    id: &str,
    out: &mut Output<'_>,
) -> Result<(), HistoryError> {
    let Some(root) = storage.session(id)? else { return Ok(()) };
    let sessions = with_descendants(storage, root)?;
    if let Some(updates) = read_updates(storage, &sessions)? {
        return replay(storage, &sessions, updates, format, out);
    }
    let mut entries = Vec::new();
    let mut deleted = Vec::new();
    for (index, session) in sessions.iter().enumerate() {
        let created = session.created.map_or(0, Timestamp::as_millis);
        let rest = storage.deleted_messages(&session.id);
        entries.extend(session_entries(storage, &session.id, index, created, &rest, out.report())?);
        deleted.extend(rest.into_iter().map(|row| (row.id.clone(), row)));
    }
    let deleted = deleted.into_iter().collect();
    let mut translator = Translator { storage, format, sessions, deleted, message: None };
    for entry in merge(entries) {
        if entry.is_last && entry.session == 0 {
            out.end_records()?;
        }
        out.set_time(Some(Timestamp::from_millis(entry.at)));
        translator.push(&entry, out)?;
        out.end_record()?;
    }
    translator.finish(out);
    Ok(())
}

/// A session and its sub-agents, parents first.
fn with_descendants(storage: &dyn Storage, root: SessionRow) -> Result<Vec<SessionRow>, HistoryError> {
    let mut known = HashSet::default();
    known.insert(root.id.clone());
    let mut sessions = vec![root];
    let mut next = 0;
    while let Some(parent) = sessions.get(next) {
        let mut children = storage.children(&parent.id)?;
        children.retain(|child| known.insert(child.id.clone()));
        sessions.extend(children);
        next += 1;
    }
    Ok(sessions)
}

/// An event as a line of the server.
pub(super) fn event_line(kind: &str, properties: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"properties\":{properties}}}")
}

/// Starts a session, or the session of a sub-agent.
pub(super) fn start_session(
    storage: &dyn Storage,
    session: &SessionRow,
    format: HistoryFormat,
    is_root: bool,
    out: &mut Output<'_>,
) {
    if is_root {
        let mut metadata = SessionMetadata::default();
        metadata.forked_from = find_parent(storage, session);
        metadata.agent_version.clone_from(&session.version);
        metadata.cwd.clone_from(&session.directory);
        let native = interlingua_schema::NativeMetadata::new().with("title", session.title.clone());
        metadata.native = native.non_empty();
        add_history_metadata(&mut metadata, format);
        out.infer(|drafts| drafts.session(&session.id).started(metadata));
    }
    let mut info: Value = serde_json::from_str(&session.info).unwrap_or_default();
    if let Some(info) = info.as_object_mut() {
        // A revert comes later. The host of an import did not ask for the session.
        info.remove("revert");
        if is_root {
            info.remove("parentID");
        }
    }
    let properties = json!({ "sessionID": session.id, "info": info });
    out.receive(&session.info, &event_line("session.created", &properties.to_string()));
}

struct Translator<'a> {
    storage: &'a dyn Storage,
    format: HistoryFormat,
    sessions: Vec<SessionRow>,
    /// Messages of which only parts are left, by their ids.
    deleted: HashMap<String, Row>,
    /// The message that was read last, with its session.
    message: Option<(usize, Row)>,
}

impl Translator<'_> {
    fn push(&mut self, entry: &Entry, out: &mut Output<'_>) -> Result<(), HistoryError> {
        let Some(session) = self.sessions.get(entry.session).cloned() else { return Ok(()) };
        let session = &session;
        match entry.step {
            Step::Session => {
                count(&session.info, out);
                start_session(self.storage, session, self.format, entry.session == 0, out);
            }
            Step::MessageStarted => self.message(entry, session, false, out)?,
            Step::MessageEnded => self.message(entry, session, true, out)?,
            Step::TextStarted | Step::ToolNamed | Step::ToolStarted | Step::PartEnded => {
                self.part(entry, session, out)?;
            }
            Step::Interrupted => self.interrupt(entry, session, out)?,
            Step::Idle => {
                let properties = json!({ "sessionID": session.id });
                out.receive(&session.info, &event_line("session.idle", &properties.to_string()));
            }
            Step::Busy => {
                let properties = json!({ "sessionID": session.id, "status": { "type": "busy" } });
                out.receive(&session.info, &event_line("session.status", &properties.to_string()));
            }
            Step::CutOff => {
                let end = TurnEnd::with_status(TurnStatus::Failed);
                out.infer(|drafts| drafts.session(&session.id).turn_ended(end));
            }
        }
        Ok(())
    }

    fn read_message(&mut self, entry: &Entry, session: &str) -> Result<Option<Row>, HistoryError> {
        if self.message.as_ref().is_none_or(|(index, row)| *index != entry.session || row.id != entry.message) {
            let row = match self.deleted.get(&entry.message) {
                Some(row) => Some(row.clone()),
                None => self.storage.message(session, &entry.message)?,
            };
            self.message = row.map(|row| (entry.session, row));
        }
        Ok(self.message.as_ref().map(|(_, row)| row.clone()))
    }

    /// A message when it is announced, or when it is complete.
    fn message(
        &mut self,
        entry: &Entry,
        session: &SessionRow,
        is_end: bool,
        out: &mut Output<'_>,
    ) -> Result<(), HistoryError> {
        let Some(row) = self.read_message(entry, &session.id)? else { return Ok(()) };
        if !is_end {
            count(&row.json, out);
        }
        let parsed = serde_json::from_str::<Value>(&row.json);
        let Some(Value::Object(mut info)) = parsed.ok().filter(|_| row.problem.is_none()) else {
            if !is_end {
                self.damaged(&row, "message", session, out);
            }
            return Ok(());
        };
        if !is_end && info.get("role").and_then(Value::as_str) != Some("user") {
            for key in ["finish", "error", "structured"] {
                info.remove(key);
            }
            if let Some(time) = info.get_mut("time").and_then(Value::as_object_mut) {
                time.remove("completed");
            }
            reset_usage(&mut info);
        }
        let properties = json!({ "sessionID": session.id, "info": info });
        out.receive(&row.json, &event_line("message.updated", &properties.to_string()));
        Ok(())
    }

    fn part(&self, entry: &Entry, session: &SessionRow, out: &mut Output<'_>) -> Result<(), HistoryError> {
        let Some(row) = self.storage.part(&session.id, &entry.message, &entry.part)? else { return Ok(()) };
        if entry.step == Step::PartEnded {
            count(&row.json, out);
        }
        let Some(mut part) = read_fields(&row.json).filter(|_| row.problem.is_none()) else {
            if entry.step == Step::PartEnded {
                self.damaged(&row, "part", session, out);
            }
            return Ok(());
        };
        match entry.step {
            Step::TextStarted => {
                let text = part.insert("text".into(), Cow::Borrowed("\"\"")).unwrap_or_default();
                let time: Span<'_> = decode_fields(&part, "time");
                part.insert(
                    "time".into(),
                    Cow::Owned(format!("{{\"start\":{}}}", time.start.map_or("0", |time| time.get()))),
                );
                send_part(session, &row, &part, entry.at, out);
                let delta = format!(
                    "{{\"sessionID\":{},\"messageID\":{},\"partID\":{},\"field\":\"text\",\"delta\":{text}}}",
                    json!(session.id),
                    json!(entry.message),
                    json!(entry.part),
                );
                if text.len() > 2 {
                    out.receive(&row.json, &event_line("message.part.delta", &delta));
                }
            }
            Step::ToolNamed => {
                part.insert("state".into(), Cow::Borrowed(r#"{"status":"pending","input":{},"raw":""}"#));
                send_part(session, &row, &part, entry.at, out);
            }
            Step::ToolStarted => {
                let state = running_state(&part);
                part.insert("state".into(), Cow::Owned(state));
                send_part(session, &row, &part, entry.at, out);
            }
            _ => {
                if let Some(plan) = Part::parse(&row.json).plan_update(&session.id) {
                    out.receive(&row.json, &event_line("todo.updated", &plan));
                }
                let properties =
                    format!("{{\"sessionID\":{},\"part\":{},\"time\":{}}}", json!(session.id), row.json, entry.at);
                out.receive(&row.json, &event_line("message.part.updated", &properties));
            }
        }
        Ok(())
    }

    /// The turn is interrupted before the text that it cuts off ends.
    fn interrupt(&mut self, entry: &Entry, session: &SessionRow, out: &mut Output<'_>) -> Result<(), HistoryError> {
        let Some(row) = self.read_message(entry, &session.id)? else { return Ok(()) };
        let info: Value = serde_json::from_str(&row.json).unwrap_or_default();
        let properties = json!({ "sessionID": session.id, "error": info.get("error") });
        out.receive(&row.json, &event_line("session.error", &properties.to_string()));
        Ok(())
    }

    fn damaged(&self, row: &Row, kind: &str, session: &SessionRow, out: &mut Output<'_>) {
        let reason = match &row.problem {
            Some(problem) => format!("{kind} {}: {problem}", row.id),
            None => format!("expected a {kind} as a JSON object in {}, found something else", row.id),
        };
        let path = row.path.as_deref().unwrap_or_else(|| self.storage.path());
        out.report().add_problem(path, None, reason.as_str());
        let native_type = Some(kind.to_owned());
        out.receive_drafts(&row.json, |drafts| {
            drafts.session(&session.id).unparsed(LOCATION, reason, native_type);
        });
    }

    /// A conversation may be reverted at the end. The messages are removed at the next prompt.
    fn finish(&self, out: &mut Output<'_>) {
        let Some(root) = self.sessions.first() else { return };
        let info: Value = serde_json::from_str(&root.info).unwrap_or_default();
        if info.get("revert").is_some_and(|revert| !revert.is_null()) {
            let mut info = info;
            if let Some(info) = info.as_object_mut() {
                info.remove("parentID");
            }
            let properties = json!({ "sessionID": root.id, "info": info });
            out.receive(&root.info, &event_line("session.updated", &properties.to_string()));
        }
    }
}

pub(super) fn count(json: &str, out: &mut Output<'_>) {
    out.report().records += 1;
    out.report().bytes += json.len() as u64;
}

/// The fields of an object, with unparsed values: what a model wrote keeps its order.
type Fields<'a> = BTreeMap<Cow<'a, str>, Cow<'a, str>>;

fn read_fields(json: &str) -> Option<Fields<'_>> {
    let fields: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(json).ok()?;
    Some(fields.into_iter().map(|(key, value)| (key, Cow::Borrowed(value.get()))).collect())
}

fn write_fields(fields: &Fields<'_>) -> String {
    let mut object = ObjectWriter::with_capacity(256);
    for (key, value) in fields {
        object.json(key, value);
    }
    object.finish()
}

/// Decodes a field of an object; the default value if it is missing or has another shape.
fn decode_fields<'a, T: Deserialize<'a> + Default>(fields: &'a Fields<'_>, key: &str) -> T {
    fields.get(key).and_then(|value| serde_json::from_str(value).ok()).unwrap_or_default()
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct State<'a> {
    #[serde(borrow)]
    input: Field<'a>,
    #[serde(borrow)]
    title: Field<'a>,
    #[serde(borrow)]
    metadata: Field<'a>,
    #[serde(borrow)]
    time: Field<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    session_id: Field<'a>,
    #[serde(borrow)]
    parent_session_id: Field<'a>,
    #[serde(borrow)]
    model: Field<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Span<'a> {
    #[serde(borrow)]
    start: Field<'a>,
}

fn send_part(session: &SessionRow, row: &Row, part: &Fields<'_>, at: i64, out: &mut Output<'_>) {
    let properties = format!("{{\"sessionID\":{},\"part\":{},\"time\":{at}}}", json!(session.id), write_fields(part));
    out.receive(&row.json, &event_line("message.part.updated", &properties));
}

/// The state of a tool while it runs: without its output.
fn running_state(part: &Fields<'_>) -> String {
    let state: State<'_> = decode_fields(part, "state");
    let metadata: Metadata<'_> = decode(state.metadata);
    let time: Span<'_> = decode(state.time);
    let mut running = ObjectWriter::with_capacity(256);
    running.text("status", "running");
    running.json("input", state.input.map_or("{}", |input| input.get()));
    running.json("time", &format!("{{\"start\":{}}}", time.start.map_or("0", |time| time.get())));
    // The metadata of a command is its output. That of a sub-agent names its session.
    if metadata.session_id.is_some() {
        let mut kept = ObjectWriter::with_capacity(128);
        kept.raw("sessionId", metadata.session_id).raw("parentSessionId", metadata.parent_session_id);
        running.json("metadata", &kept.raw("model", metadata.model).finish());
    }
    running.raw("title", state.title);
    running.finish()
}

/// A message that is announced has used nothing.
fn reset_usage(info: &mut Map<String, Value>) {
    if info.contains_key("cost") {
        info.insert("cost".to_owned(), json!(0));
    }
    if info.contains_key("tokens") {
        let zero = json!({ "input": 0, "output": 0, "reasoning": 0, "cache": { "read": 0, "write": 0 } });
        info.insert("tokens".to_owned(), zero);
    }
}
