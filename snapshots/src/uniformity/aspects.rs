//! The parts of a stream that are compared, as one line per value.

use std::collections::{BTreeMap, BTreeSet};

use interlingua_schema::{
    ContentPart, EventData, Item, ItemEvent, ItemId, ItemKind, ItemStatus, Role, StatusData, StatusLabel,
    UniversalEvent,
};
use serde::Serialize;
use serde_json::{Value, json};

use super::exceptions::OPTIONAL_KEYS;

/// Declares the aspects, each with its title in the table.
macro_rules! aspects {
    ($(#[doc = $meaning:literal] $aspect:ident = $title:literal;)+) => {
        /// A kind of data that is compared.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Aspect {
            $(#[doc = $meaning] $aspect,)+
        }

        impl Aspect {
            /// Every aspect, in the order of the table.
            pub const ALL: &[Self] = &[$(Self::$aspect,)+];

            /// The title in the table.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$aspect => $title,)+
                }
            }
        }
    };
}

aspects! {
    /// Turns, items, requests and errors in order, with kinds, roles and outcomes.
    Sequence = "item sequence";
    /// The texts of messages and reasoning.
    Texts = "texts";
    /// The titles of tool calls.
    Titles = "tool titles";
    /// The inputs of tool calls.
    Inputs = "tool inputs";
    /// Outputs and exit codes of tools.
    Outputs = "tool outputs";
    /// Files that were read or changed, with their diffs.
    Files = "files and diffs";
    /// Requested permissions with their scopes, and how they were resolved.
    Permissions = "permissions";
    /// Questions with their metadata and answers.
    Questions = "questions";
    /// Status items with their data.
    Statuses = "status items";
    /// Codes and details of errors.
    Errors = "errors";
    /// How turns start and end.
    Turns = "turns";
    /// Metadata of the session.
    Sessions = "sessions";
}

