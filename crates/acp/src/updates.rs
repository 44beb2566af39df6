//! Universal events as updates of a session.

use std::collections::HashMap;

use interlingua_native::acp::{
    AgentMessageChunkSessionUpdate, AgentThoughtChunkSessionUpdate, ContentBlock, CurrentModeUpdateSessionUpdate,
    ImageContentBlock, NoticeSessionUpdate, NoticeSeverity, PlanEntry, PlanEntryPriority, PlanEntryStatus,
    PlanSessionUpdate, ResourceLinkContentBlock, SessionUpdate, TextContentBlock, UserMessageChunkSessionUpdate,
};
use interlingua_native::{Json, file_uri, new};
use interlingua_schema::{
    ContentPart, EventData, Item, ItemDelta, ItemKind, ItemStatus, PlanStep, Role, StatusData, StatusLabel, StepStatus,
    TurnStatus, UniversalEvent,
};
use serde_json::json;

use crate::options::is_mode;
use crate::tool_calls::ToolCalls;

/// Turns the events of one session into updates, in order. It is pure: the same events give the same updates.
#[derive(Debug, Default)]
pub struct Projector {
    /// Messages that stream, by item id.
    messages: HashMap<String, Stream>,
    calls: ToolCalls,
    /// Whether the client shows notices.
    shows_notices: bool,
    /// User's messages are updates. A client that sent the prompt has it already.
    shows_user: bool,
}

/// What the deltas of an item are.
#[derive(Debug)]
enum Stream {
    Agent,
    Thought,
    User,
    /// A message of a sub-agent, which is shown as content of the call that started it.
    SubAgent {
        call: String,
    },
    /// Output of the call with this id.
    Output {
        call: String,
    },
    /// A user's message that the client has sent itself, or arguments of a call.
    Hidden,
}

impl Projector {
    /// A projector that shows the user's messages.
    #[must_use]
    pub fn new() -> Self {
        Self { shows_user: true, ..Self::default() }
    }

    /// Sets whether the client shows notices.
    #[must_use]
    pub fn notices(mut self, shows_notices: bool) -> Self {
        self.shows_notices = shows_notices;
        self
    }

    /// Sets whether the next messages of the user are shown.
    pub fn show_user(&mut self, shows_user: bool) {
        self.shows_user = shows_user;
    }

    /// The updates for an event.
    pub fn push(&mut self, event: &UniversalEvent) -> Vec<SessionUpdate> {
        match &event.data {
            EventData::ItemStarted(data) => self.item_started(&data.item),
            EventData::ItemDelta(delta) => self.item_delta(delta),
            EventData::ItemCompleted(data) => self.item_completed(&data.item),
            EventData::Error(error) => self.notice(NoticeSeverity::Error, &error.message),
            EventData::TurnEnded(ended) if ended.status != TurnStatus::Completed => {
                self.calls.forget();
                Vec::new()
            }
            // Permissions and questions are requests to the client; the turn ends with the answer to its prompt.
            _ => Vec::new(),
        }
    }

