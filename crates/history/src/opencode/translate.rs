//! Translates stored messages and parts to the events of the server.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use interlingua_convert::TurnEnd;
use interlingua_schema::{SessionMetadata, Timestamp, TurnStatus};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::timeline::{Entry, Step, merge, session_entries};
use super::{Row, SessionRow, Storage};
use crate::HistoryError;
use crate::json::{Field, ObjectWriter, decode, time};
use crate::output::Output;
use crate::session::{HistoryFormat, add_history_metadata};

/// `location` of the `agent.unparsed` events.
const LOCATION: &str = "opencode history";

/// Converts a session with its sub-agents.
pub(super) fn convert(
    storage: &dyn Storage,
    format: HistoryFormat,
    path: &Path,
    id: &str,
    out: &mut Output<'_>,
) -> Result<(), HistoryError> {
    let rows = storage.sessions()?;
    let Some(root) = rows.iter().find(|row| row.id == id) else { return Ok(()) };
    let sessions = with_descendants(root, &rows);
    let mut entries = Vec::new();
    for (index, session) in sessions.iter().enumerate() {
        let created = session.created.map_or(0, Timestamp::as_millis);
        let own = session_entries(storage, &session.id, index, created)?;
        // Sessions of the v2 API have no messages, but events.
        if own.len() == 1 {
            let events = storage.events(&session.id)?;
            if events.iter().any(|(kind, _)| kind.starts_with("session.next.")) {
                out.set_time(session.created);
                start_session(session, format, index == 0, out);
                for (kind, data) in events {
                    replay_event(&kind, &data, out);
                    out.end_record()?;
                }
                continue;
            }
        }
        entries.extend(own);
    }
    let mut translator = Translator { storage, format, path, sessions, message: None };
    for entry in merge(entries) {
        out.set_time(Some(Timestamp::from_millis(entry.at)));
        translator.push(&entry, out)?;
        out.end_record()?;
    }
    translator.finish(out);
    Ok(())
}

/// A session and its sub-agents, parents first.
fn with_descendants<'a>(root: &'a SessionRow, rows: &'a [SessionRow]) -> Vec<&'a SessionRow> {
    let mut sessions = vec![root];
    let mut next = 0;
    while let Some(parent) = sessions.get(next) {
        let parent = parent.id.clone();
        let children = rows.iter().filter(|row| row.parent.as_deref() == Some(&parent));
        let new: Vec<&SessionRow> = children.filter(|row| !sessions.iter().any(|known| known.id == row.id)).collect();
        sessions.extend(new);
        next += 1;
    }
    sessions
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Timed<'a> {
    #[serde(borrow)]
    timestamp: Field<'a>,
}

/// Replays a stored event of the v2 API. Its type ends with the version of its format.
fn replay_event(kind: &str, data: &str, out: &mut Output<'_>) {
    count(data, out);
    let kind = match kind.rsplit_once('.') {
        Some((kind, version)) if version.bytes().all(|byte| byte.is_ascii_digit()) => kind,
        _ => kind,
    };
    if kind.starts_with("session.created") || kind.starts_with("session.updated") {
        return out.drop_record("state of the session");
    }
    let timed: Timed<'_> = serde_json::from_str(data).unwrap_or_default();
    out.set_time(time(timed.timestamp));
    out.receive(data, &event_line(kind, data));
}

fn event_line(kind: &str, properties: &str) -> String {
    format!("{{\"type\":\"{kind}\",\"properties\":{properties}}}")
}

/// Starts a session, or the session of a sub-agent.
fn start_session(session: &SessionRow, format: HistoryFormat, is_root: bool, out: &mut Output<'_>) {
    if is_root {
        let mut metadata = SessionMetadata::default();
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
    path: &'a Path,
    sessions: Vec<&'a SessionRow>,
    /// The message that was read last, with its session.
    message: Option<(usize, Row)>,
}

impl Translator<'_> {
    fn push(&mut self, entry: &Entry, out: &mut Output<'_>) -> Result<(), HistoryError> {
        let Some(session) = self.sessions.get(entry.session).copied() else { return Ok(()) };
        match entry.step {
            Step::Session => {
                count(&session.info, out);
                start_session(session, self.format, entry.session == 0, out);
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
            Step::CutOff => {
                let end = TurnEnd::with_status(TurnStatus::Failed);
                out.infer(|drafts| drafts.session(&session.id).turn_ended(end));
            }
        }
        Ok(())
    }

    fn read_message(&mut self, entry: &Entry, session: &str) -> Result<Option<Row>, HistoryError> {
        if self.message.as_ref().is_none_or(|(index, row)| *index != entry.session || row.id != entry.message) {
            let row = self.storage.message(session, &entry.message)?;
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
        let Ok(Value::Object(mut info)) = serde_json::from_str::<Value>(&row.json) else {
            self.damaged(&row, "message", session, out);
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
        let Some(mut part) = read_fields(&row.json) else {
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
        let reason = format!("expected a {kind} as a JSON object in {}, found something else", row.id);
        out.report().add_problem(self.path, None, reason.as_str());
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

fn count(json: &str, out: &mut Output<'_>) {
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