/// Finds which of the [`OPTIONAL_KEYS`] occur in the tool inputs and status data of a stream.
#[must_use]
pub fn find_optional_keys(events: &[UniversalEvent]) -> BTreeSet<&'static str> {
    fn find(value: &Value, found: &mut BTreeSet<&'static str>) {
        match value {
            Value::Object(fields) => {
                let named = OPTIONAL_KEYS.iter().filter(|optional| fields.contains_key(optional.key));
                found.extend(named.map(|optional| optional.key));
                fields.values().for_each(|value| find(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| find(value, found)),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    for event in events {
        let EventData::ItemCompleted(ItemEvent { item, .. }) = &event.data else { continue };
        for part in &item.content {
            match part {
                ContentPart::ToolCall { input: Some(input), .. } => {
                    find(&serde_json::to_value(input).unwrap_or_default(), &mut found);
                }
                ContentPart::Json { json } if item.kind == ItemKind::Status => find(json, &mut found),
                _ => {}
            }
        }
    }
    found
}

/// Collects the lines of each aspect. The sessions of a recording follow each other.
#[must_use]
pub fn collect_aspects(events: &[UniversalEvent]) -> BTreeMap<Aspect, Vec<String>> {
    let mut sessions: Vec<(&str, AspectLines)> = Vec::new();
    for event in events {
        let session = event.session_id.as_str();
        let index = sessions.iter().position(|(known, _)| *known == session).unwrap_or_else(|| {
            sessions.push((session, AspectLines::default()));
            sessions.len() - 1
        });
        if let Some((_, lines)) = sessions.get_mut(index) {
            lines.push(&event.data);
        }
    }
    let mut all: BTreeMap<Aspect, Vec<String>> = BTreeMap::new();
    for (_, lines) in sessions {
        let AspectLines { by_aspect, mut texts, .. } = lines;
        for (aspect, lines) in by_aspect {
            all.entry(aspect).or_default().extend(lines);
        }
        texts.sort_by_key(|(index, _)| *index);
        all.entry(Aspect::Texts).or_default().extend(texts.into_iter().map(|(_, text)| text));
    }
    all
}

#[derive(Default)]
struct AspectLines {
    by_aspect: BTreeMap<Aspect, Vec<String>>,
    /// Index of each open item's line in [`Aspect::Sequence`]. The line stays where the item starts.
    open: BTreeMap<ItemId, usize>,
    /// Tool calls. An item whose parent is a tool call belongs to a sub-agent.
    calls: Vec<ItemId>,
    /// The texts, each with the index of its item's line in [`Aspect::Sequence`].
    texts: Vec<(usize, String)>,
}

impl AspectLines {
    fn add(&mut self, aspect: Aspect, line: impl Into<String>) {
        self.by_aspect.entry(aspect).or_default().push(line.into());
    }

    fn add_json(&mut self, aspect: Aspect, json: &impl Serialize) {
        let line = serde_json::to_string(json).unwrap_or_default();
        self.add(aspect, line);
    }

    fn push(&mut self, data: &EventData) {
        match data {
            EventData::SessionStarted(started) => {
                let metadata = started.metadata.clone().unwrap_or_default();
                self.add_json(
                    Aspect::Sessions,
                    &json!({
                        "cwd": metadata.cwd, "permission_mode": metadata.permission_mode,
                        "has_agent": !metadata.agent.is_empty(), "has_agent_version": metadata.agent_version.is_some(),
                    }),
                );
            }
            EventData::TurnStarted(started) => {
                self.add(Aspect::Sequence, "turn.started");
                self.add_json(Aspect::Turns, &json!({ "has_id": !started.turn_id.is_empty() }));
            }
            EventData::TurnEnded(ended) => {
                self.add(Aspect::Sequence, format!("turn.ended {}", wire_name(&ended.status)));
                let stop_reason = ended.metadata.as_ref().and_then(|metadata| metadata.stop_reason.clone());
                self.add_json(Aspect::Turns, &json!({ "status": ended.status, "stop_reason": stop_reason }));
            }
            EventData::ItemStarted(ItemEvent { item, .. }) => self.start_item(item),
            EventData::ItemCompleted(ItemEvent { item, .. }) => self.complete_item(item),
            EventData::PermissionRequested(permission) => {
                self.add(Aspect::Sequence, "permission.requested");
                let metadata = permission.metadata.as_ref();
                self.add_json(
                    Aspect::Permissions,
                    &json!({
                        "action": permission.action, "has_call": metadata.is_some_and(|metadata| metadata.call_id.is_some()),
                        "tool_kind": metadata.map(|metadata| &metadata.tool_kind),
                        "input": metadata.map(|metadata| without_optional_keys(&metadata.input)),
                        "scopes": metadata.map(|metadata| &metadata.scopes),
                    }),
                );
            }
            EventData::PermissionResolved(permission) => {
                self.add(Aspect::Sequence, format!("permission.resolved {}", wire_name(&permission.status)));
                let scope = permission.metadata.as_ref().and_then(|metadata| metadata.scope.as_ref());
                self.add_json(Aspect::Permissions, &json!({ "status": permission.status, "scope": scope }));
            }
            EventData::QuestionRequested(question) => {
                self.add(Aspect::Sequence, "question.requested");
                let mut metadata = serde_json::to_value(&question.metadata).unwrap_or_default();
                let has_call = metadata.as_object_mut().and_then(|metadata| {
                    metadata.remove("native");
                    metadata.remove("call_id")
                });
                self.add_json(
                    Aspect::Questions,
                    &json!({
                        "prompt": question.prompt, "options": question.options, "metadata": metadata,
                        "has_call": has_call.is_some(),
                    }),
                );
            }
            EventData::QuestionResolved(question) => {
                self.add(Aspect::Sequence, format!("question.resolved {}", wire_name(&question.status)));
                self.add_json(Aspect::Questions, &json!({ "status": question.status, "response": question.response }));
            }
            EventData::Error(error) => {
                self.add(Aspect::Sequence, "error");
                let details = error.details.as_ref();
                let status = details.and_then(|details| details.status);
                self.add_json(Aspect::Errors, &json!({ "code": error.code, "status": status }));
            }
            EventData::AgentUnparsed(_) => self.add(Aspect::Sequence, "agent.unparsed"),
            // Whether a recording contains the agent's exit depends on the recorder.
            _ => {}
        }
    }

    fn start_item(&mut self, item: &Item) {
        if item.kind == ItemKind::Status {
            return;
        }
        if item.kind == ItemKind::ToolCall {
            self.calls.push(item.item_id.clone());
        }
        let sequence = self.by_aspect.entry(Aspect::Sequence).or_default();
        self.open.insert(item.item_id.clone(), sequence.len());
        sequence.push(String::new());
    }

    fn complete_item(&mut self, item: &Item) {
        let index = self.open.remove(&item.item_id).unwrap_or_default();
        if item.kind != ItemKind::Status {
            let is_of_sub_agent = item.parent_id.as_ref().is_some_and(|parent| self.calls.contains(parent));
            let suffix = if is_of_sub_agent { " of a sub-agent" } else { "" };
            let role = item.role.as_ref().map(|role| format!("/{}", wire_name(role))).unwrap_or_default();
            let detail = item.content.iter().find_map(|part| match part {
                ContentPart::ToolCall { tool_kind, .. } => Some(format!(" {}", wire_name(tool_kind))),
                ContentPart::Reasoning { .. } => Some(" reasoning".to_owned()),
                _ => None,
            });
            let line = format!(
                "{}{role}{}{suffix} {}",
                wire_name(&item.kind),
                detail.unwrap_or_default(),
                wire_name(&item.status)
            );
            if let Some(slot) = self.by_aspect.get_mut(&Aspect::Sequence).and_then(|lines| lines.get_mut(index)) {
                *slot = line;
            }
        }
        if item.kind == ItemKind::Status {
            self.add_status(item);
        }
        for part in &item.content {
            self.add_part(index, item, part);
        }
    }

    fn add_part(&mut self, index: usize, item: &Item, part: &ContentPart) {
        match part {
            ContentPart::Text { text } if item.kind == ItemKind::Message => {
                let role = item.role.as_ref().map(wire_name::<Role>).unwrap_or_default();
                self.texts.push((index, format!("{role}: {text}")));
            }
            ContentPart::Reasoning { text, visibility } => {
                self.texts.push((index, format!("{} reasoning: {text}", wire_name(visibility))));
            }
            ContentPart::ToolCall { title, input, .. } => {
                self.add(Aspect::Titles, title.clone().unwrap_or_default());
                self.add_json(Aspect::Inputs, &without_optional_keys(input));
            }
            // If a tool other than a command failed, each agent gives the reason in its own words.
            ContentPart::ToolResult { exit_code: None, .. } if item.status == ItemStatus::Failed => {
                self.add(Aspect::Outputs, "failed");
            }
            ContentPart::ToolResult { output, exit_code, .. } => {
                // Claude Code and OpenCode do not report whether the last line ends with a newline.
                let output = output.trim_end();
                self.add_json(Aspect::Outputs, &json!({ "output": output, "exit_code": exit_code }));
            }
            ContentPart::FileRef { .. } | ContentPart::Image { .. } => self.add_json(Aspect::Files, part),
            _ => {}
        }
    }

    /// Adds the data of a status item, without the values that differ in every recording.
    fn add_status(&mut self, item: &Item) {
        let Some(ContentPart::Status { label, detail }) = item.content.first() else { return };
        let json = item.content.iter().find_map(|part| match part {
            ContentPart::Json { json } => Some(json.clone()),
            _ => None,
        });
        let mut json = json.unwrap_or_default();
        if let (StatusLabel::Retry | StatusLabel::Task, Value::Object(fields)) = (label, &mut json) {
            for varying in ["delay_ms", "task_id", "call_id", "reason"] {
                fields.remove(varying);
            }
        }
        let json = without_optional_keys(&json);
        let has_data = StatusData::decode(label, &json).is_some();
        let detail = detail.as_deref().filter(|_| matches!(label, StatusLabel::Plan));
        if has_data {
            self.add_json(Aspect::Statuses, &json!({ "label": label, "data": json, "detail": detail }));
        }
    }
}

/// Removes the keys that only some agents report.
fn without_optional_keys(value: &impl Serialize) -> Value {
    fn prune(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|key, _| !OPTIONAL_KEYS.iter().any(|optional| optional.key == key));
                fields.values_mut().for_each(prune);
            }
            Value::Array(list) => list.iter_mut().for_each(prune),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(value).unwrap_or_default();
    prune(&mut value);
    value
}

/// The name of an enum value on the wire.
fn wire_name<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        _ => String::new(),
    }
}