    fn item_started(&mut self, item: &Item) -> Vec<SessionUpdate> {
        let id = item.item_id.as_str().to_owned();
        let parent = item.parent_id.as_ref().and_then(|parent| self.calls.call_of_item(parent.as_str()));
        let is_reasoning = matches!(item.content.first(), Some(ContentPart::Reasoning { .. }));
        match (&item.kind, &item.role) {
            (ItemKind::Message, role) => {
                let stream = match (role, parent) {
                    (_, Some(call)) => Stream::SubAgent { call },
                    (Some(Role::User), None) if self.shows_user => Stream::User,
                    (Some(Role::User), None) => Stream::Hidden,
                    (_, None) if is_reasoning => Stream::Thought,
                    (_, None) => Stream::Agent,
                };
                self.messages.insert(id, stream);
                Vec::new()
            }
            (ItemKind::ToolCall, _) => {
                self.messages.insert(id, Stream::Hidden);
                self.calls.started(item, parent)
            }
            (ItemKind::ToolResult, _) => {
                if let Some(call) = ToolCalls::result_call(item) {
                    self.messages.insert(id, Stream::Output { call });
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn item_delta(&mut self, delta: &ItemDelta) -> Vec<SessionUpdate> {
        let id = delta.item_id.as_str();
        let text = delta.delta.as_str();
        match self.messages.get(id) {
            Some(Stream::Agent) => vec![agent_chunk(id, text_block(text))],
            Some(Stream::Thought) => vec![thought_chunk(id, text)],
            Some(Stream::User) => vec![user_chunk(id, text_block(text))],
            Some(Stream::SubAgent { call } | Stream::Output { call }) => {
                let call = call.clone();
                self.calls.output(&call, text)
            }
            Some(Stream::Hidden) | None => Vec::new(),
        }
    }

    fn item_completed(&mut self, item: &Item) -> Vec<SessionUpdate> {
        let id = item.item_id.as_str();
        let stream = self.messages.remove(id);
        match item.kind {
            ItemKind::Message => {
                let chunk: fn(&str, ContentBlock) -> SessionUpdate = match stream {
                    Some(Stream::User) => user_chunk,
                    Some(Stream::Agent) => agent_chunk,
                    _ => return Vec::new(),
                };
                // The text has come as deltas.
                item.content.iter().filter_map(other_block).map(|block| chunk(id, block)).collect()
            }
            ItemKind::ToolCall => self.calls.called(item),
            ItemKind::ToolResult => self.calls.finished(item, item.status == ItemStatus::Failed),
            ItemKind::Status => self.status(item),
            ItemKind::System => {
                let text: String = item.streamed_text().collect();
                self.notice(NoticeSeverity::Info, &text)
            }
            _ => Vec::new(),
        }
    }

    fn status(&mut self, item: &Item) -> Vec<SessionUpdate> {
        let Some(ContentPart::Status { label, detail }) = item.content.first() else { return Vec::new() };
        let data = item.content.iter().find_map(|part| match part {
            ContentPart::Json { json } => StatusData::decode(label, json)?.ok(),
            _ => None,
        });
        match data {
            Some(StatusData::Plan(plan)) => {
                vec![new!(PlanSessionUpdate { entries: plan.steps.iter().map(plan_entry).collect() }).into()]
            }
            Some(StatusData::ModeChanged(change)) if is_mode(&change.to) => {
                vec![new!(CurrentModeUpdateSessionUpdate { current_mode_id: change.to }).into()]
            }
            _ => {
                let severity =
                    if *label == StatusLabel::Retry { NoticeSeverity::Warning } else { NoticeSeverity::Info };
                self.notice(severity, detail.as_deref().unwrap_or_default())
            }
        }
    }

    /// A notice, if the client shows notices.
    fn notice(&self, severity: NoticeSeverity, text: &str) -> Vec<SessionUpdate> {
        if !self.shows_notices || text.trim().is_empty() {
            return Vec::new();
        }
        vec![new!(NoticeSessionUpdate { severity: severity, title: text }).into()]
    }
}

fn plan_entry(step: &PlanStep) -> PlanEntry {
    let status = match step.status {
        StepStatus::InProgress => PlanEntryStatus::InProgress,
        // The protocol has no cancelled steps.
        StepStatus::Completed | StepStatus::Cancelled => PlanEntryStatus::Completed,
        _ => PlanEntryStatus::Pending,
    };
    let mut entry =
        new!(PlanEntry { content: step.content.as_str(), priority: PlanEntryPriority::Medium, status: status });
    if step.status == StepStatus::Cancelled {
        entry.meta = Some(meta(&json!({ "status": "cancelled" })));
    }
    entry
}

/// `_meta` with what the protocol cannot say.
pub(crate) fn meta(value: &serde_json::Value) -> Json {
    json!({ "interlingua": value }).into()
}

pub(crate) fn text_block(text: &str) -> ContentBlock {
    new!(TextContentBlock { text: text }).into()
}

fn agent_chunk(item: &str, content: ContentBlock) -> SessionUpdate {
    AgentMessageChunkSessionUpdate {
        message_id: Some(item.to_owned()),
        ..new!(AgentMessageChunkSessionUpdate { content: content })
    }
    .into()
}

fn thought_chunk(item: &str, text: &str) -> SessionUpdate {
    AgentThoughtChunkSessionUpdate {
        message_id: Some(item.to_owned()),
        ..new!(AgentThoughtChunkSessionUpdate { content: text_block(text) })
    }
    .into()
}

fn user_chunk(item: &str, content: ContentBlock) -> SessionUpdate {
    UserMessageChunkSessionUpdate {
        message_id: Some(item.to_owned()),
        ..new!(UserMessageChunkSessionUpdate { content: content })
    }
    .into()
}

/// A part that is not streamed: an image or a file.
pub(crate) fn other_block(part: &ContentPart) -> Option<ContentBlock> {
    match part {
        ContentPart::Image { path, mime } => {
            Some(match path.strip_prefix("data:").and_then(|uri| uri.split_once(";base64,")) {
                Some((data_mime, data)) => new!(ImageContentBlock { data: data, mime_type: data_mime }).into(),
                None => link(path, mime.clone()),
            })
        }
        ContentPart::FileRef { path, .. } => Some(link(path, None)),
        _ => None,
    }
}

fn link(path: &str, mime: Option<String>) -> ContentBlock {
    let name = path.rsplit('/').next().unwrap_or(path);
    let uri = if path.starts_with('/') { file_uri(path) } else { path.to_owned() };
    ResourceLinkContentBlock { mime_type: mime, ..new!(ResourceLinkContentBlock { name: name, uri: uri }) }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, data: &serde_json::Value) -> UniversalEvent {
        let event = json!({
            "event_id": "e", "sequence": 1, "time": "2026-01-01T00:00:00.000Z", "session_id": "s",
            "native_session_id": null, "synthetic": false, "source": "agent", "type": kind, "data": data, "raw": null,
        });
        serde_json::from_value(event).unwrap()
    }

    fn item(id: &str, kind: &str, role: &str, status: &str, content: &serde_json::Value) -> serde_json::Value {
        json!({ "item": {
            "item_id": id, "native_item_id": null, "parent_id": null, "kind": kind, "role": role, "status": status,
            "content": content,
        } })
    }

    fn project(events: &[(&str, serde_json::Value)]) -> Vec<serde_json::Value> {
        let mut projector = Projector::new();
        let updates = events.iter().flat_map(|(kind, data)| projector.push(&event(kind, data)));
        updates.map(|update| serde_json::to_value(update).unwrap()).collect()
    }

    #[test]
    fn a_message_is_chunks_with_its_id() {
        let text = json!([{ "type": "text", "text": "ab" }]);
        let updates = project(&[
            ("item.started", item("m", "message", "assistant", "in_progress", &json!([]))),
            ("item.delta", json!({ "item_id": "m", "native_item_id": null, "delta": "a" })),
            ("item.delta", json!({ "item_id": "m", "native_item_id": null, "delta": "b" })),
            ("item.completed", item("m", "message", "assistant", "completed", &text)),
        ]);
        let chunk = |text: &str| json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text }, "messageId": "m" });
        assert_eq!(updates, [chunk("a"), chunk("b")]);
    }

