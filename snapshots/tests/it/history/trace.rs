//! Canonical traces of whole sessions, with texts: one line per item, at the position where it starts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::BufReader;

use interlingua_convert::{Conversion, ConversionOptions, convert_log, converter_for};
use interlingua_schema::{ContentPart, EventData, Item, ItemKind, UniversalEvent};
use interlingua_wirelog::Reader;

use super::Pair;

/// A line of a trace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Line {
    /// What it is: `message/assistant`, `tool_call`, `error`, `turn.ended`, ….
    pub(super) kind: String,
    /// `completed` or `failed`, or the status of the turn.
    pub(super) status: String,
    /// Id of the call, for calls and results.
    pub(super) call: String,
    /// Whether it belongs to a sub-agent.
    pub(super) is_sub_agent: bool,
    /// Exit code of a result.
    pub(super) exit_code: Option<i32>,
    /// Text, or name and arguments of a call, or output of a result.
    pub(super) text: String,
    /// Other parts: files, images, JSON.
    pub(super) parts: Vec<String>,
}

/// The traces of the sessions in a stream, by native id.
pub(super) type Traces = BTreeMap<String, Vec<Line>>;

/// The traces of a wire recording. Sessions that continue in another process are one trace.
pub(super) fn of_wire(pair: &Pair) -> Traces {
    let mut traces = Traces::new();
    for wire in &pair.wires {
        let mut reader = Reader::new(BufReader::new(std::fs::File::open(wire).unwrap())).unwrap();
        let agent = reader.header().and_then(|header| header.agent.as_deref()).unwrap().parse().unwrap();
        let mut conversion = Conversion::new(converter_for(agent), ConversionOptions::default());
        let mut events = Vec::new();
        convert_log(&mut reader, &mut conversion, |event| {
            events.push(event);
            Ok(())
        })
        .unwrap();
        for (session, lines) in of_events(&events) {
            traces.entry(session).or_default().extend(lines);
        }
    }
    traces
}

/// The traces of a stream.
///
/// Statuses, permissions and questions are left out: agents may send the former at any point, and no format has the
/// latter. Starts and ends of sessions are left out, too: a history has no processes.
pub(super) fn of_events(events: &[UniversalEvent]) -> Traces {
    let mut traces = Traces::new();
    let mut places: BTreeMap<String, (String, usize)> = BTreeMap::new();
    for event in events {
        let session = event.native_session_id.as_ref().map(|id| id.as_str().to_owned()).unwrap_or_default();
        let lines = traces.entry(session.clone()).or_default();
        match &event.data {
            EventData::ItemStarted(started) if started.item.kind != ItemKind::Status => {
                places.insert(started.item.item_id.to_string(), (session, lines.len()));
                lines.push(line("", ""));
            }
            EventData::ItemCompleted(completed) if completed.item.kind != ItemKind::Status => {
                let (session, index) = &places[&completed.item.item_id.to_string()];
                traces.get_mut(session).unwrap()[*index] = item_line(&completed.item);
            }
            EventData::TurnStarted(_) => lines.push(line("turn.started", "")),
            EventData::TurnEnded(turn) => lines.push(line("turn.ended", turn.status.as_str())),
            EventData::Error(error) => lines.push(Line { text: error.message.clone(), ..line("error", "") }),
            EventData::AgentUnparsed(unparsed) => {
                lines.push(Line { text: unparsed.error.clone(), ..line("agent.unparsed", "") });
            }
            _ => {}
        }
    }
    traces.retain(|_, lines| !lines.is_empty());
    traces
}

fn line(kind: &str, status: &str) -> Line {
    Line {
        kind: kind.to_owned(),
        status: status.to_owned(),
        call: String::new(),
        is_sub_agent: false,
        exit_code: None,
        text: String::new(),
        parts: Vec::new(),
    }
}

fn item_line(item: &Item) -> Line {
    let kind = match (&item.kind, &item.role) {
        (ItemKind::Message, Some(role)) => format!("message/{}", role.as_str()),
        (kind, _) => kind.as_str().to_owned(),
    };
    let mut line = Line {
        is_sub_agent: item.kind == ItemKind::Message && item.parent_id.is_some(),
        ..line(&kind, item.status.as_str())
    };
    for part in &item.content {
        match part {
            ContentPart::Text { text } => line.text.push_str(text),
            ContentPart::Reasoning { text, visibility } => {
                let _ = write!(line.text, "{visibility:?} reasoning: {text}");
            }
            ContentPart::ToolCall { name, call_id, arguments, tool_kind, .. } => {
                line.call.clone_from(call_id);
                let _ = write!(line.text, "{name} {tool_kind:?} {arguments}");
            }
            ContentPart::ToolResult { call_id, output, exit_code, .. } => {
                line.call.clone_from(call_id);
                line.exit_code = *exit_code;
                line.text.push_str(output);
            }
            other => line.parts.push(serde_json::to_string(other).unwrap()),
        }
    }
    line
}

/// The lines as text, for a failing test.
pub(super) fn describe(lines: &[Line]) -> String {
    let mut text = String::new();
    for Line { kind, status, call, is_sub_agent, exit_code, text: content, parts } in lines {
        let sub_agent = if *is_sub_agent { " of a sub-agent" } else { "" };
        let exit_code = exit_code.map(|code| format!(" exit {code}")).unwrap_or_default();
        let content: String = content.chars().take(200).collect();
        let _ = writeln!(text, "{kind}{sub_agent} {status} {call}{exit_code} {content:?} {}", parts.join(" "));
    }
    text
}
