//! `interlingua sessions tail --all`: the events of many sessions.

use std::io::{self, Write};

use interlingua_client::{AllEventsQuery, Client};
use interlingua_schema::{ContentPart, EventData, Item, ItemKind, UniversalEvent};
use interlingua_transcript::sanitize_line;

use super::follow::report_reconnect;
use super::server_args::client_error;
use crate::Outcome;
use crate::output::Output;

/// Which sessions to follow. `requires` alone would not refuse these options together with an id: clap does not require
/// what conflicts with another argument that is given.
#[derive(Debug, clap::Args)]
pub(super) struct AllArgs {
    /// Follow all sessions instead of one
    #[arg(long)]
    all: bool,
    /// With --all, show all stored events first
    #[arg(long, requires = "all", conflicts_with = "id")]
    from_start: bool,
    /// With --all, only sessions with this agent
    #[arg(long, value_name = "AGENT", requires = "all", conflicts_with = "id")]
    agent: Option<String>,
    /// With --all, only sessions with this label, of any value if none is given; can be repeated, all must match
    #[arg(long, value_name = "NAME[=VALUE]", requires = "all", conflicts_with = "id")]
    label: Vec<String>,
}

impl AllArgs {
    pub(super) fn into_query(self, include_raw: bool) -> AllEventsQuery {
        let query = if self.from_start { AllEventsQuery::default() } else { AllEventsQuery::latest() };
        query.agent(self.agent).labels(self.label).include_raw(include_raw)
    }
}

/// Maximum number of characters of an event's text on its line.
const MAX_TEXT_CHARS: usize = 160;

/// Prints the events of many sessions until the program is stopped: as JSON, or one line per event that says something.
pub(super) async fn tail(client: &Client, query: AllEventsQuery, json: bool) -> anyhow::Result<Outcome> {
    let events = client.follow_all_events(query).await.map_err(client_error)?;
    let mut events = events.on_reconnect(report_reconnect);
    eprintln!("following all sessions; stop with Ctrl-C");
    let mut output = Output::new();
    let mut line = Vec::new();
    while let Some(event) = events.next().await.map_err(client_error)? {
        if json {
            line.clear();
            event.write_json(&mut line)?;
            line.push(b'\n');
            output.write_all(&line)?;
        } else {
            write_line(&event, &mut output)?;
        }
        output.flush()?;
    }
    Ok(Outcome::Success)
}

/// Writes an event on one line, with its session before it. Events that only prepare others are left out.
fn write_line(event: &UniversalEvent, output: &mut impl Write) -> io::Result<()> {
    let Some(text) = describe(&event.data) else { return Ok(()) };
    let mut text = sanitize_line(&text);
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT_CHARS) {
        text.truncate(end);
        text.push('…');
    }
    writeln!(output, "{}  {}", sanitize_line(event.session_id.as_str()), text.trim_end())
}

/// What happened; `None` if another event says it.
fn describe(data: &EventData) -> Option<String> {
    Some(match data {
        EventData::SessionStarted(_) => "session started".to_owned(),
        EventData::SessionEnded(ended) => format!("session ended: {}", ended.reason.as_str()),
        EventData::TurnEnded(ended) => format!("turn {}", ended.status.as_str()),
        EventData::ItemCompleted(item) => return describe_item(&item.item),
        EventData::PermissionRequested(permission) => {
            format!("permission requested: {} ({})", permission.action, permission.permission_id)
        }
        EventData::PermissionResolved(permission) => format!("permission {}", permission.status.as_str()),
        EventData::QuestionRequested(question) => format!("question: {} ({})", question.prompt, question.question_id),
        EventData::QuestionResolved(question) => format!("question {}", question.status.as_str()),
        EventData::Error(error) => format!("error: {}", error.message),
        EventData::AgentUnparsed(unparsed) => format!("not understood: {}", unparsed.error),
        EventData::TurnStarted(_) | EventData::ItemStarted(_) | EventData::ItemDelta(_) => return None,
        EventData::Unknown(unknown) => unknown.kind.clone(),
    })
}

/// The first part of an item that says something.
fn describe_item(item: &Item) -> Option<String> {
    let author = item.role.as_ref().filter(|_| item.kind == ItemKind::Message).map(|role| role.as_str().to_owned());
    let text = item.content.iter().find_map(|part| match part {
        ContentPart::Text { text } if !text.is_empty() => Some(text.clone()),
        ContentPart::Reasoning { text, .. } if !text.is_empty() => Some(format!("(thinks) {text}")),
        ContentPart::ToolCall { name, title, .. } => Some(format!("tool {}", title.as_ref().unwrap_or(name))),
        ContentPart::ToolResult { output, exit_code, .. } => {
            let exit_code = exit_code.map(|code| format!(" (exit code {code})")).unwrap_or_default();
            Some(format!("result{exit_code}: {output}"))
        }
        ContentPart::FileRef { path, action, .. } => Some(format!("{} {path}", action.as_str())),
        ContentPart::Image { mime, .. } => Some(format!("image {}", mime.as_deref().unwrap_or_default())),
        ContentPart::Status { label, detail } => {
            Some(format!("{} {}", label.as_str(), detail.as_deref().unwrap_or_default()))
        }
        ContentPart::Text { .. }
        | ContentPart::Reasoning { .. }
        | ContentPart::Json { .. }
        | ContentPart::Unknown(_) => None,
    })?;
    Some(match author {
        Some(author) => format!("{author}: {text}"),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use interlingua_schema::{ItemOutcome, Origin, Role, Timestamp, TurnEnded, TurnStatus};

    use super::*;

    fn line(data: EventData) -> String {
        let event = UniversalEvent::new("evt", 1, Timestamp::EPOCH, "s1", Origin::AGENT, data);
        let mut out = Vec::new();
        write_line(&event, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_event_is_one_line_with_its_session() {
        let mut item = Item::new("itm", ItemKind::Message);
        item.role = Some(Role::Assistant);
        item.content.push(ContentPart::text(format!("one\ntwo \u{1b}[31m{}", "x".repeat(500))));
        assert_eq!(line(EventData::item_started(item.clone())), "");
        let completed = line(EventData::item_completed(item, ItemOutcome::Completed));
        assert!(completed.starts_with("s1  assistant: one") && completed.ends_with("x…\n"), "{completed}");
        assert!(!completed.contains('\u{1b}') && completed.lines().count() == 1, "{completed}");
        let ended = EventData::TurnEnded(TurnEnded::new("t", TurnStatus::Failed));
        assert_eq!(line(ended), "s1  turn failed\n");
    }
}