    #[test]
    fn a_call_and_its_result_are_one_tool_call() {
        let call = json!([{ "type": "tool_call", "name": "Bash", "arguments": "{\"command\":\"ls\"}", "call_id": "c",
            "tool_kind": "command", "title": "Run ls", "input": { "command": "ls" } }]);
        let result = json!([{ "type": "tool_result", "call_id": "c", "output": "a\n", "exit_code": 0 }]);
        let updates = project(&[
            ("item.started", item("t", "tool_call", "assistant", "in_progress", &call)),
            ("item.completed", item("t", "tool_call", "assistant", "completed", &call)),
            ("item.started", item("r", "tool_result", "tool", "in_progress", &result)),
            ("item.completed", item("r", "tool_result", "tool", "completed", &result)),
        ]);
        assert_eq!(updates[0]["sessionUpdate"], "tool_call");
        assert_eq!((&updates[0]["toolCallId"], &updates[0]["kind"]), (&json!("c"), &json!("execute")));
        assert_eq!(updates[1]["rawInput"], json!({ "command": "ls" }));
        let last = updates.last().unwrap();
        assert_eq!((&last["status"], &last["rawOutput"]["exit_code"]), (&json!("completed"), &json!(0)));
        assert_eq!(last["content"][0]["content"]["text"], "a\n");
    }
}
